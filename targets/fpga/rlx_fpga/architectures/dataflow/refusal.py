"""Reasons why no design fits, or reaches the rate, and options to try."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rlx_fpga.architectures.dataflow.price import amount_of, folding_for
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.explore.advice import (
    SMALLER_MODEL,
    Advice,
    DesignTooLargeError,
    Suggestion,
    other_devices,
    with_budgets,
)
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import BUDGETS, rate_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions


def too_slow(
    program: StagedGraph, options: FpgaOptions, fastest: int, lut: int | None
) -> DesignTooLargeError:
    """Return (not raise) the error for a rate that no design within the budget reaches.

    Args:
        program: The stages.
        options: The user's options, with a rate.
        fastest: Minimum initiation interval within the budget.
        lut: A LUT budget with which it is reached, or None.
    """
    assert options.fps is not None
    suggestions = (
        *([] if lut is None else [with_budgets(options, {"lut": lut})]),
        *_reachable_rate(options, fastest),
        *_other_device(program, options),
    )
    return DesignTooLargeError(
        f"{rate_text(options.fps)} frames per second cannot be reached at"
        f" {options.clock_hz / 1e6:g} MHz: the maximum within the budget is"
        f" {rate_text(options.clock_hz / fastest)} (initiation interval {fastest} cycles)",
        where=options.chosen_device.name,
        advice=Advice(suggestions),
    )


def _reachable_rate(options: FpgaOptions, cycles: int) -> Iterator[Suggestion]:
    """Yield the highest rate at the clock, and the lowest clock for the rate.

    Args:
        options: The user's options, with a rate.
        cycles: Initiation interval.
    """
    assert options.fps is not None
    rate = int(options.clock_hz / cycles)
    if rate:
        yield Suggestion(f"--fps {rate}", replace(options, fps=float(rate)))
    megahertz = -(-options.fps * cycles // 1e6)
    yield Suggestion(f"--clock {megahertz:.0f}MHz", replace(options, clock=megahertz * 1e6))


def too_large(
    program: StagedGraph, options: FpgaOptions, smallest: Resources | None
) -> DesignTooLargeError:
    """Return (not raise) the error for a budget that is too small for any design, at any speed.

    Args:
        program: The stages.
        options: The user's options.
        smallest: Cells of a small design, if one was built.
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
    if short and all(count <= getattr(device, name) for name, count in short.items()):
        suggestions = [with_budgets(options, {n: math.ceil(c) for n, c in short.items()})]
    else:
        suggestions = _other_device(program, options)
    needs = "; ".join(
        f"at least {count:,.12g} {BUDGETS[name]}, the budget is"
        f" {_units(getattr(options.budget, name), name, device):,.12g} (--{name})"
        for name, count in short.items()
    )
    return DesignTooLargeError(
        f"the layers need {needs}" if needs else "no folding fits all budgets together",
        where=device.name,
        advice=Advice(tuple(suggestions), otherwise=SMALLER_MODEL),
    )


def _other_device(program: StagedGraph, options: FpgaOptions) -> list[Suggestion]:
    """Return the first other device that the layers fit."""
    fitting = (one for one in other_devices(options) if _fits_on(program, options, one.options))
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
