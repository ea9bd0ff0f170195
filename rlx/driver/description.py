"""Description of an emitted network, written to ``report/network.json``.

It holds the contents of a report that have no other source: the graph of the layers, their types
and weights in numbers, the memory plan, and the target's predictions. Same network, same bytes.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.driver.operand_hashes import MAX_ROWS, operand_hashes, row_hashes
from rlx.driver.weight_picture import weight_picture
from rlx.ir import State
from rlx.ir.graph import Source
from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import layer_names, name_nodes, origins_of
from rlx.ir.module import Region
from rlx.ir.printer import format_attributes
from rlx.passes.boundaries import Ports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rlx.ir import Array, Node, TensorType, Value
    from rlx.ir.module import GraphModule, MemoryPlan
    from rlx.memory import ScratchPlace
    from rlx.targets import Emission

SCHEMA: Final = 1

NETWORK: Final = "report/network.json"
"""Path of the description in an output folder."""

_KNOWN: Final = frozenset(("name", "op", "macs", "result", "index", "origins", "instance"))
"""Entries of a target's row that a layer does not repeat among its figures."""

BINS: Final = 32
"""Bars of a histogram of weights."""

_SAME_PORTS: Final = Ports()
"""Ports of a target that leaves conversions to the passes."""

_MAX_ATTRIBUTE_CHARS: Final = 160
"""Characters of an attribute's text."""


def network_text(module: GraphModule, emission: Emission, ports: Ports = _SAME_PORTS) -> str:
    """Return the content of ``report/network.json``: one line for each layer, sorted keys.

    Args:
        module: Emitted module.
        emission: Output of the target for it. Without its ``nodes`` the layers are those of the
            graph, and the predictions of each layer are left out.
        ports: Inputs and outputs of the program; those of the module unless the target converts
            them itself.
    """
    values = describe(module, emission, ports)
    layers = ",\n".join(_line(layer) for layer in values.pop("layers"))
    parts = [f'"layers": [\n{layers}\n]' if layers else '"layers": []']
    parts += [f"{json.dumps(name)}: {_line(value)}" for name, value in sorted(values.items())]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def describe(module: GraphModule, emission: Emission, ports: Ports = _SAME_PORTS) -> dict[str, Any]:
    """Return ``schema``, ``name``, ``inputs``, ``outputs``, ``layers``, ``memory``, ``totals``.

    Inputs and outputs have the types that the program exchanges, layers those that it computes
    with. A layer has ``name``, ``origins`` (nodes of the model), ``source`` (the name of its result
    there), ``op``, ``macs``, ``attributes``; ``shape``, ``dtype`` and ``quant`` of its result
    (scale and zero point, or None); ``inputs``: positions of layers, or -1 for the first input of
    the network, -2 for the second, states among them; ``weights`` (see :func:`weight_figures` and
    :func:`rlx.driver.weight_picture.weight_picture`); ``parameters``: elements of its constant
    operands; ``operands``: hashes of each (see
    :func:`rlx.driver.operand_hashes.operand_hashes`); ``rows``: hash of weights and
    bias of each output of a dense layer, else None; and ``figures``: the target's predictions.
    ``totals`` are the numbers and texts of its report.
    """
    rows = list(emission.report.get("layers", ()))
    known = bool(emission.nodes) and len(emission.nodes) == len(rows)
    graph = module.graph
    nodes = list(emission.nodes) if known else list(graph.op_nodes)
    figures = rows if known else [{} for _ in nodes]
    inputs = list(emission.inputs or graph.inputs)
    # A target may have emitted another graph than the module's.
    names = name_nodes([*(v.node for v in inputs), *nodes]) | layer_names(graph)
    positions = {id(node): place for place, node in enumerate(nodes)}
    positions |= {id(value.node): -1 - number for number, value in enumerate(inputs)}
    return {
        "schema": SCHEMA,
        "name": graph.name,
        "inputs": [{"name": v.name, **_type(_input_type(v, ports))} for v in graph.inputs],
        "outputs": [
            {"name": name or value.name, **_type(ports.emitted_type(value.type))}
            for name, value in graph.run_outputs
        ],
        "layers": [
            _layer(names[n], n, row, positions) for n, row in zip(nodes, figures, strict=True)
        ],
        "memory": None if module.plan is None else _memory(module.plan, emission.scratch),
        "totals": {
            name: value
            for name, value in emission.report.items()
            if isinstance(value, int | float | str) or value is None
        },
    }


def weight_figures(array: Array) -> dict[str, Any]:
    """Return ``elements``, ``zeros``, ``low``, ``high``, and the histogram ``counts``.

    A histogram has at most :data:`BINS` bars from ``low`` on, each ``step`` wide; of integers, each
    holds the same number of them.
    """
    numbers = np.asarray(array).astype(np.float64).ravel()
    low, high = float(numbers.min()), float(numbers.max())
    if array.dtype.name.startswith(("int", "uint")):
        step = float(math.ceil((high - low + 1) / BINS))
        start, bins = low - 0.5, math.ceil((high - low + 1) / step)
    else:
        start, bins, step = low, BINS, (high - low) / BINS or 1.0
    counts, _ = np.histogram(numbers, bins=bins, range=(start, start + bins * step))
    return {
        "elements": int(numbers.size),
        "zeros": int((numbers == 0).sum()),
        "low": _number(low),
        "high": _number(high),
        "step": _number(step),
        "counts": [int(count) for count in counts],
    }


