"""Runs that are submitted, and runs of several sets of inputs."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import numpy as np

import rlx
from rlx.ir import f32
from rlx.runtime import CompiledGraph, CompileOptions, Session
from support.messages import raises


def logarithm(**options: bool) -> CompiledGraph:
    graph = rlx.trace("log", lambda x: (x - 1.0).log(), f32(2))
    return Session().compile(graph, CompileOptions(**options))


def counter() -> CompiledGraph:
    graph = rlx.Graph("counter")
    total = graph.state("total", (1,))
    graph.set_state(total, total + graph.input("x", (1,)))
    graph.output(total * 1.0, names=["before"])
    return Session().compile(graph)


def workers() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("rlx")]


class TestSubmit:
    def test_gives_what_run_gives(self) -> None:
        compiled = logarithm()
        pending = compiled.submit({"x": [2, 3]})
        np.testing.assert_array_equal(pending.wait()[0], compiled.run({"x": [2, 3]})[0])
        assert pending.done
        assert repr(pending) == "<Pending: done>"
        assert pending.wait(0.1)[0] is pending.wait()[0]

    def test_runs_in_order(self) -> None:
        compiled = counter()
        pending = [compiled.submit({"x": [i]}) for i in range(50)]
        compiled.sync()
        assert all(p.done for p in pending)
        assert compiled.read_state("total").tolist() == [float(sum(range(50)))]
        befores = [p.wait()[compiled.output_names.index("before")][0] for p in pending]
        assert befores == [float(sum(range(i))) for i in range(50)]

    def test_takes_a_copy_of_the_inputs(self) -> None:
        compiled = logarithm()
        x = np.array([2, 3], np.float32)
        with compiled._lock:  # the run cannot begin
            pending = compiled.submit({"x": x})
            x[:] = 1
            assert not pending.done
            assert repr(pending) == "<Pending: not done>"
            with raises(TimeoutError):
                pending.wait(0.01)
        np.testing.assert_array_equal(pending.wait()[0], np.log(np.array([1, 2], np.float32)))

    def test_refuses_at_once_what_does_not_fit(self) -> None:
        compiled = logarithm()
        with raises(ValueError):
            compiled.submit({"x": [1, 2], "y": [1]})
        with raises(TypeError):
            compiled.submit({"x": ["a"]})
        assert compiled._submissions._last is None

    def test_raises_in_wait_what_happens_in_the_run(self) -> None:
        compiled = logarithm(check_finite=True, fusion=None)
        good, bad = compiled.submit({"x": [2, 3]}), compiled.submit({"x": [2, 1]})
        for _ in range(2):
            with raises(FloatingPointError):
                bad.wait()
        assert good.wait()[0].shape == (2,)
        compiled.sync()

    def test_raises_in_sync_what_nobody_waited_for(self) -> None:
        compiled = logarithm(check_finite=True, fusion=None)
        compiled.submit({"x": [2, 1]})
        last = compiled.submit({"x": [2, 3]})
        with raises(FloatingPointError):
            compiled.sync()
        assert last.done
        compiled.sync()

    def test_a_wrong_shape_is_an_error_of_the_run(self) -> None:
        pending = logarithm().submit({"x": [1, 2, 3]})
        with raises(ValueError):
            pending.wait()

    def test_leaves_no_thread_behind(self) -> None:
        others = workers()
        compiled = logarithm()
        compiled.submit({"x": [2, 3]}).wait()
        (thread,) = (t for t in workers() if t not in others)
        clone = compiled.clone()
        clone.run({"x": [2, 3]})
        assert not [t for t in workers() if t not in (*others, thread)]
        del compiled, clone
        gc.collect()
        thread.join(10)
        assert not thread.is_alive()

    def test_ends_with_the_interpreter(self) -> None:
        program = (
            "import rlx\n"
            "compiled = rlx.Session().compile(rlx.trace('g', lambda x: x + 1.0, rlx.f32(2)))\n"
            "run = compiled._execute\n"
            "compiled._execute = lambda *given: [print(len(given)), *run(*given)][1:]\n"
            "for _ in range(3):\n"
            "    compiled.submit({'x': [1, 2]})\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert result.stdout.split() == ["2", "2", "2"]
        assert not result.stderr


class TestPipelined:
    def test_gives_the_outputs_of_every_set(self) -> None:
        compiled = logarithm()
        sets = [{"x": [i + 2, i + 3]} for i in range(5)]
        found = compiled.run_pipelined(iter(sets))
        for inputs, outputs in zip(sets, found, strict=True):
            np.testing.assert_array_equal(outputs[0], compiled.run(inputs)[0])
        assert compiled.run_pipelined([]) == []

    def test_keeps_states_from_set_to_set(self) -> None:
        compiled = counter()
        place = compiled.output_names.index("before")
        found = compiled.run_pipelined({"x": [i]} for i in (1, 2, 3))
        assert [outputs[place][0] for outputs in found] == [0.0, 1.0, 3.0]

    def test_stops_at_the_first_error(self) -> None:
        compiled = counter()
        with raises(ValueError):
            compiled.run_pipelined([{"x": [1]}, {"x": [1, 2]}, {"x": [4]}])
        assert compiled.read_state("total").tolist() == [1.0]


class TestThreads:
    def test_eight_on_one_object(self) -> None:
        """Runs do not mix: each thread gets the results of its own inputs."""
        compiled = Session().compile(
            rlx.trace("g", lambda x: ((x * 2.0).exp().sum(-1), x + 1.0), f32(16, 64))
        )
        wrong: list[int] = []

        def work(number: int) -> None:
            random = np.random.default_rng(number)
            for _ in range(40):
                x = random.standard_normal((16, 64)).astype(np.float32)
                total, plus = compiled.run({"x": x})
                close = np.allclose(total, np.exp(x * 2).sum(-1), rtol=1e-5)
                if not close or not np.array_equal(plus, x + 1):
                    wrong.append(number)

        run_threads(8, work)
        assert not wrong

    def test_every_run_updates_the_states_whole(self) -> None:
        compiled = counter()
        run_threads(8, lambda _: [compiled.run({"x": [1]}) for _ in range(50)])
        assert compiled.read_state("total").tolist() == [400.0]

    def test_clones_do_not_meet(self) -> None:
        compiled = counter()
        totals: dict[int, float] = {}

        def work(number: int) -> None:
            mine = compiled.clone()
            x = np.full(1, number, np.float32)
            for step in range(50):
                outputs = mine.run_slots(x)
                time.sleep(0)
                # The view is that of this thread's own run.
                assert outputs[mine.output_names.index("before")][0] == number * step
            totals[number] = float(mine.read_state("total")[0])

        run_threads(8, work)
        assert totals == {number: 50.0 * number for number in range(8)}
        assert compiled.read_state("total").tolist() == [0.0]


def run_threads(count: int, work) -> None:
    """Run ``work(number)`` in threads at once, and raise what one of them raises."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
