"""The list of files made by hand (``tests/malformed``): refused with help, or accepted."""

from __future__ import annotations

from functools import partial

from malformed import CASES, Accepted

from campaign.part import Outcome, Part
from campaign.refusals import outcome, read

_NAMES = tuple(CASES)


def _run(number: int) -> Outcome:
    """Import a file of the list."""
    name = _NAMES[number]
    suffix, case = CASES[name]
    found = outcome(partial(read, case.make(), f"model{suffix}"))
    wanted = "accepted" if isinstance(case, Accepted) else "refused"
    finding = found.finding
    if found.result != wanted:
        finding = f"{found.result}, not {wanted}: {finding}"
    return Outcome(found.result, f"{name}: {finding}" if finding else "")


MALFORMED_LIST = Part(
    name="malformed",
    title="malformed list, written by hand",
    goal="250 refused with code, place and remedy, or accepted with the reason",
    run=_run,
    cases=len(CASES),
    short=len(CASES),
    cpu_s=5.0,  # The list has networks of 10,000 operators.
    memory_mb=512,
)
