"""An upper bound on a model's stack: frames along the worst chain of calls.

GCC reports the frames of the functions that it compiles (``-fcallgraph-info=su``). Those of its own
library (64-bit division, memory copies) are read from the linked program's disassembly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rlx_sim.firmware.disassembly import Disassembly

_NODE: Final = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
_EDGE: Final = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
_USAGE: Final = re.compile(r"\\n(\d+) bytes \(([a-z,]+)\)")


@dataclass(frozen=True, slots=True)
class StackBound:
    """An upper bound on the stack of calls between the model's functions.

    Attributes:
        bytes: Sum of frames along the worst path.
        path: Functions on that path, the entry point first.
        unknown: Functions on any path whose frame is unknown and not in the sum.
    """

    bytes: int
    path: tuple[str, ...]
    unknown: tuple[str, ...]


def stack_bound(
    call_graphs: Iterable[Path],
    disassembly: Disassembly | None = None,
    test_graphs: Iterable[Path] = (),
) -> StackBound | None:
    """Return the worst path through the call graphs of GCC's ``-fcallgraph-info=su``, or None.

    Args:
        call_graphs: The ``.ci`` files; the result is None without any.
        disassembly: The linked program, for functions that no file covers.
        test_graphs: The ``.ci`` files of the rest of the program. Its functions that the model
            calls, such as hooks, belong to the caller and are not in the sum.

    Raises:
        SimulationError: There is recursion, or the size of a frame is not fixed.
    """
    frames: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    for path in call_graphs:
        text = path.read_text(encoding="utf-8")
        frames |= _frames(text)
        for caller, callee in _EDGE.findall(text):
            calls.setdefault(_function(caller), []).append(_function(callee))
    if not frames:
        return None
    if disassembly is not None:
        test_functions = {
            name for path in test_graphs for name in _frames(path.read_text(encoding="utf-8"))
        }
        _add_library(disassembly, frames, calls, test_functions)
    depths = _depths(frames, calls)
    worst = max(depths, key=lambda name: depths[name][0])
    called = {callee for callees in calls.values() for callee in callees}
    path_names = depths[worst][1]
    return StackBound(depths[worst][0], path_names, tuple(sorted(called - frames.keys())))


def _add_library(
    disassembly: Disassembly,
    frames: dict[str, int],
    calls: dict[str, list[str]],
    test_functions: set[str],
) -> None:
    """Add functions that are called but were compiled elsewhere, and their callees."""
    names: dict[int, str] = {}
    for name, address in sorted(disassembly.addresses.items(), reverse=True):
        names[address] = name if name not in frames else names.get(address, name)
    waiting = (
        {callee for callees in calls.values() for callee in callees}
        - frames.keys()
        - test_functions
    )
    while waiting:
        name = waiting.pop()
        function = disassembly.functions.get(disassembly.addresses.get(name, -1))
        if function is None or function.frame is None:
            continue
        frames[name] = function.frame
        below = [names[address] for address in function.calls if address in names]
        calls[name] = sorted(set(below) - {name})
        waiting |= set(below) - frames.keys() - test_functions


def _frames(text: str) -> dict[str, int]:
    frames = {}
    for title, label in _NODE.findall(text):
        usage = _USAGE.search(label)
        if usage is None:
            continue
        if usage[2] == "dynamic":
            raise SimulationError(
                f"the stack of {_function(title)} has no fixed size", where="emitted C"
            )
        frames[_function(title)] = int(usage[1])
    return frames


def _depths(
    frames: Mapping[str, int], calls: Mapping[str, list[str]]
) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return for each function the bytes and path of the worst chain of calls from it."""
    depths: dict[str, tuple[int, tuple[str, ...]]] = {}

    def visit(name: str, above: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        if name in above:
            raise SimulationError(f"{name} calls itself, directly or not", where="emitted C")
        if name not in depths:
            below = [visit(callee, (*above, name)) for callee in calls.get(name, ())]
            deepest = max(below, default=(0, ()))
            depths[name] = (frames.get(name, 0) + deepest[0], (name, *deepest[1]))
        return depths[name]

    for name in frames:
        visit(name, ())
    return depths


def _function(title: str) -> str:
    """Return a function's name; GCC puts the file before that of a static one."""
    return title.rsplit(":", 1)[-1]
