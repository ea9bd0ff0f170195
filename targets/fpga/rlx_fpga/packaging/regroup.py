"""Streams as wide as a DMA (``--stream-bits``): their ports, and their effect on the report."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import DoesNotFitError
from rlx_fpga.cost.costs import PORTS, Resources
from rlx_fpga.options import rate_text
from rlx_fpga.report import device_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.options import FpgaOptions
    from rlx_fpga.packaging.axi import Interface, StreamPort

LATENCY: Final = 1
"""Cycles by which the module between a port and the core delays a stream."""

_LUTS: Final = {
    "ecp5": (2.6, 6.4, 8.6),
    "ice40": (1.7, 2.2, 3.0),
    "xc7": (1.1, 1.3, 2.5),
    "xcup": (1.1, 1.3, 2.5),
}
"""LUTs of that module for each bit of its buffer, by family: the sizes of beats are equal, one
divides the other, or neither does. Means of results of Yosys 0.70 for 14 pairs of 1 to 24 bytes."""


def with_stream_bits(interface: Interface, bits: int | None) -> Interface:
    """Return the interface with streams of ``bits`` and ``tkeep``; None: as the core's."""
    if bits is None:
        return interface
    weights = interface.weights
    return replace(
        interface,
        inputs=tuple(replace(port, stream_bits=bits) for port in interface.inputs),
        outputs=tuple(replace(port, stream_bits=bits) for port in interface.outputs),
        weights=weights and replace(weights, port=replace(weights.port, stream_bits=bits)),
        control=interface.control and replace(interface.control, framed=True),
    )


def regroup_cells(port: StreamPort, family: str) -> Resources:
    """Return the cells of the module between a port and the core; the flip-flops are exact."""
    sizes = port.regroup
    unit = sizes["UnitBytes"]
    units = [sizes["InBytes"] // unit, sizes["OutBytes"] // unit]
    places = sum(units) - 1
    buffer = 8 * unit * places
    kind = 0 if units == [1, 1] else 1 if 1 in units else 2
    return Resources(lut=math.ceil(_LUTS[family][kind] * buffer), ff=buffer + places.bit_length())


def with_ports(
    report: Mapping[str, Any], interface: Interface, options: FpgaOptions
) -> dict[str, Any]:
    """Return a core's report with the rate and latency that its ports allow, and their cells.

    A port with more beats in a frame than the core limits the rate. Weights that are sent for every
    frame delay it by their additional beats compared with the core: an upper bound, because some
    are fetched ahead. The latency is not predicted where a port is slower than the core.

    Raises:
        DoesNotFitError: The ports are too slow for the requested frame rate.
    """
    if not interface.stream_bits:
        return dict(report)
    figures = dict(report)
    streams = (*interface.inputs, *interface.outputs)
    wait = 0
    if interface.weights is not None and interface.weights.each_frame:
        port = interface.weights.port
        wait = max(0, port.beats - port.core_beats)
    slowest = max(streams, key=lambda port: port.beats)
    interval = max(report["interval"] + wait, slowest.beats)
    if interval > report["interval"]:
        figures |= {
            "interval": interval,
            "fps": round(options.clock_hz / interval, 2),
            "slowest": PORTS,
        }
        if "busy" in report:
            figures["busy"] = round(report["busy"] * report["interval"] / interval, 4)
    if "latency" in report:
        slower = any(port.beats > port.core_beats for port in streams)
        figures |= {} if slower else {"latency": report["latency"] + 2 * LATENCY}
        if slower:
            del figures["latency"]
    _require_rate(interval, options)
    family = options.chosen_device.family
    cells = [regroup_cells(port, family) for port in interface.ports]
    total = sum(cells, Resources(*(report[name] for name in ("lut", "ff", "dsp", "bram"))))
    return figures | device_report(total, interval, options)


def _require_rate(interval: int, options: FpgaOptions) -> None:
    """Check that the requested rate is reached.

    Raises:
        DoesNotFitError: It is not.
    """
    if options.max_cycles is None or interval <= options.max_cycles:
        return
    assert options.fps is not None
    reached = options.clock_hz / interval
    raise DoesNotFitError(
        f"{rate_text(options.fps)} frames per second cannot be reached with streams of"
        f" {options.stream_bits} bits: a frame takes {interval:,} cycles at the ports, the maximum"
        f" is {rate_text(reached)} at {options.clock_hz / 1e6:g} MHz",
        where=options.device,
        hint="use wider streams (--stream-bits 128, or leave it out), or a lower --fps",
    )
