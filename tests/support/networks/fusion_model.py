"""A graph while a test of fusion builds it, and what the tests ask of the result."""

import numpy as np

from rlx.ir import DType, Graph, TensorType, f32
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.ops.real import SpatialWindow
from rlx.passes.decompose import decompose
from rlx.passes.fusion import FusionOptions, FusionPolicy, fuse
from support.references.ulps import check_fused

POINT = real.RealConv(window=SpatialWindow((1, 1)))


class Model:
    """A graph while a test builds it, with random values for all that it reads."""

    def __init__(self):
        self.graph = Graph("g")
        self.random = np.random.default_rng(7)
        self.inputs, self.params = {}, {}

    def numbers(self, *shape, dtype=DType.F32):
        return np.asarray(self.random.standard_normal(shape), dtype.numpy)

    def input(self, *shape, dtype=DType.F32):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.numbers(*shape, dtype=dtype)
        return Expression(self.graph, self.graph.input(name, TensorType(shape, dtype)))

    def param(self, *shape):
        name = f"p{len(self.params)}"
        self.params[name] = np.abs(self.numbers(*shape)) + np.float32(0.5)
        return Expression(self.graph, self.graph.param(name, f32(*shape)))

    def constant(self, *shape):
        return Expression(self.graph, self.graph.constant(np.abs(self.numbers(*shape)) + 0.5))

    def fuse(self, *outputs, options=None, claims=lambda op: True):
        """Return the ops of the fused graph, the report, and the fused graph; check its values."""
        names = [f"y{i}" for i in range(len(outputs))]
        self.graph.output(*(o.value for o in outputs), names=names)
        graph = decompose(self.graph)
        fused, report = fuse(graph, options, claims)
        check_fused(graph, fused, report, self.inputs, self.params)
        return [n.op.name for n in fused.op_nodes], report, fused


def only(pattern, **more):
    """Return options that fuse one pattern."""
    return FusionOptions(
        default=FusionPolicy.KEEP, patterns={pattern: FusionPolicy.FUSE}, **more
    )  # fmt: skip


def reasons(report, pattern):
    return [m.reason for m in report.missed if m.pattern is pattern]


def form(fused, name):
    (node,) = (n for n in fused.op_nodes if n.op.name == name)
    return node.op.form
