"""The list of malformed files that was written by hand: every one is refused, and helpfully."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING

from campaign.part import Outcome, Part
from campaign.refusals import outcome, read

if TYPE_CHECKING:
    from collections.abc import Callable

LISTS = ("bytes", "graph", "operators", "unsupported", "limits")


def _cases() -> dict[str, Callable[[], bytes]]:
    """Return the files of the tests' tables by name."""
    found = {}
    for name in LISTS:
        module = importlib.import_module(f"unit.frontends.test_tflite_{name}")
        found |= {f"{name}: {k}": row[0] for k, row in getattr(module, "CASES", {}).items()}
    return found


CASES = _cases()


def run(number: int) -> Outcome:
    """Import a malformed file."""
    name, make = list(CASES.items())[number]
    found = outcome(partial(read, make(), "model.tflite"))
    problem = "is accepted" if found.result == "accepted" else found.finding
    return Outcome(found.result, f"{name}: {problem}" if problem else "")


MALFORMED_LIST = Part(
    name="malformed",
    title="malformed list, written by hand",
    goal="all refused with code, place and remedy",
    run=run,
    cases=len(CASES),
    short=len(CASES),
    cpu_s=1.0,
    memory_mb=512,
)
