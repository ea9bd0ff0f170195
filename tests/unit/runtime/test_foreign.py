"""Ops of other packages in compiled graphs: beside fused ops, failing, and wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import rlx
from rlx.ir import Op
from rlx.ir.evaluate import evaluate
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import ShapeError
from support.messages import raises

W = np.random.default_rng(5).standard_normal((4, 4)).astype(np.float32)


RESULTS = {
    "shape": lambda x: (x[:1],),
    "type": lambda x: (x.astype(np.float64),),
    "list": lambda x: (x.tolist(),),
    "count": lambda x: (x, x),
    "none": lambda x: (),
    "write": lambda x: (np.add(x, 1, out=x),),
}


@pytest.fixture
def acme():
    """Ops that no package registers; they are forgotten afterwards."""
    known = dict(Op.registry)

    class Base(Op):
        operand_count: ClassVar[int] = 1

        def infer(self, *operands):
            return operands[:1]

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Triple(Base):
        name: ClassVar[str] = "acme.triple"

        def evaluate(self, *operands):
            if np.isnan(operands[0]).any():
                raise RuntimeError("the coyote fell")
            return (operands[0] * 3,)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wrong(Base):
        name: ClassVar[str] = "acme.wrong"
        kind: str

        def evaluate(self, *operands):
            return RESULTS[self.kind](*operands)

    yield {"triple": Triple, "wrong": Wrong}
    Op.registry.clear()
    Op.registry.update(known)


def between(op):
    """Return a graph with an op between two products, and a state that adds up what it gives."""
    graph = rlx.Graph("between")
    total = graph.state("total", (1, 4))
    y = graph.apply(op, (graph.input("x", (1, 4)) @ W + 1.0).relu())
    graph.set_state(total, total + y)
    graph.output((y @ W).gelu() * 0.5, names=["y"])
    return graph


@pytest.mark.parametrize("fusion", [True, False], ids=["fused", "as written"])
def test_it_runs_beside_fused_ops(acme, fusion):
    graph = between(acme["triple"]())
    options = CompileOptions() if fusion else CompileOptions(fusion=None)
    compiled = Session().compile(graph, options)
    if fusion:
        assert len(compiled.fusion.fused) >= 2
    total, random = np.zeros((1, 4), np.float32), np.random.default_rng(6)
    for _ in range(3):
        x = random.standard_normal((1, 4)).astype(np.float32)
        wanted = evaluate(graph.graph, {"x": x, "total": total})
        for found, right in zip(compiled.run({"x": x}), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
        total = wanted[0]


def test_what_it_raises_is_kept_and_names_the_node(acme):
    graph = between(acme["triple"]())
    compiled = Session().compile(graph)
    bad, good = np.full((1, 4), np.nan, np.float32), np.ones((1, 4), np.float32)
    wanted = evaluate(graph.graph, {"x": good, "total": np.zeros((1, 4), np.float32)})[1]
    ways = [
        lambda: compiled.run({"x": bad}),
        lambda: compiled.submit({"x": bad}).wait(),
        lambda: compiled.profile({"x": bad}),
        lambda: evaluate(graph.graph, {"x": bad, "total": good}),
    ]
    for way in ways:
        with pytest.raises(RuntimeError, match=r"^the coyote fell") as error:
            way()
        (note,) = error.value.__notes__
        assert note.startswith("while computing acme.triple %")
        np.testing.assert_allclose(compiled.run({"x": good})[1], wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "kind",
    [
        "shape",
        "type",
        "list",
        "count",
        "none",
    ],
)
def test_results_of_other_types_are_refused(acme, kind):
    graph = rlx.trace("g", lambda x: {"y": x.apply(acme["wrong"](kind=kind))}, rlx.f32(2, 3))
    with raises(ShapeError):
        Session().compile(graph).run({"x": np.ones((2, 3))})


def test_it_cannot_write_to_its_operands(acme):
    graph = rlx.trace("g", lambda x: {"y": x.apply(acme["wrong"](kind="write"))}, rlx.f32(2, 3))
    with pytest.raises(ValueError, match="read-only") as error:
        Session().compile(graph).run({"x": np.ones((2, 3))})
    (note,) = error.value.__notes__
    assert note.startswith("while computing acme.wrong %1 from test_foreign.py line ")
