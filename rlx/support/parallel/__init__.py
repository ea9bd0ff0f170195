"""Independent tasks on several processes or machines, through ``concurrent.futures.Executor``."""

from rlx.support.parallel.choice import ExecutorLike, workers
from rlx.support.parallel.tasks import IN_PROCESS, Task, Workers

__all__ = ["IN_PROCESS", "ExecutorLike", "Task", "Workers", "workers"]
