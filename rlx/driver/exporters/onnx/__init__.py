"""Integer networks as ``.onnx`` files in the form of QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.driver.exporters.nodes import export_nodes
from rlx.driver.exporters.onnx import (  # noqa: F401 - each registers its rules
    arith,
    layers,
    moves,
    resize,
)
from rlx.driver.exporters.onnx.call import AxisOrder, ExportedNode, ExportState
from rlx.driver.exporters.onnx.file import MAX_OPSET, MIN_OPSET, OnnxFile
from rlx.driver.exporters.onnx.rules import RULES
from rlx.support.errors import UsageError
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from rlx.ir import Graph, Value

DEFAULT_OPSET: Final = 17
"""Version of ai.onnx that runtimes and tools of the last years read."""


def to_onnx(graph: Graph, opset: int = DEFAULT_OPSET) -> bytes:
    """Return an integer network as an ``.onnx`` file.

    Inputs, outputs, names, types and scales are kept; axes stay channels last at inputs and
    outputs, and Transpose nodes turn them around convolutions. Weights of 4 and 2 bits are stored
    in 4 bits from opset 21 on, before that in 8.

    Args:
        graph: ``q.*`` ops, with ``real.quantize`` and ``real.dequantize`` at the ends.
        opset: Version of ai.onnx, ``MIN_OPSET`` to ``MAX_OPSET``.

    Raises:
        UsageError: The version is out of range.
        UnsupportedOpError: Ops have no form; all are listed.
        ToolMissingError: The package onnx is not installed.
    """
    if not MIN_OPSET <= opset <= MAX_OPSET:
        raise UsageError(
            f"opset {opset} is out of range",
            where="--opset",
            hint=f"give a version of ai.onnx from {MIN_OPSET} to {MAX_OPSET}",
        )
    state = ExportState(OnnxFile(printable(graph.name) or "main", opset))
    inputs = [(state.file.name(printable(v.name)), v.type) for v in graph.inputs]
    for (name, _), value in zip(inputs, graph.inputs, strict=True):
        state.quantized[value, AxisOrder.LAST] = name
    outputs = [
        (state.file.name(printable(name)), value)
        for name, value in zip(graph.output_names, graph.outputs, strict=True)
    ]
    for name, value in outputs:
        if value not in graph.inputs and value.constant is None:
            state.outputs.setdefault(value, name)
    export_nodes((ExportedNode(state, node) for node in graph.op_nodes), RULES, _give_up)
    for name, value in outputs:
        _bind(state, name, value)
    return state.file.build(inputs, [(name, value.type) for name, value in outputs])


def _give_up(call: ExportedNode) -> None:
    """Name tensors that no node makes, for the results of a refused node."""
    for value in call.node.results:
        call.state.quantized[value, AxisOrder.LAST] = call.file.name("refused")


def _bind(state: ExportState, name: str, value: Value) -> None:
    """Give an output its name if no node does: it is an input, or another output too."""
    source = ExportedNode(state, value.node).quantized(value)
    if source != name:
        state.file.node("Identity", [source], name)
