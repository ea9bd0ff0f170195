"""PReLU by channel as exporters write it: chains of elementwise ops on int8 values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Graph, QuantParams, TensorType
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QClamp, QMaximum, QMinimum, QMul, QRequantize, QTable
from rlx.ops.rescale import sum_scaling

if TYPE_CHECKING:
    from rlx.ir import Array, Value


@dataclass
class Writer:
    """Appends quantized ops to a graph; results get the scale and zero point that are asked for.

    Attributes:
        graph: The graph.
        rounding: Rounding of all factors.
    """

    graph: Graph
    rounding: Rounding = Rounding.DOUBLE

    def slopes(self, alphas: Array) -> Value:
        """Append constants of the channels with a scale for all of them."""
        scale = max(float(np.abs(alphas).max()), 1e-6) / 127
        numbers = np.rint(alphas / scale).astype(np.int8)
        return self.graph.constant(numbers, name="slopes", quant=QuantParams.per_tensor(scale))

    def mul(self, x: Value, y: Value, result: QuantParams) -> Value:
        """Append a product."""
        (x_scale, x_zero), (y_scale, y_zero), (scale, zero) = map(_pair, (x, y, result))
        rescale = Rescale.of(x_scale * y_scale / scale, rounding=self.rounding)
        op = QMul(x_zero_point=x_zero, y_zero_point=y_zero, rescale=rescale, zero_point=zero)
        return self.graph.apply(op, x, y, quant=result)

    def requantize(self, x: Value, result: QuantParams, **bounds: int) -> Value:
        """Append a change of scale; x itself where the scale is the same."""
        if x.type.quant == result and not bounds:
            return x
        (x_scale, x_zero), (scale, zero) = _pair(x), _pair(result)
        rescale = Rescale.of(x_scale / scale, rounding=self.rounding)
        op = QRequantize(x_zero_point=x_zero, rescale=rescale, zero_point=zero, **bounds)
        return self.graph.apply(op, x, quant=result)

    def add(self, x: Value, y: Value, result: QuantParams) -> Value:
        """Append a sum."""
        (x_scale, x_zero), (y_scale, y_zero), (scale, zero) = map(_pair, (x, y, result))
        scaling = sum_scaling(x_scale, y_scale, scale)
        op = QAdd(
            x_zero_point=x_zero, y_zero_point=y_zero, zero_point=zero, rescale=scaling.rescale,
            x_rescale=scaling.x_rescale, y_rescale=scaling.y_rescale, left_shift=scaling.left_shift,
        )  # fmt: skip
        return self.graph.apply(op, x, y, quant=result)

    def at_least_zero(self, x: Value) -> Value:
        """Append a ReLU."""
        return self.graph.apply(QClamp(low=_pair(x)[1]), x, quant=x.type.quant)

    def negated(self, x: Value) -> Value:
        """Append a negation, a table."""
        scale, zero = _pair(x)
        table = np.clip(2 * zero - np.arange(-128, 128), -128, 127)
        op = QTable(table=tuple(table.tolist()), function="neg")
        return self.graph.apply(op, x, quant=QuantParams.per_tensor(scale, zero))


def _pair(of: Value | QuantParams) -> tuple[float, int]:
    quant = of if isinstance(of, QuantParams) else of.type.quant
    assert quant is not None
    return quant.scale[0], quant.zero_point[0]


Form = "Callable[[Writer, Value, Array, QuantParams, QuantParams], Value]"


def maximum(writer: Writer, x: Value, alphas: Array, inner: QuantParams, y: QuantParams) -> Value:
    """``max(x, alpha * x)``, both brought to the scale of the result."""
    product = writer.mul(x, writer.slopes(alphas), inner)
    operands = (writer.requantize(v, y) for v in (x, product))
    return writer.graph.apply(QMaximum(), *operands, quant=y)


def relu(writer: Writer, x: Value, alphas: Array, inner: QuantParams, y: QuantParams) -> Value:
    """``relu(x) - alpha * relu(-x)``, as Keras and PyTorch decompose it."""
    negative = writer.at_least_zero(writer.negated(x))
    product = writer.mul(negative, writer.slopes(-alphas), inner)
    return writer.add(writer.at_least_zero(x), product, y)


def halves(writer: Writer, x: Value, alphas: Array, inner: QuantParams, y: QuantParams) -> Value:
    """``max(x, 0) + alpha * min(x, 0)``."""
    zero = np.array([_pair(x)[1]], np.int8)
    constant = writer.graph.constant(zero, name="zero", quant=x.type.quant)
    upper = writer.graph.apply(QMaximum(), x, constant, quant=x.type.quant)
    lower = writer.graph.apply(QMinimum(), x, constant, quant=x.type.quant)
    return writer.add(upper, writer.mul(lower, writer.slopes(alphas), inner), y)


def product(writer: Writer, x: Value, alphas: Array, inner: QuantParams, y: QuantParams) -> Value:
    """``max(x, alpha * x)`` where all values have the scale of ``x``."""
    del inner, y
    assert x.type.quant is not None
    scaled = writer.mul(x, writer.slopes(alphas), x.type.quant)
    return writer.graph.apply(QMaximum(), x, scaled, quant=x.type.quant)


FORMS = (maximum, relu, halves, product)
"""Functions that append a PReLU: writer, operand, slopes, scales of the product and the result."""

ROUNDINGS = (Rounding.DOUBLE, Rounding.SINGLE, Rounding.EVEN)


def random_chain(form: Form, seed: int, channels: int = 5, pixels: int = 256) -> Graph:
    """Return a graph with one PReLU of random scales, zero points and slopes.

    The slopes are of both signs, 0, 1, and above 1.
    """
    random = np.random.default_rng(seed)

    def quant() -> QuantParams:
        scale, zero = 2.0 ** random.uniform(-7, -3), random.choice([0, -128, 127, -9, 40])
        return QuantParams.per_tensor(float(np.float32(scale)), int(zero))

    graph = Graph("chain")
    x = graph.input("x", TensorType((1, pixels, 1, channels), DType.I8, quant()))
    alphas = random.choice([0, 1, random.uniform(1, 3), *random.uniform(-1, 1, 8)], channels)
    writer = Writer(graph, ROUNDINGS[seed % len(ROUNDINGS)])
    graph.output(form(writer, x, alphas, quant(), quant()))
    return graph


def every_value(graph: Graph) -> dict[str, Array]:
    """Return inputs with all 256 values in each channel."""
    shape = graph.inputs[0].type.static_shape
    values = np.arange(-128, 128, dtype=np.int8).reshape(1, 256, 1, 1)
    return {"x": np.ascontiguousarray(np.broadcast_to(values, shape))}
