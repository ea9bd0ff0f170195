"""The engine for a device and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_fpga.architectures.engine.design import Engine
from rlx_fpga.architectures.engine.lower import assemble
from rlx_fpga.architectures.engine.program import Feed

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions

FEEDS: Final = {"load": Feed.LOAD, "stream": Feed.STREAM}
"""Feed of weights by value of ``--weights``; others are built in."""


def engine_of(graph: Graph, options: FpgaOptions) -> Engine:
    """Return the engine for ``graph``.

    Raises:
        UnsupportedOpError: An op lacks an instruction.
        EmitError: Inputs, outputs or parameters cannot become streams.
        DoesNotFitError: The budget of DSP slices is too small.
    """
    device = options.chosen_device
    feed = FEEDS.get(options.weights, Feed.BUILT_IN)
    code = assemble(
        graph, options.budget.dsp, feed=feed, two_ports=_two_ports(device), options=options
    )
    return Engine(code, large=device.spram > 0)


def _two_ports(device: FpgaDevice) -> int | None:
    """Return the bytes of activations above which SPRAM is used for them.

    SPRAM has one port, which costs a cycle for each result; block RAMs have two, but half of them
    are kept for weights, constants and tables. None for a device without SPRAM.
    """
    return device.bram * device.bram_bits // 8 // 2 if device.spram else None
