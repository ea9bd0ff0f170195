"""Running graphs on the host."""

from rlx.runtime.backend import Backend, Program, backends, devices, find_backend
from rlx.runtime.compiled import CompiledGraph
from rlx.runtime.device import Device
from rlx.runtime.model import Model, model
from rlx.runtime.options import CompileOptions
from rlx.runtime.session import Session

__all__ = [
    "Backend",
    "CompileOptions",
    "CompiledGraph",
    "Device",
    "Model",
    "Program",
    "Session",
    "backends",
    "devices",
    "find_backend",
    "model",
]
