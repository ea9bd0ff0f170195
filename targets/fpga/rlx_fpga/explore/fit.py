"""Whether a finished design fits its budget and reaches its rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rlx.support.errors import RlxError
from rlx_fpga.options import BUDGETS, rate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rlx_fpga.options import FpgaOptions

    Estimate = Callable[[FpgaOptions], Mapping[str, Any]]

LARGE_MEMORIES = "single-port RAMs (SPRAM)"


class Need(NamedTuple):
    """Amount of a resource that a design needs.

    Attributes:
        option: Name of the option that limits it; empty without one.
        resource: Name of the resource.
        needed: Amount that the design needs.
        available: Amount within the budget, or in the device.
    """

    option: str
    resource: str
    needed: float
    available: int


def amount_text(number: float, resource: str) -> str:
    """Return a number of a resource, named in the plural: ``1 DSP slice``, ``2.5 block RAMs``."""
    return f"{number:,.12g} {re.sub(r's(?=$| )', '', resource) if number == 1 else resource}"


def shortage(report: Mapping[str, Any], options: FpgaOptions) -> str:
    """Return the excess of a design over its budget, in words; empty if it fits."""
    return "; ".join(
        f"needs {amount_text(need.needed, need.resource)}, {need.available:,} available"
        for need in excesses(report, options)
    )


def missed_rate(report: Mapping[str, Any], options: FpgaOptions) -> str:
    """Return the rate that a design has instead of the required one; empty if it reaches it."""
    if options.max_cycles is None or report["interval"] <= options.max_cycles:
        return ""
    rate = options.clock_hz / report["interval"]
    return f"{rate_text(rate)} of {rate_text(options.fps or 0)} frames/s"


def excesses(report: Mapping[str, Any], options: FpgaOptions) -> Iterator[Need]:
    """Yield the resources of which a design needs more than is available."""
    return (need for need in _needs(report, options) if need.needed > need.available)


def fitting(options: FpgaOptions, estimate: Estimate) -> Mapping[str, Any] | None:
    """Return the report for ``options`` if its design fits, else None."""
    try:
        report = estimate(options)
    except RlxError:
        return None
    return None if shortage(report, options) else report


def _needs(report: Mapping[str, Any], options: FpgaOptions) -> Iterator[Need]:
    """Yield the need of each resource."""
    device = options.chosen_device
    for name, resource in BUDGETS.items():
        budget = getattr(options, name)
        yield Need(
            name, resource, report[name], getattr(device, name) if budget is None else budget
        )
    yield Need("", "flip-flops", report["ff"], device.ff)
    yield Need("", "logic cells", report.get("logic_cells", 0), device.lut)
    yield Need("", LARGE_MEMORIES, report.get("spram", 0), device.spram)
