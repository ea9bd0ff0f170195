"""Runs of benchmarks, in one process or several."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from benchmarks import stored
from rlx.support.parallel import Task, workers

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from types import ModuleType

Rows = list[stored.Row]


def measured(modules: dict[str, ModuleType], options: Namespace) -> Iterator[tuple[str, Rows]]:
    """Yield the name and the rows of each benchmark; those of the host come last, one at a time."""
    shared = [n for n in modules if options.executor is not None and not n.startswith("host/")]
    tasks = [Task(n, (modules[n].__name__, n, options)) for n in shared]
    with workers(options.executor) as pool:
        yield from zip(shared, pool.results(_imported, tasks), strict=True)
    for name in [n for n in modules if n not in shared]:
        yield name, _measure(modules[name], name, options)


def _imported(argument: tuple[str, str, Namespace]) -> Rows:
    """Run a benchmark on a worker, which imports the module by its name."""
    module, name, options = argument
    return _measure(importlib.import_module(module), name, options)


def _measure(module: Any, name: str, options: Namespace) -> Rows:  # noqa: ANN401 - a module
    """Run a benchmark; print each of its rows, and store it if asked to."""
    thorough = options.thorough and hasattr(module, "measure_thoroughly")
    rows = []
    for row in module.measure_thoroughly() if thorough else module.measure():
        # One write for each line, as other processes print too.
        print(json.dumps({"benchmark": name, **row}) + "\n", end="", flush=True)
        rows.append(row)
        if options.update:
            stored.write(module.STORED, [row], module.KEY)
    return rows
