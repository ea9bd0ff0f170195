"""Builder of graphs for kernels, and helpers to emit and run them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.driver.reference import random_inputs, reference_outputs
from rlx.ir import DType, Graph, GraphModule, QuantParams, Stage, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QConv2d, QDense, Window
from rlx_cortexm import TARGET, CortexMOptions

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Op, Value
    from rlx.support.files.golden import Golden
    from rlx.targets import Emission

SAME = "same"


def planned(graph: Graph, **options: object) -> GraphModule:
    """Return ``graph`` with a memory plan, as it is: no pass runs."""
    return TARGET.plan(GraphModule(graph, Stage.MIR), CortexMOptions(**options))


def emit_graph(graph: Graph, prefix: str = "net", **options: object) -> Emission:
    """Return the target's emission for ``graph`` as it is."""
    return TARGET.emit(planned(graph, **options), CortexMOptions(prefix=prefix, **options))


def write(folder: Path, emission: Emission) -> Path:
    """Write emitted files into ``folder``."""
    for name, content in emission.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def golden_of(graph: Graph, frames: int = 4) -> Golden:
    """Return random inputs and the reference's outputs."""
    return reference_outputs(graph, random_inputs(graph, frames))


class GraphBuilder:
    """Appends nodes with drawn constants to one graph.

    Args:
        name: Name of the graph.
        seed: Seed of the constants.
        weights: Element type of weights for which no other is given.
    """

    def __init__(self, name: str = "kernels", seed: int = 7, weights: DType = DType.I8) -> None:
        self.graph = Graph(name)
        self._weights = weights
        self._random = np.random.default_rng(seed)

    def node(self, op: Op, *operands: Value) -> Value:
        """Append a node and make its result an output."""
        return self.shown(self.graph.apply(op, *operands, name=f"node{len(self.graph.nodes)}"))

    def shown(self, value: Value) -> Value:
        """Make a value an output."""
        self.graph.output(value, names=[f"y{len(self.graph.outputs)}"])
        return value

    def input(self, *shape: int, quant: QuantParams | None = None) -> Value:
        """Append an int8 input."""
        return self.graph.input(f"x{len(self.graph.inputs)}", i8(*shape, quant=quant))

    def constant(self, *shape: int, dtype: DType = DType.I8) -> Value:
        """Append drawn values of an element type's whole range."""
        low, high = -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
        values = self._random.integers(low, high, shape, np.int64, endpoint=True)
        return self.graph.constant(values.astype(dtype.numpy))

    def bias(self, channels: int, most: int = 4000) -> Value:
        """Append drawn biases."""
        values = self._random.integers(-most, most, channels, np.int32)
        return self.graph.constant(values)

    def conv(
        self,
        shape: tuple[int, int, int, int],
        outputs: int,
        kernel: tuple[int, int],
        **attributes: Any,
    ) -> Value:
        """Append a convolution on an input of its own and make its result an output."""
        return self.shown(self.layer(self.input(*shape), outputs, kernel, **attributes))

    def layer(
        self,
        x: Value,
        outputs: int,
        kernel: tuple[int, int],
        *,
        stride: tuple[int, int] = (1, 1),
        dilation: tuple[int, int] = (1, 1),
        padding: str | tuple[tuple[int, int], tuple[int, int]] = SAME,
        groups: int = 1,
        dtype: DType | None = None,
        factors: Rescale | None = None,
        **attributes: int,
    ) -> Value:
        """Append a convolution."""
        shape = x.type.static_shape
        if padding == SAME:
            window = Window.same(shape[1:3], kernel, stride, dilation)
        else:
            window = Window(kernel, stride, dilation, padding)
        inner = shape[3] // groups
        taps = math.prod(kernel) * inner
        op = QConv2d(
            window=window,
            groups=groups,
            rescale=factors or self.factors(outputs, taps),
            **{"x_zero_point": -7, "zero_point": 5, **attributes},
        )
        weights = self.constant(outputs, *kernel, inner, dtype=dtype or self._weights)
        bias = self.bias(outputs)
        return self.graph.apply(op, x, weights, bias, name=f"node{len(self.graph.nodes)}")

    def factors(self, channels: int, taps: int, rounding: Rounding = Rounding.DOUBLE) -> Rescale:
        """Return a factor for each channel that brings sums over ``taps`` to int8 values."""
        reals = self._random.uniform(0.5, 2.0, channels) / (40 * math.sqrt(taps))
        return Rescale.of(*reals, rounding=rounding)

    def powers(self, channels: int, taps: int, rounding: Rounding = Rounding.EVEN) -> Rescale:
        """Return a power of two for each channel that brings sums over ``taps`` to int8 values."""
        shifts = self._random.integers(-2, 2, channels) - round(math.log2(40 * math.sqrt(taps)))
        return Rescale.of(*(2.0**shifts).tolist(), rounding=rounding)

    def dense(
        self,
        shape: tuple[int, ...],
        outputs: int,
        factors: Rescale | None = None,
        dtype: DType | None = None,
        **attributes: int,
    ) -> Value:
        """Append a dense layer on an input of its own."""
        usual = {"x_zero_point": 11, "zero_point": -3}
        op = QDense(rescale=factors or Rescale.of(0.001), **{**usual, **attributes})
        weights = self.constant(outputs, shape[-1], dtype=dtype or self._weights)
        return self.node(op, self.input(*shape), weights, self.bias(outputs))

    def ternary(self, shape: tuple[int, ...], outputs: int) -> Value:
        """Append a dense layer with weights of -1, 0 and 1 on an input of its own."""
        op = QDense(x_zero_point=11, rescale=Rescale.of(0.02), zero_point=-3)
        values = self._random.integers(-1, 1, (outputs, shape[-1]), np.int8, endpoint=True)
        weights = self.graph.constant(values)
        return self.node(op, self.input(*shape), weights, self.bias(outputs, 300))

    def binary(self, kind: type[Op], x: Value, y: Value, **attributes: object) -> Value:
        """Append an addition or subtraction."""
        usual = {
            "x_zero_point": 3,
            "y_zero_point": -4,
            "x_rescale": Rescale.of(0.5),
            "y_rescale": Rescale.of(0.37),
            "rescale": Rescale.of(1.3 / 2**19),
            "zero_point": 9,
        }
        return self.node(kind(**{**usual, **attributes}), x, y)
