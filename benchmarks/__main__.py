"""Run all benchmarks, or those whose name contains one of the arguments: ``python -m benchmarks``.

``--check`` fails if a stored cost grew by more than one percent; ``--update`` stores the results
and regenerates the pages of the documentation. Both run only benchmarks whose results are stored.
``--thorough`` includes measurements that take hours. ``--executor`` is the number of processes;
benchmarks of time (``benchmarks.host``) run one at a time, after all others.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from typing import TYPE_CHECKING

import benchmarks
from benchmarks import stored
from benchmarks.runs import measured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def main(arguments: list[str]) -> int:
    """Print a JSON object for each measurement; return 1 if a check fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare with stored results")
    mode.add_argument("--update", action="store_true", help="store the results")
    parser.add_argument("--thorough", action="store_true", help="include slow measurements")
    parser.add_argument("--executor", metavar="N", help="processes (default: this one)")
    options = parser.parse_args(arguments)
    modules = {
        name: module
        for name, module in _modules(options.names)
        if hasattr(module, "STORED") or not (options.check or options.update)
    }
    problems = []
    for name, rows in measured(modules, options):
        if options.check:
            problems += _check(modules[name], rows)
    if options.update:
        _render()
    for problem in problems:
        print(f"grown: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _modules(names: list[str]) -> Iterator[tuple[str, ModuleType]]:
    for entry in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        name = entry.name.removeprefix("benchmarks.").replace(".", "/").replace("_", "-")
        if entry.ispkg or name == "--main--" or not any(part in name for part in names or [""]):
            continue
        module = importlib.import_module(entry.name)
        if hasattr(module, "measure"):
            yield name, module


def _check(module: ModuleType, rows: list[stored.Row]) -> list[str]:
    before = stored.read(module.STORED)
    for what in stored.unmatched(rows, before, module.KEY):
        print(f"note: no stored result for {what}", file=sys.stderr)
    for what in stored.elsewhere(rows, before, module.KEY):
        print(f"note: {what}", file=sys.stderr)
    return stored.grown_costs(rows, before, module.KEY, module.COSTS)


def _render() -> None:
    from benchmarks.accuracy import table as accuracy
    from benchmarks.cortexm import cores, cycles
    from benchmarks.cortexm import table as cortexm
    from benchmarks.fpga import table as fpga
    from benchmarks.host import table as host

    tables = (accuracy, cortexm, cores, cycles, fpga, host)
    pages = {path: text for table in tables for path, text in table.files().items()}
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
