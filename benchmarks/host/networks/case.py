"""One network for both engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from rlx.ir import Array
    from rlx.tracing import Graph

OPSET = 21
IR_VERSION = 10

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A network, its weights and its inputs, for both engines.

    Attributes:
        name: Name in results.
        graph: The network as a graph of rlx.
        model: The same network as ONNX.
        inputs: A value for each input of ``graph`` but its states.
        feeds: A value for each input of ``model``.
        states: First contents of each state of ``graph``.
    """

    name: str
    graph: Graph
    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    feeds: Mapping[str, Array]
    states: Mapping[str, Array] = field(default_factory=dict)


class SeededWeights:
    """Seeded random weights, equal for both forms of a network."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def normal(self, *shape: int, deviation: float = 1.0, mean: float = 0.0) -> Array:
        """Return float32 values from a normal distribution."""
        numbers = self._generator.standard_normal(shape) * deviation + mean
        return numbers.astype(np.float32)

    def matrix(self, rows: int, columns: int) -> Array:
        """Return a matrix that keeps the variance of the vectors that it multiplies."""
        return self.normal(rows, columns, deviation=rows**-0.5)


class OnnxGraph:
    """An ONNX model under construction; values are names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> str:
        """Declare an input."""
        self._inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))
        return name

    def weights(self, value: Array) -> str:
        """Add an initializer."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def sizes(self, *numbers: int) -> str:
        """Add an initializer of i64: a shape, or places."""
        return self.weights(np.array(numbers, np.int64))

    def op(self, op: str, *operands: str, **attributes: Any) -> str:  # noqa: ANN401 - ONNX's own
        """Append a node and return its only result."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(operands), [name], **attributes))
        return name

    def output(self, value: str, name: str, shape: Sequence[int]) -> None:
        """Declare an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._weights
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