def _layer(
    name: str, node: Node, row: Mapping[str, Any], positions: Mapping[int, int]
) -> dict[str, Any]:
    constants = [v.constant for v in node.operands if v.constant is not None]
    constants = [array for array in constants if array.size]
    largest = max(constants, key=lambda array: array.size, default=None)
    attributes = format_attributes(node.op, full=False)
    return {
        "name": name,
        "origins": list(origins_of(node)),
        "source": node.name,
        "op": node.op.name,
        **_type(node.results[0].type),
        "macs": node_macs(node),
        "inputs": _inputs(node, positions),
        "attributes": {name: _short(text) for name, text in attributes.items()},
        "weights": None if largest is None or largest.size < 2 else _weights(largest),
        "parameters": sum(array.size for array in constants),
        "operands": operand_hashes(node),
        "rows": _rows(node, constants),
        "figures": {
            name: value for name, value in row.items() if name not in _KNOWN and _plain(value)
        },
    }


def _weights(array: Array) -> dict[str, Any]:
    return {**weight_figures(array), "picture": weight_picture(array)}


def _rows(node: Node, constants: Sequence[Array]) -> list[str] | None:
    """Return the start of a hash for each output of a dense layer: its weights and its bias."""
    if not node.op.name.endswith(".dense") or not constants or constants[0].ndim != 2:
        return None
    outputs = len(constants[0])
    if outputs > MAX_ROWS:
        return None
    parts = [array for array in constants if array.shape[:1] == (outputs,)]
    return row_hashes(*parts)


def _inputs(node: Node, positions: Mapping[int, int]) -> list[int]:
    """Return the layers whose results a node reads, also through nodes that are not layers."""
    inputs: dict[int, None] = {}
    waiting = [value.node for value in reversed(node.operands)]
    visited: set[int] = set()
    while waiting:
        producer = waiting.pop()
        if id(producer) in visited:
            continue
        visited.add(id(producer))
        if id(producer) in positions:
            inputs[positions[id(producer)]] = None
        else:
            waiting += [value.node for value in reversed(producer.operands)]
    return list(inputs)


def _input_type(value: Value, ports: Ports) -> TensorType:
    """Return the type of an input of the program; states are not converted at its ports."""
    return value.type if isinstance(value.node.op, State) else ports.emitted_type(value.type)


def _type(type_: TensorType) -> dict[str, Any]:
    quant = type_.quant
    one = None if quant is None or len(quant.scale) != 1 else quant
    return {
        "shape": [size if isinstance(size, int) else str(size) for size in type_.shape],
        "dtype": type_.dtype.value,
        "quant": None if one is None else [float(one.scale[0]), int(one.zero_point[0])],
    }


def _memory(plan: MemoryPlan, scratch: Sequence[ScratchPlace]) -> dict[str, Any]:
    """Return ``bytes`` of the arena and ``boxes``: the bytes and steps that each value occupies.

    A box has ``layer`` (the step that writes it, -1 for an input), ``first`` and ``last`` step,
    ``offset``, ``bytes`` and ``scratch``: whether it is the layer's own while it runs.
    """
    roots = [p for p in plan.placements if p.region is Region.ARENA and p.alias_of is None]
    boxes = []
    for root in roots:
        group = [p for p in plan.placements if p is root or p.alias_of is root.value]
        first, last = min(p.first for p in group), max(p.last for p in group)
        boxes.append(
            {
                "layer": -1 if isinstance(root.value.node.op, Source) else root.first,
                "first": max(first, 0),
                "last": min(last, len(plan.schedule) - 1),
                "offset": root.offset,
                "bytes": root.nbytes,
                "scratch": False,
            }
        )
    boxes += [
        {
            "layer": place.step,
            "first": place.step,
            "last": place.step,
            "offset": place.offset,
            "bytes": place.nbytes,
            "scratch": True,
        }
        for place in scratch
    ]
    ends = [box["offset"] + box["bytes"] for box in boxes]
    return {"bytes": max([plan.arena_bytes, *ends]), "boxes": boxes}


def _plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else round(value, 6)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_ATTRIBUTE_CHARS else f"{text[:_MAX_ATTRIBUTE_CHARS]}..."


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def output_names(folder: Path) -> tuple[str, ...]:
    """Return the names of a network's outputs, of its description in an output folder.

    None if the folder has no description, as those of an older rlx.
    """
    try:
        outputs = json.loads((folder / NETWORK).read_bytes())["outputs"]
        return tuple(str(one["name"]) for one in outputs)
    except (OSError, ValueError, KeyError, TypeError):
        return ()
