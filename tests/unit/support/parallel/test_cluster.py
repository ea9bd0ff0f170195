"""Workers of ``dask.distributed``: here a cluster of two processes."""

import builtins
from pathlib import Path

import pytest

from rlx.support.errors import ToolMissingError, UsageError, WorkerError
from rlx.support.parallel import Task, workers
from support.dask import cluster
from support.messages import raises
from support.tasks import end_always, end_once, process_id, refused, squared

pytestmark = [pytest.mark.slow, pytest.mark.complete]


def named(arguments):
    return [Task(f"number {argument}", argument) for argument in arguments]


@pytest.fixture(scope="module")
def address():
    with cluster(2) as address:
        yield address


def test_results_are_in_order(address):
    finished = []
    with workers(f"dask:{address}") as pool:
        assert pool.results(squared, named(range(20)), finished.append) == [
            n * n for n in range(20)
        ]
        assert len(set(pool.results(process_id, named(range(8))))) == 2
    assert sorted(finished) == list(range(20))


def test_the_first_error_in_order_is_raised(address):
    with raises(UsageError), workers(f"dask:{address}") as pool:
        pool.results(refused, named([0, 2, 5, 7, 9, 4]))


def test_a_task_that_lost_its_worker_is_run_again(address, tmp_path):
    (tmp_path / "1").touch()
    tasks = [Task(f"number {n}", (n, str(tmp_path))) for n in range(4)]
    with workers(f"dask:{address}") as pool:
        assert pool.results(end_once, tasks) == list(range(4))
    assert not Path(tmp_path, "1").exists()


def test_a_task_that_ends_its_workers_is_reported(address):
    with workers(f"dask:{address}") as pool:
        with raises(WorkerError):
            pool.results(end_always, named([3]))
        assert pool.results(squared, named([5])) == [25]


def test_an_address_without_a_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr("rlx.support.parallel.cluster._TIMEOUT_S", 0.5)
    with raises(UsageError), workers("dask:tcp://127.0.0.1:1"):
        pass


def test_the_package_is_needed(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("distributed"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with raises(ToolMissingError), workers("dask:tcp://127.0.0.1:1"):
        pass
