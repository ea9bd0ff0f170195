"""The way of a graph to a backend: its steps, and what they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import rlx
from rlx.ir import Stage, f32
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.passes.precision import PrecisionPolicy
from rlx.passes.split_params import split_params
from rlx.runtime import CompileOptions, Session
from rlx.runtime.lowering import lower
from rlx.runtime.numpy_backend import BACKEND
from rlx.support.errors import OutputError
from rlx.support.files.outputs import read_manifest
from support.messages import raises

if TYPE_CHECKING:
    from pathlib import Path


def dense() -> rlx.Graph:
    graph = rlx.Graph("dense")
    x = graph.input("x", (2, 3))
    w = graph.param("w", (4, 3))
    graph.output((x @ w.T).softmax(-1), names=["y"])
    return graph


def test_a_lowered_graph_is_planned_and_sound() -> None:
    lowered = lower(dense().graph, BACKEND, CompileOptions())
    assert lowered.module.stage is Stage.LIR
    verify(lowered.module)
    assert lowered.dispatch.ready


class TestSplit:
    def test_what_hangs_on_parameters_only_is_apart(self) -> None:
        split = split_params(dense().graph)
        assert split.prologue is not None
        assert [n.op.name for n in split.prologue.op_nodes] == ["real.transpose"]
        assert [v.name for v in split.main.params] == list(split.prologue.output_names)

    def test_both_parts_compute_what_the_graph_does(self) -> None:
        graph = dense().graph
        split = split_params(graph)
        rng = np.random.default_rng(0)
        x = rng.normal(size=(2, 3)).astype(np.float32)
        w = rng.normal(size=(4, 3)).astype(np.float32)
        assert split.prologue is not None
        derived = dict(
            zip(
                split.prologue.output_names,
                evaluate(split.prologue, {}, {"w": w}),
                strict=True,
            )
        )
        found = evaluate(split.main, {"x": x}, derived)
        np.testing.assert_array_equal(found[0], evaluate(graph, {"x": x}, {"w": w})[0])

    def test_a_graph_without_such_nodes_is_left(self) -> None:
        graph = rlx.trace("g", lambda x: x + 1.0, f32(3)).graph
        split = split_params(graph)
        assert split.prologue is None
        assert split.main is graph

    def test_an_output_may_depend_on_parameters_only(self) -> None:
        graph = rlx.Graph("g")
        w = graph.param("w", (3,))
        graph.output(graph.input("x", (3,)) + w, w.exp(), w, names=["a", "b", "c"])
        compiled = Session().compile(graph)
        compiled.set_param("w", np.zeros(3))
        a, b, c = compiled.run({"x": np.ones(3)})
        assert (a.tolist(), b.tolist(), c.tolist()) == ([1.0] * 3, [1.0] * 3, [0.0] * 3)

    def test_names_of_parameters_stay_apart(self) -> None:
        graph = rlx.Graph("g")
        w = graph.param("w", (3,))
        taken = graph.param("real.exp.3.0", (3,))
        graph.output(graph.input("x", (3,)) + w.exp() + taken, names=["y"])
        compiled = Session().compile(graph)
        compiled.set_params({"w": np.zeros(3), "real.exp.3.0": np.full(3, 5.0)})
        assert compiled.run({"x": np.ones(3)})[0].tolist() == [7.0] * 3


def test_parameters_may_be_set_again() -> None:
    compiled = Session().compile(dense())
    x = np.ones((2, 3), np.float32)
    for scale in (0.0, 1.0):
        w = scale * np.arange(12, dtype=np.float32).reshape(4, 3)
        compiled.set_param("w", w)
        wanted = evaluate(dense().graph, {"x": x}, {"w": w})[0]
        np.testing.assert_array_max_ulp(compiled.run({"x": x})[0], wanted, 4)


def test_a_precision_policy_narrows_types() -> None:
    policy = PrecisionPolicy.named("bf16")
    lowered = lower(dense().graph, BACKEND, CompileOptions(precision=policy))
    assert lowered.precision is not None
    types = {t.dtype.value for n in lowered.module.graph.op_nodes for t in n.types}
    assert "bf16" in types
    compiled = Session("cpu", CompileOptions(precision=policy)).compile(dense())
    compiled.set_param("w", np.ones((4, 3)))
    (y,) = compiled.run({"x": np.ones((2, 3))})
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, 0.25)
    assert compiled.precision == lowered.precision
    assert Session("cpu").compile(dense()).precision is None


class TestDump:
    def test_each_step_is_written(self, tmp_path: Path) -> None:
        Session("cpu", CompileOptions(dump=tmp_path / "stages")).compile(dense())
        names = sorted(read_manifest(tmp_path / "stages").files)
        assert names[0] == "00-given.txt"
        assert names[1] == "01-fit.txt"
        assert names[-1].endswith("-plan.txt")
        assert "nn.softmax" in (tmp_path / "stages" / names[0]).read_text()
        assert "nn.softmax" not in (tmp_path / "stages" / names[1]).read_text()
        assert "arena of" in (tmp_path / "stages" / names[-1]).read_text()

    def test_each_size_has_a_folder(self, tmp_path: Path) -> None:
        graph = rlx.trace("g", lambda x: x + 1.0, f32(rlx.Dim("../n")))
        compiled = Session("cpu", CompileOptions(dump=tmp_path)).compile(graph)
        compiled.run({"x": np.zeros(3)})
        (folder,) = tmp_path.iterdir()
        assert folder.is_dir()
        assert folder.name.endswith("n-3")

    def test_a_folder_that_cannot_be_made_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with raises(OutputError):
            Session("cpu", CompileOptions(dump=tmp_path / "file" / "x")).compile(dense())
