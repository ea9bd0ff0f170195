"""Run all benchmarks, or those whose name holds one of the arguments: ``python -m benchmarks``."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys

import benchmarks


def main(wanted: list[str]) -> None:
    """Print a JSON object for each measurement."""
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        name = module.name.removeprefix("benchmarks.").replace(".", "/").replace("_", "-")
        if module.ispkg or name == "--main--" or not any(w in name for w in wanted or [""]):
            continue
        for row in importlib.import_module(module.name).measure():
            print(json.dumps({"benchmark": name, **row}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
