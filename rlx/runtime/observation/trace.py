"""Traces in the format of chrome://tracing, which Perfetto reads too.

Source: "Trace Event Format", the JSON object form with complete events (``ph`` X).

Tests: tests/unit/runtime/observation/test_profile.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx.ir.layer_names import origins_of
from rlx.support.files.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rlx.runtime.observation.profile import Profile, Timed


def write_trace(path: str | Path, profiles: Iterable[Profile]) -> None:
    """Write profiles, such as those of several threads, as one trace.

    Raises:
        OutputError: The file cannot be written.
    """
    text = json.dumps(trace_of(profiles), separators=(",", ":"), allow_nan=False)
    write_file(Path(path), text.encode())


def trace_of(profiles: Iterable[Profile]) -> dict[str, Any]:
    """Return profiles as the object that a trace file holds.

    Every run is an event that encloses those of its nodes; ``ts`` and ``dur`` are microseconds, and
    each thread has its own ``tid``.
    """
    events: list[dict[str, Any]] = []
    named: set[tuple[int, int]] = set()
    for profile in profiles:
        tid, thread = profile.thread
        if (profile.process, tid) not in named:
            named.add((profile.process, tid))
            events += _names(profile.process, tid, thread)
        events += _events(profile)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _names(pid: int, tid: int, thread: str) -> Iterator[dict[str, Any]]:
    """Yield the events that name a process and a thread."""
    for kind, name in (("process_name", "rlx"), ("thread_name", thread)):
        yield {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _events(profile: Profile) -> Iterator[dict[str, Any]]:
    common = {"ph": "X", "pid": profile.process, "tid": profile.thread[0]}
    works = {n.node: n.work for n in profile.nodes}
    names = {n.node: n.layer for n in profile.nodes}
    for number, run in enumerate(profile.runs):
        times = _times(run.begin_ns, run.end_ns)
        args: dict[str, Any] = {"run": number, "where": profile.where}
        yield {**common, "cat": "run", "name": profile.name, **times, "args": args}
        for step in run.steps:
            args = _describe_step(step, names[step.node])
            if (work := works[step.node]) is not None:
                args |= {"macs": work.macs, "flops": work.flops, "bytes": work.nbytes}
            label = f"{step.node.op.name} {names[step.node]}"
            times = _times(step.begin_ns, step.end_ns)
            yield {**common, "cat": "node", "name": label, **times, "args": args}


def _times(begin_ns: int, end_ns: int) -> dict[str, float]:
    return {"ts": begin_ns / 1000, "dur": (end_ns - begin_ns) / 1000}


def _describe_step(step: Timed, name: str) -> dict[str, Any]:
    """Return the details that a viewer shows of a selected event."""
    node = step.node
    return {
        "node": f"%{node.index}",
        "op": node.op.name,
        "name": name,
        "origin": str(node.origin),
        "origins": list(origins_of(node)),
        "operands": [str(o.type) for o in node.operands],
        "results": [str(t) for t in node.types],
    }
