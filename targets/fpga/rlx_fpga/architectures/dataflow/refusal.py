"""Reasons why no design fits, or reaches the rate, and options to try."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rlx.support.text.units import counted
from rlx_fpga.architectures.dataflow.price import amount_of, folding_for
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.explore.advice import (
    SMALLER_MODEL,
    Advice,
    DesignTooLargeError,
    Suggestion,
    other_devices,
    reachable_rate,
    with_budgets,
)
from rlx_fpga.explore.fit import amount_text
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import BUDGETS, rate_text

MAX_EXCESS: Final = 0.01
"""Share by which the budget of a hint may exceed the smallest one that is enough."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions

    CellsOf = Callable[[FpgaOptions], Resources | None]


def too_slow(
    program: StagedGraph,
    options: FpgaOptions,
    fastest: int,
    lut: int | None,
    cells_of: CellsOf,
) -> DesignTooLargeError:
    """Return (not raise) the error for a rate that no design within the budget reaches.

    Args:
        program: The stages.
        options: The user's options, with a rate.
        fastest: Minimum initiation interval within the budget.
        lut: A LUT budget with which it is reached, or None; the hint has the smallest one.
        cells_of: Builds the design for other options, to try the suggestions of the hint.
    """
    assert options.fps is not None
    suggestions = (
        *([] if lut is None else [_with_smallest(options, {}, {"lut": lut}, cells_of)]),
        *reachable_rate(options, fastest),
        *_other_device(program, options, cells_of),
    )
    interval = counted(fastest, "cycle")
    return DesignTooLargeError(
        f"{rate_text(options.fps)} frames per second cannot be reached at"
        f" {options.clock_hz / 1e6:g} MHz: the maximum within the budget is"
        f" {rate_text(options.clock_hz / fastest)} (initiation interval {interval})",
        where=options.chosen_device.name,
        advice=Advice(suggestions),
    )


def too_large(
    program: StagedGraph, options: FpgaOptions, smallest: Resources | None, cells_of: CellsOf
) -> DesignTooLargeError:
    """Return (not raise) the error for a budget that is too small for any design, at any speed.

    Args:
        program: The stages.
        options: The user's options.
        smallest: Cells of a small design, if one was built.
        cells_of: Builds the design for other options, to try what the hint suggests.
    """
    device = options.chosen_device
    minimum = folding_for(program, options, device, logic=True).min_amount()
    if smallest is not None:
        # Cells between layers count too.
        minimum = _maximum(minimum, amount_of(smallest, device))
    short = {
        name: _units(getattr(minimum, name), name, device)
        for name in BUDGETS
        if getattr(minimum, name) > getattr(options.budget, name)
    }
    minimums = {name: math.ceil(count) for name, count in short.items()}
    raised = [*islice(_raised_budgets(options, minimums, cells_of), 1)]
    if raised:
        needs = {name: getattr(raised[0].options, name) for name in BUDGETS}
        short = {name: n for name, n in needs.items() if n != getattr(options, name)}
    return DesignTooLargeError(
        _too_small(short, options, "the smallest design found" if raised else "a small design"),
        where=device.name,
        advice=Advice(
            tuple(raised or _other_device(program, options, cells_of)), otherwise=SMALLER_MODEL
        ),
    )


def _too_small(short: Mapping[str, float], options: FpgaOptions, design: str) -> str:
    """Return the message for budgets that are too small.

    Args:
        short: Amount that the design needs of each resource of which it needs too much.
        options: The user's options.
        design: The design, in words.
    """
    device = options.chosen_device
    needs = "; ".join(
        f"{amount_text(count, BUDGETS[name])}, "
        + (
            f"the device has {getattr(device, name):,}"
            if getattr(options, name) is None
            else f"the budget is {getattr(options, name):,} (--{name})"
        )
        for name, count in short.items()
    )
    return f"{design} needs {needs}" if needs else "no folding fits all budgets together"


def _raised_budgets(
    options: FpgaOptions, short: Mapping[str, int], cells_of: CellsOf
) -> Iterator[Suggestion]:
    """Yield higher values of the user's budgets with which a design fits the device.

    Args:
        options: The user's options.
        short: Minimum of each budget that is too small, with all the others free.
        cells_of: Builds the design for other options.
    """
    limited = [name for name in ("lut", "bram", "dsp") if getattr(options, name) is not None]
    device = options.chosen_device
    if not _is_within(device, short):
        return
    for names in ([], *([name] for name in limited), limited):
        budgets = {name: count for name, count in short.items() if name in limited}
        free = {name: getattr(device, name) for name in names}
        if names:
            cells = cells_of(replace(options, optimize="size", **{**budgets, **free}))
            if cells is None:
                continue
            budgets |= {
                name: count
                for name in names
                if (count := math.ceil(getattr(cells, name))) > getattr(options, name)
            }
        # Logic cells are reserved unless the budget is all of them.
        for tried in (budgets, budgets | free) if names else (budgets,):
            suggestion = with_budgets(options, tried)
            if tried and _is_within(device, tried) and cells_of(suggestion.options) is not None:
                yield _with_smallest(options, short, tried, cells_of)
                break


def _with_smallest(
    options: FpgaOptions, short: Mapping[str, int], budgets: Mapping[str, int], cells_of: CellsOf
) -> Suggestion:
    """Return the suggestion of the smallest budgets with which a design fits, one by one.

    Args:
        options: The user's options.
        short: Minimum of some budgets, as far as it is known.
        budgets: Budgets with which a design fits.
        cells_of: Builds the design for other options.
    """
    smallest = dict(budgets)
    for name, enough in budgets.items():
        too_few = max(short.get(name, 1), getattr(options, name) or 0) - 1
        while enough - too_few > max(1, int(MAX_EXCESS * enough)):
            tried = (enough + too_few) // 2
            if cells_of(with_budgets(options, {**smallest, name: tried}).options) is None:
                too_few = tried
            else:
                enough = tried
        smallest[name] = enough
    return with_budgets(options, smallest)


def _is_within(device: FpgaDevice, budgets: Mapping[str, int]) -> bool:
    return all(count <= getattr(device, name) for name, count in budgets.items())


def _other_device(
    program: StagedGraph, options: FpgaOptions, cells_of: CellsOf
) -> list[Suggestion]:
    """Return the first other device that the design fits."""
    fitting = (
        one
        for one in other_devices(options)
        if _fits_on(program, options, one.options) and cells_of(one.options) is not None
    )
    return [*islice(fitting, 1)]


def _fits_on(program: StagedGraph, options: FpgaOptions, other_options: FpgaOptions) -> bool:
    """Return whether the layers fit another device with a third of its LUTs to spare."""
    other = other_options.chosen_device
    folding = folding_for(program, options, other, logic=True)
    whole = other_options.budget
    limit = Amount(whole.dsp, whole.bram, whole.lut * 2 // 3)
    hertz = options.clock or other.clock_mhz * 1e6
    cycles = None if options.fps is None else int(hertz / options.fps)
    return folding.cheapest(limit, cycles) is not None


def _units(number: int, name: str, device: FpgaDevice) -> float:
    """Return a number of parts in the unit that users count."""
    return number / (LIBRARIES[device.family].parts if name == "bram" else 1)


def _maximum(first: Amount, second: Amount) -> Amount:
    """Return the maximum of each resource."""
    return Amount(
        max(first.dsp, second.dsp), max(first.bram, second.bram), max(first.lut, second.lut)
    )
