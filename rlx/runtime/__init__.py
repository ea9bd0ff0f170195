"""Running networks on this machine: sessions, backends, states, and their cost here.

``numpy_backend`` is the reference backend; ``observation`` measures memory and time.

Level 5. Public modules: ``backend``, ``checking``, ``device_survey``, ``disk_cache``, ``dump``,
``fusing``, ``latency``, ``lowering``, ``needs``, ``numpy_backend``, ``observation.finite``,
``observation.machine``, ``observation.memory``, ``observation.profile``, ``observation.roofline``,
``session``.
"""

from rlx.runtime.backend import Backend, Program, backends, devices, find_backend
from rlx.runtime.batching import Batching
from rlx.runtime.buckets import Buckets
from rlx.runtime.compilations import COMPILATIONS, SharingBackend
from rlx.runtime.compiled import CompiledGraph
from rlx.runtime.device import Device
from rlx.runtime.model import Model, model
from rlx.runtime.options import CompileOptions
from rlx.runtime.session import Session
from rlx.runtime.submission import Pending

__all__ = [
    "COMPILATIONS",
    "Backend",
    "Batching",
    "Buckets",
    "CompileOptions",
    "CompiledGraph",
    "Device",
    "Model",
    "Pending",
    "Program",
    "Session",
    "SharingBackend",
    "backends",
    "devices",
    "find_backend",
    "model",
]
