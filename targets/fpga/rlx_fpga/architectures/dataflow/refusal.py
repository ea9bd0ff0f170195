"""Reasons why no design fits, or reaches the rate, and options to try."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rlx.support.errors import DoesNotFitError
from rlx_fpga.architectures.dataflow.price import amount_of, folding_for
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.devices import devices
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import BUDGETS

if TYPE_CHECKING:
    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions


def too_slow(
    program: StagedGraph, options: FpgaOptions, fastest: int, lut: int | None
) -> DoesNotFitError:
    """Return (not raise) the error for a rate that no design within the budget reaches.

    Args:
        program: The stages.
        options: The user's options, with a rate.
        fastest: Minimum initiation interval within the budget.
        lut: A LUT budget with which it is reached, if there is one.
    """
    assert options.fps is not None
    suggestions = [
        *([] if lut is None else [f"--lut {lut}"]),
        f"--fps {int(options.clock_hz / fastest)}",
        f"--clock {-(-options.fps * fastest // 1e6):.0f}MHz",
        *_other_device(program, options),
    ]
    return DoesNotFitError(
        f"{options.fps:g} frames per second cannot be reached at"
        f" {options.clock_hz / 1e6:g} MHz: the maximum within the budget is"
        f" {options.clock_hz / fastest:.4g} (initiation interval {fastest} cycles)",
        where=options.chosen_device.name,
        hint=", or ".join(suggestions),
    )


def too_large(
    program: StagedGraph, options: FpgaOptions, smallest: Resources | None
) -> DoesNotFitError:
    """Return (not raise) the error for a budget that no design keeps at any speed.

    Args:
        program: The stages.
        options: The user's options.
        smallest: Cells of a small design, if one was built.
    """
    device = options.chosen_device
    minimum = folding_for(program, options, device, logic=True).min_amount()
    if smallest is not None:
        # What is between layers counts too.
        minimum = _maximum(minimum, amount_of(smallest, device))
    short = {
        name: _count(getattr(minimum, name), name, device)
        for name in BUDGETS
        if getattr(minimum, name) > getattr(options.budget, name)
    }
    if short and all(float(count) <= getattr(device, name) for name, count in short.items()):
        suggestions = [" ".join(f"--{name} {count}" for name, count in short.items())]
    else:
        suggestions = _other_device(program, options)
    needs = "; ".join(
        f"at least {count} {BUDGETS[name]}, the budget is"
        f" {_count(getattr(options.budget, name), name, device)} (--{name})"
        for name, count in short.items()
    )
    return DoesNotFitError(
        f"the layers need {needs}" if needs else "no folding fits all budgets at once",
        where=device.name,
        hint=", or ".join(suggestions) or "make the model smaller",
    )


def _other_device(program: StagedGraph, options: FpgaOptions) -> list[str]:
    """Return the first other device that the layers fit, as an option."""
    others = (one for one in devices().values() if one.name != options.chosen_device.name)
    fitting = (f"--device {one.name}" for one in others if _fits_on(program, options, one))
    return [*islice(fitting, 1)]


def _fits_on(program: StagedGraph, options: FpgaOptions, other: FpgaDevice) -> bool:
    """Return whether the layers fit another device with a third of its LUTs to spare."""
    folding = folding_for(program, options, other, logic=True)
    whole = replace(options, device=other.name, dsp=None, bram=None, lut=None).budget
    limit = Amount(whole.dsp, whole.bram, whole.lut * 2 // 3)
    hertz = options.clock or other.clock_mhz * 1e6
    cycles = None if options.fps is None else int(hertz / options.fps)
    return folding.cheapest(limit, cycles) is not None


def _count(number: int, name: str, device: FpgaDevice) -> str:
    """Return a number of parts in the unit that users count."""
    parts = LIBRARIES[device.family].parts if name == "bram" else 1
    return f"{number / parts:g}"


def _maximum(first: Amount, second: Amount) -> Amount:
    """Return the maximum of each resource."""
    return Amount(
        max(first.dsp, second.dsp), max(first.bram, second.bram), max(first.lut, second.lut)
    )
