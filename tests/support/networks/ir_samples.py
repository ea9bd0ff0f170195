"""Small graphs that the tests of the IR share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Dim, DType, Graph, Op, Origin, QuantParams, TensorType, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QConv2d, QDense, QReshape, QSoftmax, Window
from rlx.ops.real import RealAdd, RealCast, RealConcat, RealReshape, RealSlice, RealTopK

if TYPE_CHECKING:
    from rlx.ir import Array

HOSTILE = 'a"; system("rm")\n\x1b[2J\u2028%0 = # \U0001f600\ud800'
"""A name with quotes, a newline, an escape sequence, a lone surrogate."""

X_QUANT = QuantParams.per_tensor(0.5, -3)


def clamp_graph(low: int = -3) -> Graph:
    """Return one clamp with names and origins."""
    graph = Graph("tiny")
    x = graph.input("x", i8(1, 4, quant=X_QUANT), origin=Origin("tiny.tflite", "input 0"))
    origin = Origin("tiny.tflite", "operator 0 RELU", ("fuse-clamps",))
    y = graph.apply(QClamp(low=low, high=127), x, name="relu", origin=origin)
    graph.output(y, names=["y"])
    return graph


def network() -> Graph:
    """Return convolution, reshape, dense layer and softmax with random weights."""
    random = np.random.default_rng(7)
    graph = Graph("network")
    quant = QuantParams.per_tensor
    x = graph.input("image", i8(1, 6, 5, 2, quant=quant(0.25, 4)))
    w = graph.constant(
        random.integers(-127, 128, (3, 3, 3, 2), np.int8),
        name="kernel", quant=QuantParams((0.1, 0.2, 0.3), (0, 0, 0), 0),
    )  # fmt: skip
    b = graph.constant(random.integers(-1000, 1000, 3, np.int32), name="bias")
    conv = QConv2d(
        window=Window.same((6, 5), (3, 3), (2, 2)), x_zero_point=4,
        rescale=Rescale.of(0.01, 0.02, 0.003), zero_point=-128, low=-128,
    )  # fmt: skip
    y = graph.apply(conv, x, w, b, name="conv", quant=quant(0.3, -128))
    flat = graph.apply(QReshape(shape=(1, 27)), y, name="flatten")
    w2 = graph.constant(random.integers(-127, 128, (4, 27), np.int8), name="matrix")
    b2 = graph.constant(np.zeros(4, np.int32))
    dense = QDense(x_zero_point=-128, rescale=Rescale.of(0.004), zero_point=1)
    z = graph.apply(dense, flat, w2, b2, name="dense", quant=quant(0.2, 1))
    soft = graph.apply(QSoftmax(multiplier=1 << 30, left_shift=22, diff_min=-100), z, name="prob")
    graph.output(soft, names=["probabilities"])
    return graph


def several_results() -> Graph:
    """Return a node with two results, a parameter, symbols and hostile names."""
    graph = Graph(HOSTILE)
    x = graph.input(HOSTILE, TensorType((Dim("N"), Dim("not a word"), 4), DType.F32))
    bias = graph.param("bias", f32(4))
    total = graph.apply(RealAdd(), x, bias, origin=Origin(HOSTILE, HOSTILE, (HOSTILE, "b")))
    node = graph.append(RealTopK(count=2), total, name="top")
    values, indices = node.results
    graph.output(indices, values, total, names=["indices", HOSTILE, ""])
    return graph


def every_element_type() -> Graph:
    """Return constants of every element type, small and large, all of them outputs."""
    graph = Graph("types")
    random = np.random.default_rng(3)
    for dtype in DType:
        for shape in ((), (0, 3), (2, 3), (5, 7)):
            raw = (
                random.integers(-2, 2, shape)
                if dtype.value[0] != "u"
                else random.integers(0, 9, shape)
            )
            if dtype.is_float:
                raw = random.normal(size=shape)
            graph.output(graph.constant(np.asarray(raw).astype(dtype.numpy)), names=[dtype.value])
    return graph


def special_floats() -> Graph:
    """Return constants that text could get wrong: NaN, infinities, minus zero, the tiniest."""
    graph = Graph("floats")
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    for values in ([np.nan, np.inf], [-np.inf, 1.0], [-0.0, tiny], [0.1, 1 / 3], [3.4e38, 1e-30]):
        graph.output(graph.constant(np.array(values, np.float32)))
    return graph


def cast_graph() -> Graph:
    """Return an op with an enum attribute."""
    graph = Graph("cast")
    graph.output(graph.apply(RealCast(dtype=DType.F16), graph.input("x", f32(2))))
    return graph


def grown_cache() -> Graph:
    """Return dimensions that are expressions, in types and in attributes."""
    graph = Graph("cache")
    batch, past = Dim("batch"), Dim("not a word")
    old = graph.input("old", f32(batch, past, 2))
    new = graph.input("new", f32(batch, 1, 2))
    grown = graph.apply(RealConcat(axis=1), old, new)
    last = RealSlice(start=(0, past - 1, 0), stop=(None, past + 1, None), step=(1, 1, 1))
    flat = RealReshape(shape=(batch * past + batch, 2))
    graph.output(graph.apply(last, grown), graph.apply(flat, grown), names=["last", "flat"])
    return graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose(Op):
    """Results of the last of its regions; it represents any op that has regions."""

    name: ClassVar[str] = "test.choose"
    operand_count: ClassVar[int | tuple[int, int | None]] = (0, None)
    body: Graph | None = None
    cases: tuple[Graph, ...] = ()

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        region = self.regions()[-1][1]
        if operands != tuple(v.type for v in region.inputs):
            raise self.refuse(f"the region takes other operands than {list(map(str, operands))}")
        return tuple(v.type for v in region.outputs)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        region = self.regions()[-1][1]
        names = [v.name for v in region.inputs]
        return tuple(evaluate(region, dict(zip(names, operands, strict=True))))


def scaled(factor: float, size: int | Dim = 3, name: str = "scaled") -> Graph:
    """Return a region: its input plus a constant."""
    graph = Graph(name)
    x = graph.input("a0", f32(size))
    constant = graph.constant(np.full((1,), factor, np.float32))
    graph.output(graph.apply(RealAdd(), x, constant, name="sum"), names=["y"])
    return graph


def regions() -> Graph:
    """Return ops with regions: one, several, one inside another, with constants and symbols."""
    graph = Graph("regions")
    x = graph.input("x", f32(Dim("N")))
    y = graph.apply(Choose(body=scaled(2.5, Dim("N"))), x, name="once")
    outer = Graph(HOSTILE)
    inner = outer.input("a0", f32(Dim("N")))
    big = outer.constant(np.arange(20, dtype=np.float32), name="big")
    op = Choose(cases=(scaled(1.0, Dim("N")), scaled(-1.0, Dim("N"))))
    outer.output(outer.apply(op, inner, name="inside"), big)
    first, second = graph.append(Choose(body=outer), y, name="twice").results
    graph.output(first, second, names=["z", "big"])
    return graph


SAMPLES = {
    "clamp": clamp_graph,
    "network": network,
    "several": several_results,
    "types": every_element_type,
    "floats": special_floats,
    "cast": cast_graph,
    "cache": grown_cache,
    "regions": regions,
}
