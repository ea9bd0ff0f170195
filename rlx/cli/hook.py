"""``python -m rlx.cli.hook``: compile models, run them, check limits; for pre-commit.

Prints nothing but what failed. A model without a table in the budget file has no limits to keep.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import sys
import tomllib
from pathlib import Path

from rlx.cli import main as rlx
from rlx.support.files.outputs import read_manifest
from rlx.support.files.scratch import work_folder


def main(argv: list[str] | None = None) -> int:
    """Check the models that ``argv`` names; return 0, or the first status that was not 0."""
    options = _parser().parse_args(argv)
    statuses = [_check(model, options) for model in options.models]
    return next((status for status in statuses if status), 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rlx.cli.hook", description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--target", default="cortexm", help="default: %(default)s")
    parser.add_argument("--budget", type=Path, help="limits, as rlx.toml")
    parser.add_argument("--with", dest="tools", metavar="NAMES", help="simulators of rlx verify")
    parser.add_argument(
        "--require", action="append", default=[], metavar="NAME", help="as of rlx verify"
    )
    parser.add_argument("--emit", default="", metavar="OPTIONS", help="more options of rlx emit")
    return parser


def _check(model: Path, options: argparse.Namespace) -> int:
    """Emit and verify one model; print what rlx printed if that failed."""
    with work_folder("hook") as work:
        folder = work / "emitted" / "out"  # a writer locks the parent, and work is locked by us
        emit = ["emit", str(model), "--target", options.target, "-o", str(folder)]
        status = _run(model, emit + shlex.split(options.emit))
        if status:
            return status
        verify = ["verify", str(folder)]
        if options.tools:
            verify += ["--with", options.tools]
        for name in options.require:
            verify += ["--require", name]
        if options.budget is not None and _has_limits(options.budget, folder):
            verify += ["--budget", str(options.budget)]
        return _run(model, verify)


def _run(model: Path, command: list[str]) -> int:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = rlx(command)
    if status:
        sys.stdout.write(
            f"{printed.getvalue()}{model}: rlx {command[0]} ended with status {status}\n"
        )
    return status


def _has_limits(budget: Path, folder: Path) -> bool:
    """Whether a file has a table for a folder; True if it cannot be read, so that rlx says why."""
    producer = read_manifest(folder).producer
    try:
        tables = tomllib.loads(budget.read_text(encoding="utf-8"))
        return producer.target in tables.get(str(producer.facts.get("prefix")), {})
    except (OSError, ValueError, AttributeError, TypeError):
        return True


if __name__ == "__main__":
    sys.exit(main())
