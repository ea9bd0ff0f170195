"""Report of fusion in a graph on its way to a backend.

Tests: tests/unit/runtime/test_fused_graphs.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.passes.fusion import FusionOptions
from rlx.runtime.backend import find_backend
from rlx.runtime.device import Device
from rlx.runtime.lowering import optimize
from rlx.runtime.options import CompileOptions

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.passes.fusion import FusionReport


def fusion_report(
    graph: Graph, options: FusionOptions | None = None, *, device: Device | str = Device.CPU
) -> FusionReport:
    """Return the ops of a graph that can be fused, and the reasons of others; nothing is compiled.

    Args:
        graph: A graph of any stage; sizes may be symbols.
        options: Options of fusion; None to fuse everything.
        device: Device that the graph would run on.

    Raises:
        UnsupportedOpError: The backend lacks an op that cannot be written in others.
    """
    chosen = CompileOptions(fusion=options or FusionOptions())
    backend = find_backend(Device(device), chosen.backend)
    report = optimize(graph, backend, chosen).fusion
    assert report is not None
    return report
