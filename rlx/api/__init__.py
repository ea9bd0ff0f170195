"""The commands from Python: ``rlx.emit``, ``rlx.quantize``, ``rlx.verify`` and others.

Each takes what the command of its name takes; options of a target are keyword arguments, with
underscores for hyphens.

Level 8.
"""

from rlx.api.building import emit, export, report, verify
from rlx.api.estimating import estimate, estimate_all
from rlx.api.host import bench, memory_estimate, pick_device, roofline
from rlx.api.quantizing import convert, quantize
from rlx.api.running import compare, layers, run

__all__ = [
    "bench",
    "compare",
    "convert",
    "emit",
    "estimate",
    "estimate_all",
    "export",
    "layers",
    "memory_estimate",
    "pick_device",
    "quantize",
    "report",
    "roofline",
    "run",
    "verify",
]
