"""Differences between simulations and the reference as text: mismatch line for each simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.inspect import printable
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def mismatch_lines(mismatches: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the differences of each simulator, in their order.

    Args:
        mismatches: As in ``rlx verify --json``: the first wrong element of each wrong frame, or
            the result of a bench that compares outputs itself.
    """
    by_simulator: dict[object, list[Mapping[str, Any]]] = {}
    lines = []
    for mismatch in mismatches:
        if "element" in mismatch:
            by_simulator.setdefault(mismatch.get("simulator"), []).append(mismatch)
        else:
            lines.append(", ".join(f"{key} {value}" for key, value in mismatch.items()))
    return [_summary(str(name), wrong) for name, wrong in by_simulator.items()] + lines


def _summary(simulator: str, wrong: list[Mapping[str, Any]]) -> str:
    """Return the size of the differences of a simulator, and the first of them."""
    first = wrong[0]
    output = repr(printable(first["name"])) if first.get("name") else first["output"]
    elements = sum(mismatch.get("elements", 1) for mismatch in wrong)
    return (
        f"{simulator} differs: {counted(elements, 'element')} in {counted(len(wrong), 'frame')};"
        f" the first: frame {first['frame']}, output {output}, element {first['element']},"
        f" expected {first['expected']}, got {first['actual']}"
    )
