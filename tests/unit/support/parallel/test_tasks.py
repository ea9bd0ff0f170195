"""Tasks in this process and on executors of the caller."""

from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

from rlx.support.errors import UsageError, WorkerError
from rlx.support.parallel import IN_PROCESS, Task, tasks
from rlx.support.parallel.tasks import OnExecutor
from rlx.support.steps import Steps, advance, reporting
from support.messages import raises
from support.tasks import end_always, refused, squared


def named(arguments):
    return [Task(f"number {argument}", argument) for argument in arguments]


def test_results_are_in_order():
    finished = []
    assert IN_PROCESS.results(squared, named([3, 1, 2]), finished.append) == [9, 1, 4]
    assert finished == [0, 1, 2]


class Counts(Steps):
    def __init__(self):
        self.seen = []

    def count(self, completed, total):
        self.seen.append((completed, total))


def test_a_single_task_reports_its_own_progress():
    for arguments, seen in (([5], [(5, 9)]), ([5, 6], [])):
        steps = Counts()
        with reporting(steps):
            IN_PROCESS.results(lambda number: advance(number, 9), named(arguments))
        assert steps.seen == seen


def test_an_executor_of_the_caller_stays_open():
    finished = []
    with ThreadPoolExecutor(2) as executor:
        pool = OnExecutor(executor)
        assert pool.results(squared, named(range(9)), finished.append) == [n * n for n in range(9)]
        assert pool.results(squared, named([7])) == [49]
    assert sorted(finished) == list(range(9))


def test_the_first_error_in_order_is_raised():
    with ThreadPoolExecutor(4) as executor, raises(UsageError):
        OnExecutor(executor).results(refused, named([0, 2, 5, 7, 9]))


def test_a_pool_of_the_caller_that_broke_is_reported():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        pool = OnExecutor(executor)
        with raises(WorkerError):
            pool.results(end_always, named([3]))
        with raises(WorkerError):
            pool.results(squared, named([2]))


class Elsewhere:
    """Executor whose workers have another version of rlx."""

    def submit(self, function, argument):
        future = Future()
        try:
            future.set_result(function(replace(argument, version="0.0")))
        except UsageError as error:
            future.set_exception(error)
        return future


def test_workers_have_the_same_rlx(monkeypatch):
    monkeypatch.setattr(tasks, "__version__", "1.2")
    with raises(UsageError):
        OnExecutor(Elsewhere()).results(squared, named([2]))


@pytest.mark.parametrize("failing", [False, True])
def test_nothing_is_left_running(failing):
    with ThreadPoolExecutor(1) as executor:
        if failing:
            with raises(UsageError):
                OnExecutor(executor).results(refused, named(range(50)))
        else:
            OnExecutor(executor).results(squared, named(range(50)))
        assert executor._work_queue.qsize() == 0
