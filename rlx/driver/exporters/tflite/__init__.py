"""Integer networks as ``.tflite`` files that TensorFlow Lite Micro computes to the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.driver.exporters.nodes import export_nodes
from rlx.driver.exporters.tflite import (  # noqa: F401 - each registers its rules
    arith,
    layers,
    moves,
    resize,
)
from rlx.driver.exporters.tflite.call import ExportedNode, ExportState
from rlx.driver.exporters.tflite.file import TYPES, TfliteFile
from rlx.driver.exporters.tflite.rules import RULES
from rlx.support.errors import UnsupportedOpError
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from rlx.ir import Graph, Value


def to_tflite(graph: Graph) -> bytes:
    """Return an integer network as a ``.tflite`` file.

    Inputs, outputs, names, types and scales are kept. Weights of 4 and 2 bits are stored as int8.

    Args:
        graph: ``q.*`` ops, with ``real.quantize`` and ``real.dequantize`` at the ends.

    Raises:
        UnsupportedOpError: Ops have no operator with bit-identical results; all are listed.
        ToolMissingError: The package flatbuffers is not installed.
    """
    file = TfliteFile(printable(graph.name) or "main")
    state = ExportState(file)
    for value in graph.inputs:
        state.tensors[value] = _input(file, value)
    export_nodes((ExportedNode(state, node) for node in graph.op_nodes), RULES, _give_up)
    inputs = [state.tensors[v] for v in graph.inputs]
    outputs = [state.tensors[v] for v in graph.outputs]
    return file.build(inputs, outputs)


def _give_up(call: ExportedNode) -> None:
    """Add a tensor for each result of a refused node."""
    for value in call.node.results:
        call.state.tensors.setdefault(value, 0)


def _input(file: TfliteFile, value: Value) -> int:
    """Add the tensor of a graph input.

    Raises:
        UnsupportedOpError: Its element type is none of an int8 network.
    """
    type_ = value.type
    if type_.dtype not in TYPES:
        raise UnsupportedOpError(
            f"the input is {type_}",
            where=f"input {value.name!r}",
            hint="export a network whose inputs are int8, uint8, int16 or f32",
        )
    return file.tensor(printable(value.name), type_.static_shape, TYPES[type_.dtype], type_.quant)
