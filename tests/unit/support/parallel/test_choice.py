"""Forms of ``--executor`` and ``executor=``."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from rlx.support.errors import UsageError
from rlx.support.parallel import IN_PROCESS, workers
from rlx.support.parallel.pool import ProcessWorkers
from rlx.support.parallel.tasks import OnExecutor
from support.messages import raises


def test_forms():
    with workers(None) as here, workers("2") as two, workers(3) as three:
        assert here is IN_PROCESS
        assert isinstance(two, ProcessWorkers)
        assert isinstance(three, ProcessWorkers)
    with ThreadPoolExecutor(1) as executor, workers(executor) as given:
        assert given == OnExecutor(executor)


@pytest.mark.parametrize("executor", ["0", 0, -1, 513, "two", "ray:here", "", True, 1.5, [1]])
def test_other_forms_are_refused(executor):
    with raises(UsageError), workers(executor):
        pass
