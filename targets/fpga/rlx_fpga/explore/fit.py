"""Whether a finished design fits its budget, and which options to try if it does not."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rlx.support.errors import DoesNotFitError, RlxError
from rlx_fpga.devices import devices
from rlx_fpga.options import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rlx_fpga.options import FpgaOptions

    Estimate = Callable[[FpgaOptions], Mapping[str, Any]]

LARGE_MEMORIES = "single-port RAMs (SPRAM)"


def shortage(report: Mapping[str, Any], options: FpgaOptions) -> str:
    """Return the excess of a design over its budget, in words; empty if it fits."""
    return "; ".join(
        f"needs {needed:,g} {what}, {there:,} available"
        for _, what, needed, there in _needs(report, options)
        if needed > there
    )


def does_not_fit(
    report: Mapping[str, Any],
    options: FpgaOptions,
    estimate: Estimate,
    variants: Iterable[tuple[str, FpgaOptions]],
    alternatives: Iterable[str],
) -> DoesNotFitError:
    """Return (not raise) the error for a design that is too large.

    Args:
        report: Report of the design.
        options: Options that it was built with.
        estimate: Returns the report for other options; may raise an ``RlxError``.
        variants: Options that take less of a device, as text and as options.
        alternatives: Options with which another architecture fits, as text.
    """
    suggestions = list(_suggestions(report, options, estimate, variants, alternatives))
    return DoesNotFitError(
        f"the design does not fit: {shortage(report, options)}",
        where=options.device,
        hint=", or ".join(suggestions) or "make the model smaller",
    )


def _needs(
    report: Mapping[str, Any], options: FpgaOptions
) -> Iterator[tuple[str, str, float, int]]:
    """Yield option, name, number needed and number available of each resource."""
    device = options.chosen_device
    for name, what in BUDGETS.items():
        given = getattr(options, name)
        yield name, what, report[name], getattr(device, name) if given is None else given
    yield "", "flip-flops", report["ff"], device.ff
    yield "", "logic cells", report.get("logic_cells", 0), device.lut
    yield "", LARGE_MEMORIES, report.get("spram", 0), device.spram


def _suggestions(
    report: Mapping[str, Any],
    options: FpgaOptions,
    estimate: Estimate,
    variants: Iterable[tuple[str, FpgaOptions]],
    alternatives: Iterable[str],
) -> Iterator[str]:
    raised_limits = [
        f"--{name} {needed:g}"
        for name, _, needed, there in _needs(report, options)
        if needed > there and name and getattr(options, name) is not None
    ]
    if raised_limits and not shortage(report, replace(options, dsp=None, bram=None, lut=None)):
        yield " ".join(raised_limits)
        return
    for text, variant in variants:
        if fitting(variant, estimate) is not None:
            yield text.strip()
            break
    yield from islice(alternatives, 1)
    for name in devices():
        other = replace(options, device=name, dsp=None, bram=None, lut=None)
        if name != options.device and fitting(other, estimate) is not None:
            yield f"--device {name}"
            return


def fitting(options: FpgaOptions, estimate: Estimate) -> Mapping[str, Any] | None:
    """Return the report for ``options`` if its design fits, else None."""
    try:
        report = estimate(options)
    except RlxError:
        return None
    return None if shortage(report, options) else report
