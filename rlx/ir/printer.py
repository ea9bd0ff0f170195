"""The text form of graphs: writing. ``rlx.ir.parser`` reads it back.

::

    graph "tiny" {
      %0 = core.input() : i8[1, 4] q(0.5, -3) name "x" from "tiny.tflite" at "input 0"
      %1 = q.clamp(%0) {low=-3, high=127} : i8[1, 4] q(0.5, -3) name "relu" by "fuse-clamp"
      return %1 "y"
    }

- A value is ``%node`` or, where the node has several results, ``%node:result``. Such a node is
  defined as ``%node:count = ...``.
- A dimension is an integer, a symbol (a word, or a string if its name is not a word), or a sum of
  products of them: ``f32[batch, past + 1, 4 * batch * length - 2]``.
- Attributes are numbers, strings in JSON's spelling, ``true``, ``false``, ``none``, lists in
  brackets, members of enums as bare words, dataclasses as ``Class(field=value, ...)``. A
  symbol is ``Dim(name="batch")``; an expression of symbols is written as in a type.
- A constant's elements are in row-major order: ``dense<[1, 2]>`` if they are few, or their
  bytes in base64: ``dense<"AQI=">``. ``rlx.ir.compact`` has shorter forms for tests.
- A graph as an attribute is written like a graph alone: ``body=graph "step" { ... }``. Identifiers
  begin again at ``%0`` in it.
- ``from``, ``at`` and ``by`` are the origin: file, place in it, passes.
- ``#`` begins a comment that ends with the line.

Tests: tests/unit/ir/test_text.py
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING

from rlx.ir.dims import Dim
from rlx.ir.graph import Constant, Graph, Source
from rlx.ir.payload import to_bytes, to_numbers
from rlx.ir.plain import Plain, PlainError, PlainRecord, encode_fields, is_word
from rlx.support.text.names import shorten
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.ir.graph import Node, Value
    from rlx.ir.op import Op
    from rlx.ir.origin import Origin
    from rlx.ir.types import Array, QuantParams, TensorType

MAX_NUMBERS = 16
"""Elements up to which a constant is written as numbers."""
MAX_LISTED_ITEMS = 8
"""Items of longer lists where the text is abbreviated."""
_MAX_NAME_LENGTH = 80
"""Characters of a name where the text is abbreviated."""
_MAX_LISTED_PORTS = 4
"""Inputs, or outputs, that a summary lists."""


def format_graph(graph: Graph, *, full: bool = True) -> str:
    """Return the text form of ``graph``.

    Args:
        graph: The graph.
        full: Whether constants and long lists are written in full. Only then can the text be
            read back; ``str(graph)`` is abbreviated, but shows the nodes of regions.

    Raises:
        ValueError: An attribute does not match its annotation.
    """
    return _graph(graph, full) + "\n"


def _graph(graph: Graph, full: bool) -> str:
    """Return the text form of ``graph`` up to the closing brace."""
    lines = [f"graph {json.dumps(graph.name)} {{"]
    for node in graph.nodes:
        lines += [f"  {line}" for line in format_node(node, full=full, regions=True).split("\n")]
    outputs = zip(graph.outputs, graph.output_names, strict=True)
    returned = ", ".join(f"{format_value(v)} {json.dumps(name)}" for v, name in outputs)
    return "\n".join([*lines, f"  return {returned}".rstrip(), "}"])


def format_node(node: Node, *, full: bool = False, regions: bool | None = None) -> str:
    """Return the line of one node; more lines if it has regions and these are shown.

    Args:
        node: The node.
        full: Whether constants and long lists are written in full.
        regions: Whether the nodes of regions are shown; default: as ``full``.
    """
    count = f":{len(node.types)}" if len(node.types) != 1 else ""
    operands = ", ".join(map(format_value, node.operands))
    parts = [f"%{node.index}{count} = {node.op.name}({operands})"]
    if attributes := format_attributes(node.op, full=full, regions=regions):
        inner = ", ".join(f"{name}={value}" for name, value in attributes.items())
        parts.append(f"{{{inner}}}")
    parts.append(f": {', '.join(format_type(t, full=full) for t in node.types)}")
    if node.name:
        parts.append(f"name {json.dumps(node.name)}")
    return " ".join([*parts, *format_origin(node.origin)])


def summarize_node(node: Node) -> str:
    """Return a node in one short line: result, op, operands, type and name."""
    operands = ", ".join(format_value(o) for o in node.operands[:MAX_LISTED_ITEMS])
    more = (
        f", ...{len(node.operands) - MAX_LISTED_ITEMS} more"
        if len(node.operands) > MAX_LISTED_ITEMS
        else ""
    )
    types = _short_types(node.types)
    name = f" {_shown_name(node.name)}" if node.name else ""
    return f"%{node.index} = {node.op.name}({operands}{more}) : {types}{name}"


def summarize_value(value: Value) -> str:
    """Return a value in one short line: its identifier, the op that makes it, type and name."""
    name = f" {_shown_name(value.name)}" if value.name else ""
    types = _short_types((value.type,))
    return f"{format_value(value)} of {value.node.op.name} : {types}{name}"


def summarize_graph(graph: Graph) -> str:
    """Return a graph in one line: name, number of ops, inputs and outputs."""
    ops = counted(sum(1 for _ in graph.op_nodes), "op")
    sides = [
        ", ".join(
            f"{_shown_name(name)} {_short_types((value.type,))}"
            for name, value in list(zip(names, values, strict=True))[:_MAX_LISTED_PORTS]
        )
        + (
            f", ...{len(values) - _MAX_LISTED_PORTS} more"
            if len(values) > _MAX_LISTED_PORTS
            else ""
        )
        for names, values in (
            ([v.name for v in graph.inputs], graph.inputs),
            (graph.output_names, graph.outputs),
        )
    ]
    return f"{_shown_name(graph.name)}: {ops}, {sides[0] or '()'} -> {sides[1] or '()'}"


def _short_types(types: tuple[TensorType, ...]) -> str:
    """Return types without quantization along an axis, cut where they are long."""
    return shorten(
        ", ".join(
            format_type(t if t.quant is None or t.quant.axis is None else t.with_quant(None))
            for t in types
        ),
        _MAX_NAME_LENGTH,
    )


def _shown_name(name: str) -> str:
    """Return a name in quotes, in ASCII, cut where it is long."""
    return json.dumps(shorten(name, _MAX_NAME_LENGTH))


def format_op(op: Op, *, full: bool = True) -> str:
    """Return an op with its attributes, such as ``q.clamp {low=0, high=127}``."""
    inner = ", ".join(f"{k}={v}" for k, v in format_attributes(op, full=full).items())
    return f"{op.name} {{{inner}}}" if inner else op.name


def format_attributes(op: Op, *, full: bool = False, regions: bool | None = None) -> dict[str, str]:
    """Return the text of each attribute by name; ``full`` and ``regions`` as ``format_node``.

    Raises:
        ValueError: An attribute does not match its annotation.
    """
    if isinstance(op, Constant):
        return {"value": _dense(op.value, full)}
    if isinstance(op, Source):
        return {name: str(value) for name, value in op.settings.items()}
    try:
        encoded = encode_fields(op)
    except PlainError as e:
        raise ValueError(f"{op.name}: {e}") from e
    return {name: format_plain(v, full=full, regions=regions) for name, v in encoded.items()}


def format_value(value: Value) -> str:
    """Return the reference to a value: ``%3``, or ``%3:1`` where the node has several."""
    several = len(value.node.types) != 1
    return f"%{value.node.index}:{value.index}" if several else f"%{value.node.index}"


def format_type(type_: TensorType, *, full: bool = True) -> str:
    """Return a type, such as ``i8[1, 4] q(0.5, -3)``."""
    text = f"{type_.dtype.value}[{', '.join(map(_dimension, type_.shape))}]"
    return f"{text} {_quant(type_.quant, full)}" if type_.quant is not None else text


def format_plain(plain: Plain, *, full: bool = True, regions: bool | None = None) -> str:
    """Return the text of a plain value; ``full`` and ``regions`` as ``format_node``."""
    format_item = partial(format_plain, full=full, regions=regions)
    if isinstance(plain, Graph):
        with_regions = full if regions is None else regions
        return _graph(plain, full) if with_regions else _count(plain)
    if isinstance(plain, PlainRecord):
        if plain.name == Dim.__name__ and "terms" in plain.fields:
            return _dimension(Dim.from_plain(plain.fields))
        inner = ", ".join(f"{k}={format_item(v)}" for k, v in plain.fields.items())
        return f"{plain.name}({inner})" if plain.fields else plain.name
    if isinstance(plain, tuple):
        return f"[{_items([format_item(item) for item in plain], full)}]"
    if plain is None or isinstance(plain, bool):
        return str(plain).lower()
    return json.dumps(plain) if isinstance(plain, str) else repr(plain)


def _count(region: Graph) -> str:
    """Return a region without its nodes."""
    return f"graph {_shown_name(region.name)} {{...{sum(1 for _ in region.op_nodes)} ops}}"


def _items(items: list[str], full: bool) -> str:
    """Return a list, cut after the first few items where the text is abbreviated."""
    if full or len(items) <= MAX_LISTED_ITEMS * 2:
        return ", ".join(items)
    return f"{', '.join(items[:MAX_LISTED_ITEMS])}, ...{len(items) - MAX_LISTED_ITEMS} more"


def _dimension(dimension: int | Dim) -> str:
    """Return a dimension; a symbol is a word, or a string if its name is not a word."""
    if isinstance(dimension, int):
        return str(dimension)
    return dimension.text(lambda name: name if is_word(name) else json.dumps(name))


def _quant(quant: QuantParams, full: bool) -> str:
    """Return quantization parameters."""
    if quant.axis is None:
        return f"q({quant.scale[0]!r}, {quant.zero_point[0]})"
    pairs = [f"{s!r}:{z}" for s, z in zip(quant.scale, quant.zero_point, strict=True)]
    return f"q(axis={quant.axis}, {_items(pairs, full)})"


def _dense(array: Array, full: bool) -> str:
    """Return a constant's elements: as numbers if they are few, else as base64 or as a hash."""
    numbers = to_numbers(array) if array.size <= MAX_NUMBERS else None
    if numbers is not None:
        return f"dense<[{', '.join(format_plain(n) for n in numbers)}]>"
    data = to_bytes(array)
    if full:
        return f'dense<"{base64.b64encode(data).decode()}">'
    return f"dense<...{hashlib.sha256(data).hexdigest()[:12]}>"


def format_origin(origin: Origin) -> list[str]:
    """Return the parts of an origin that are not empty."""
    parts = []
    if origin.source:
        parts.append(f"from {json.dumps(origin.source)}")
    if origin.location:
        parts.append(f"at {json.dumps(origin.location)}")
    if origin.passes:
        parts.append(f"by {', '.join(map(json.dumps, origin.passes))}")
    if origin.layer:
        parts.append(f"layer {json.dumps(origin.layer)}")
    if origin.joined_places:
        parts.append(f"with {', '.join(map(json.dumps, origin.joined_places))}")
    return parts
