"""Compilations that sessions share: what is equal is compiled once, and nothing else is shared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

import rlx
from rlx.ir import Refusal
from rlx.runtime import COMPILATIONS, CompileOptions, Session, backend
from rlx.runtime.checking import Comparison
from rlx.runtime.compilations import Compilations
from rlx.runtime.numpy_backend import BACKEND, NumpyBackend, NumpyProgram
from rlx.support.errors import UnsupportedOpError
from support.messages import raises

X = np.ones((1, 2), np.float32)


def scaled(factor: float = 2.0, *, value: float | None = None, name: str = "x") -> rlx.Graph:
    graph = rlx.Graph("scaled")
    x = graph.input(name, (1, 2))
    if value is None:
        graph.output(x * factor, names=["y"])
    else:
        graph.output(x * graph.param("w", value=np.full((1, 2), value, np.float32)), names=["y"])
    return graph


@pytest.fixture
def counts(monkeypatch):
    """The process's compilations, empty."""
    monkeypatch.setattr(COMPILATIONS, "hits", 0)
    monkeypatch.setattr(COMPILATIONS, "misses", 0)
    COMPILATIONS.clear()
    return COMPILATIONS


@dataclass
class Counting(NumpyBackend):
    """A backend whose programs share their code; it counts both."""

    name = "counting"
    prepared: int = 0
    programs: list[NumpyProgram] = field(default_factory=list)

    def prepare(self, module, options):
        self.prepared += 1
        return partial(self._program, module, options)

    def _program(self, module, options):
        self.programs.append(NumpyProgram(module, options))
        return self.programs[-1]


@pytest.fixture
def counting(monkeypatch):
    made = Counting()
    monkeypatch.setattr(backend, "backends", lambda: (made, BACKEND))
    return made


def test_sessions_share_the_compilation_of_equal_graphs(counts):
    compiled = [Session().compile(graph) for graph in (scaled(), scaled().graph, scaled().module)]
    assert (counts.hits, counts.misses, len(counts)) == (2, 1, 1)
    assert len({id(one) for one in compiled}) == 3
    assert [one.run({"x": X})[0].tolist() for one in compiled] == [[[2, 2]]] * 3
    counts.clear()
    Session().compile(scaled())
    assert counts.misses == 2
    assert compiled[0].run({"x": X})[0].tolist() == [[2, 2]]


def test_code_is_prepared_once_and_programs_are_apart(counting):
    first, second = (Session().compile(scaled(value=2.0)) for _ in range(2))
    second.set_param("w", np.full((1, 2), 5))
    assert [one.run({"x": X})[0].tolist() for one in (first, second)] == [[[2, 2]], [[5, 5]]]
    (view,) = first.run_slots(X)
    second.run_slots(3 * X)
    assert view.tolist() == [[2, 2]]
    assert (counting.prepared, len(counting.programs)) == (1, 2)
    copy = first.clone()
    assert (counting.prepared, len(counting.programs)) == (1, 3)
    assert copy.run({"x": X})[0].tolist() == [[2, 2]]


def test_compiled_code_is_compared_with_numpy_once(counting, monkeypatch):
    compared = []

    def compare(program, *_):
        compared.append(program)
        return Comparison(1, 0.0)

    monkeypatch.setattr(rlx.runtime.loaded, "checked", compare)
    monkeypatch.setattr(Counting, "compiler", lambda _: "cc 1", raising=False)
    for _ in range(3):
        assert Session().compile(scaled()).run({"x": X})[0].tolist() == [[2, 2]]
    assert compared == counting.programs[:1]


def test_states_are_not_shared(counts):
    def counter() -> rlx.Graph:
        graph = rlx.Graph("counter")
        total = graph.state("total", (1,))
        graph.set_state(total, total + 1.0)
        graph.output(total * 1.0, names=["before"])
        return graph

    first, second = (Session().compile(counter()) for _ in range(2))
    assert counts.hits == 1
    assert [first.run(outputs=["before"])[0].item() for _ in range(3)] == [0, 1, 2]
    assert second.run(outputs=["before"])[0].item() == 0


def test_different_graphs_and_options_are_compiled(counts):
    session = Session()
    made = [
        session.compile(scaled()),
        session.compile(scaled(3.0)),
        session.compile(scaled(name="z")),
        session.compile(scaled(), CompileOptions(check_finite=True)),
        session.compile(scaled(), CompileOptions(precision="bf16")),
        session.compile(rlx.bind(scaled().graph, {})),
    ]
    assert (counts.misses, counts.hits) == (5, 1)
    assert [one(X)[0][0, 0] for one in made] == [2, 3, 2, 2, 2, 2]


def test_each_set_of_sizes_is_a_compilation(counts):
    def doubled() -> rlx.Graph:
        return rlx.trace("doubled", lambda x: x * 2.0, rlx.f32(rlx.Dim("n")))

    first, second = (Session().compile(doubled()) for _ in range(2))
    assert counts.misses == 0
    for compiled in (first, second):
        for size in (3, 4):
            assert compiled.run({"x": np.ones(size)})[0].tolist() == [2] * size
    assert (counts.misses, counts.hits) == (2, 2)


def test_a_graph_that_grows_later_changes_nothing(counts):
    for options in (CompileOptions(), CompileOptions(simplify=False, fusion=None)):
        grown = scaled()
        Session(options=options).compile(grown)
        grown.output(grown.input("more", (1, 2)) + 1.0)
        compiled = Session(options=options).compile(scaled())
        assert len(compiled.run({"x": X})) == 1
        assert len(Session(options=options).compile(grown).run({"x": X, "more": X})) == 2
    assert (counts.misses, counts.hits) == (4, 2)


def test_the_number_of_compilations_is_a_setting(counts):
    session = Session()
    with rlx.config.override(compilations=2):
        for factor in (1.0, 2.0, 1.0, 3.0, 1.0):
            session.compile(scaled(factor))
        assert (len(counts), counts.misses, counts.hits) == (2, 3, 2)
        session.compile(scaled(2.0))
        assert counts.misses == 4
    with rlx.config.override(compilations=0):
        session.compile(scaled(2.0))
    assert (counts.misses, counts.hits) == (4, 2)


def test_steps_are_written_although_a_compilation_is_there(counts, tmp_path):
    Session().compile(scaled())
    Session(options=CompileOptions(dump=tmp_path / "stages")).compile(scaled())
    assert any((tmp_path / "stages").iterdir())
    assert (counts.misses, counts.hits) == (1, 0)


def test_failures_are_not_kept(counting, monkeypatch):
    kept = Compilations()
    monkeypatch.setattr(counting, "prepare", lambda *_: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept.get(scaled().graph, counting, CompileOptions())
    assert (len(kept), kept.misses) == (0, 0)


def test_refused_graphs_are_not_kept(counts, monkeypatch):
    monkeypatch.setattr(NumpyBackend, "refusal", lambda _, node: Refusal("not today"))
    for _ in range(2):
        with raises(UnsupportedOpError):
            Session().compile(scaled())
    assert len(counts) == 0


def test_threads_wait_for_one_compilation(counting):
    def work(number: int) -> float:
        (y,) = Session().compile(scaled(float(number % 2 + 1))).run({"x": X})
        return y[0, 0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == [1, 2] * 16
    assert (counting.prepared, len(counting.programs)) == (2, 32)
