"""Figures that the reports of all architectures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.layer_names import origins_of
from rlx_fpga.cost.costs import JOINT_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions

MAX_LUT_PERCENT: Final = 80
"""Percent of the LUTs up to which a predicted design can be placed and routed."""


def places_text(node: Node) -> str:
    """Return the nodes of the model of which a layer was made."""
    return "; ".join(origins_of(node))


def device_report(total: Resources, interval: int, options: FpgaOptions) -> dict[str, Any]:
    """Return the figures of a design of any architecture on its device: rate, cells, shares.

    ``device``, ``clock_mhz``, ``fps``; ``lut``, ``ff``, ``dsp``, ``bram``; ``lut_percent`` and so
    on; ``logic_cells`` where LUTs and flip-flops share cells.
    """
    device = options.chosen_device
    cells = total.logic_cells if device.joint_cells else 0
    return {
        "device": options.device,
        "clock_mhz": options.clock_hz / 1e6,
        "fps": round(options.clock_hz / interval, 2),
        **cells_of(total),
        **_percent(total, device),
        **(
            {"logic_cells": cells, "logic_cells_percent": _part(cells, device.lut)} if cells else {}
        ),
    }


def doubt(report: Mapping[str, Any]) -> str:
    """Return the reason why place and route may fail for a design predicted to fit, or ``""``."""
    cells, luts = report.get("logic_cells_percent", 0), report["lut_percent"]
    if 100 * JOINT_SHARE < cells <= 100:
        full = f"{cells:g} % of the logic cells, predicted to within 10 %"
    elif MAX_LUT_PERCENT < luts <= 100:
        full = f"{luts:g} % of the LUTs, predicted to within 20 %"
    else:
        return ""
    return f"{full}: place and route may fail"


def cells_of(resources: Resources) -> dict[str, float]:
    """Return the cells by name; block RAMs as an integer unless there is a half."""
    bram = resources.bram
    return {
        "lut": resources.lut,
        "ff": resources.ff,
        "dsp": resources.dsp,
        "bram": int(bram) if bram == int(bram) else bram,
    }


def _percent(resources: Resources, device: FpgaDevice) -> dict[str, float]:
    """Return the share of the device in percent; 0 of a resource that it lacks."""
    return {
        f"{name}_percent": _part(count, getattr(device, name))
        for name, count in cells_of(resources).items()
    }


def _part(count: float, there: int) -> float:
    return round(100 * count / (there or 1), 1)
