"""Runs of benchmarks, in one process or several."""

from __future__ import annotations

import importlib
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from benchmarks import stored

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from types import ModuleType

Rows = list[stored.Row]


def measured(modules: dict[str, ModuleType], options: Namespace) -> Iterator[tuple[str, Rows]]:
    """Yield the name and the rows of each benchmark, in the order in which they end."""
    shared = [n for n in modules if options.jobs > 1 and not n.startswith("host/")]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(_imported, modules[n].__name__, n, options): n for n in shared}
        for run in as_completed(runs):
            yield runs[run], run.result()
    for name in [n for n in modules if n not in shared]:
        yield name, _measure(modules[name], name, options)


def _imported(module: str, name: str, options: Namespace) -> Rows:
    """Run a benchmark in this worker process, which imports the module by its name."""
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
