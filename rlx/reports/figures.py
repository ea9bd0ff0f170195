"""Figures of a whole network: predicted, modelled, measured, and the limits they have.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.reports.model import Figure
from rlx.targets.milliseconds import CycleRange, CycleTiming, Milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.reports.collect import FolderMeasurements
    from rlx.support.files.outputs import Manifest

_FIGURES: Final = (
    # name, unit, keys of the prediction, keys of the verification (sums), option that limits it
    ("instructions", "", ("instructions",), ("instructions",), None),
    ("flash", "B", ("constant_bytes", "code_bytes"), ("const_bytes", "text_bytes"), "flash"),
    ("RAM", "B", ("arena_bytes",), ("ram_bytes",), "ram"),
    ("interval", "cycles", ("interval",), ("interval",), None),
    ("latency", "cycles", ("latency",), ("latency",), None),
)
_STACK_POSITION: Final = 3
"""Position of the stack among the figures, after the other kinds of memory."""


def figures_of(
    totals: Mapping[str, Any], measured: FolderMeasurements, manifest: Manifest
) -> tuple[Figure, ...]:
    """Return the figures of a folder that are known, in the order of the report."""
    verified, limits = measured.verification or {}, _limits(manifest)
    figures = [
        Figure(
            name=name,
            unit=unit,
            predicted=sum_of(totals, predictions),
            measured=sum_of(verified, counts),
            limit=limits.get(limit) if limit else None,
        )
        for name, unit, predictions, counts, limit in _FIGURES
    ]
    figures.insert(_STACK_POSITION, _stack(verified))
    figures[1:1] = [_bound(verified), _cycles(totals, measured, manifest)]
    interval = next(one for one in figures if one.name == "interval")
    figures += [
        _clock_figure(totals, measured.build or {}),
        _rate(totals, measured.build, interval),
    ]
    return tuple(one for one in figures if one.best is not None)


def milliseconds_of(
    facts: Mapping[str, Any], totals: Mapping[str, Any], measured: FolderMeasurements
) -> Milliseconds | None:
    """Return the time of modelled cycles, or of instructions, measured or else predicted.

    None without a clock.
    """
    verified = measured.verification or {}
    if "modelled" in verified and "milliseconds" in verified:
        return Milliseconds(**verified["milliseconds"])
    cycles = CycleRange.of(facts)
    counted = verified.get("instructions")
    instructions = totals.get("instructions") if counted is None else counted
    if cycles is None or not isinstance(instructions, int):
        return None
    return cycles.milliseconds(instructions)


def _limits(manifest: Manifest) -> dict[str, int]:
    """Return the smallest limit of each memory: of the options, and of the part."""
    options, part = manifest.producer.options, manifest.producer.facts.get("part", {})
    limits = {
        name: [
            limit
            for limit in (options.get(name), part.get(f"{name}_bytes"))
            if isinstance(limit, int)
        ]
        for name in ("flash", "ram")
    }
    return {name: min(values) for name, values in limits.items() if values}


def _bound(verified: Mapping[str, Any]) -> Figure:
    """Return the instructions that no input exceeds, of a folder verified with ``--bound``."""
    bound = verified.get("bound", {})
    # Another compiler, by which the counts may have been measured, has another bound.
    tools = ", ".join(f"{name} {version}" for name, version in bound.get("tools", {}).items())
    basis = f"bound for every input, built by {tools}" if tools else "bound for every input"
    return Figure(name="instructions, at most", computed=bound.get("instructions"), basis=basis)


def _cycles(totals: Mapping[str, Any], measured: FolderMeasurements, manifest: Manifest) -> Figure:
    """Return the cycles: predicted, modelled by ``rlx verify --cycles``, measured on a board."""
    modelled = (measured.verification or {}).get("modelled", {})
    timing = manifest.producer.facts.get("timing")
    basis = f"modelled: {modelled['memory']}" if modelled else ""
    if timing is not None and not modelled:
        basis = CycleTiming(**timing).basis
    board = measured.board or {}
    is_whole = measured.board_unit == "cycles" and board and None not in board.values()
    return Figure(
        name="cycles",
        predicted=totals.get("cycles"),
        measured=sum(value or 0 for value in board.values()) if is_whole else None,
        computed=modelled.get("cycles"),
        basis=basis,
    )


def _stack(verified: Mapping[str, Any]) -> Figure:
    """Return the stack: measured, or the compiler's bound where that is larger."""
    bytes_, measured = verified.get("stack_bytes"), verified.get("stack_measured_bytes")
    if bytes_ is None or bytes_ == (bytes_ if measured is None else measured):
        return Figure(name="stack", unit="B", measured=bytes_)
    basis = f"bound from the compiler; measured {measured:,} B"
    return Figure(name="stack", unit="B", computed=bytes_, basis=basis)


def _clock_figure(totals: Mapping[str, Any], build: Mapping[str, Any]) -> Figure:
    """Return the clock: assumed by the predictions, or computed by timing analysis of the build."""
    reached, assumed = build.get("fmax_mhz"), totals.get("clock_mhz")
    return Figure(name="clock", unit="MHz", computed=reached, assumed=assumed,
                  basis="timing analysis after place and route" if reached else "")  # fmt: skip


def _rate(totals: Mapping[str, Any], build: Mapping[str, Any] | None, interval: Figure) -> Figure:
    """Return the rate, which follows from a clock and an interval: nothing measures it."""
    predicted, assumed = totals.get("fps"), totals.get("clock_mhz")
    reached = (build or {}).get("fmax_mhz")
    computed = round(1e6 * reached / interval.best, 1) if reached and interval.best else None
    if computed is not None:
        basis = f"{interval.kind} interval at {reached:g} MHz"
    elif predicted is not None and interval.measured is not None and assumed:
        computed = round(1e6 * assumed / interval.measured, 1)
        basis = f"measured interval at the assumed {assumed:g} MHz"
    else:
        basis = f"at the assumed {assumed:g} MHz" if assumed else ""
    return Figure(name="rate", unit="frames/s", predicted=predicted, computed=computed, basis=basis)


def sum_of(values: Mapping[str, Any], names: Sequence[str]) -> int | float | None:
    """Return the sum of some entries; None unless all are numbers."""
    found = [values.get(name) for name in names]
    numbers = [one for one in found if isinstance(one, int | float)]
    return sum(numbers) if numbers and len(numbers) == len(found) else None
