"""Run one case and measure what it took."""

from __future__ import annotations

import gc
import resource
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.part import Outcome

if TYPE_CHECKING:
    from campaign.part import Part

_STATUS = Path("/proc/self/status")
_CLEAR_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of a numbered case with its costs.

    Attributes:
        number: Number of the case.
        result: See :class:`campaign.part.Outcome`.
        finding: Likewise; empty if nothing is wrong.
        amounts: Likewise.
        cpu_s: Processor seconds, those of ended children included.
        memory_mb: Megabytes by which the peak of the process rose over what it held before.
    """

    number: int
    result: str
    finding: str
    amounts: dict[str, int]
    cpu_s: float = 0.0
    memory_mb: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def measured(part: Part, number: int) -> Record:
    """Run a case; one over a limit is run again, since other programs disturb the figures."""
    if part.prepare_case is not None:
        part.prepare_case(number)
    record = _measured_once(part, number)
    if _over(part, record):
        record = _measured_once(part, number)
    problem = _over(part, record)
    if problem and not record.finding:
        return Record(
            number, "over a limit", problem, record.amounts, record.cpu_s, record.memory_mb
        )
    return record


def _measured_once(part: Part, number: int) -> Record:
    gc.collect()
    before, held = _cpu_s(), _reset_peak()
    outcome = _outcome(part, number)
    return Record(
        number,
        outcome.result,
        outcome.finding,
        dict(outcome.amounts),
        round(_cpu_s() - before, 3),
        round(max(0.0, _memory("VmHWM") - held), 1),
    )


def _outcome(part: Part, number: int) -> Outcome:
    try:
        return part.run(number)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:300]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return Outcome("traceback", f"{type(error).__name__} at {where}: {text}")


def _over(part: Part, record: Record) -> str:
    """Return the limit of the part that was passed, in words, or nothing."""
    if part.cpu_s is not None and record.cpu_s > part.cpu_s:
        return f"took {record.cpu_s:.1f} s of processor time, the limit is {part.cpu_s:g}"
    if part.memory_mb is not None and record.memory_mb > part.memory_mb:
        return f"took {record.memory_mb:.0f} MB, the limit is {part.memory_mb}"
    return ""


def _cpu_s() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _reset_peak() -> float:
    """Forget the peak of the memory held so far, and return the megabytes held now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK, encoding="ascii")
    return _memory("VmRSS")


def _memory(field: str) -> float:
    """Return a field of the process's status in megabytes; 0 where there is no /proc."""
    if not _STATUS.exists():
        return 0.0
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0
