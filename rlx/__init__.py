"""rlx: compile int8 networks to C for Cortex-M and SystemVerilog for FPGAs, or run them here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rlx.api import compare, convert, emit, estimate, quantize, verify
    from rlx.errors import RlxError
    from rlx.frontends import load
    from rlx.frontends.weights import load_weights
    from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8, i32
    from rlx.ir.file import save
    from rlx.runtime import CompiledGraph, CompileOptions, Device, Model, Session, devices, model
    from rlx.tracing import Graph, Tensor, trace
    from rlx.transforms.bind import bind
    from rlx.transforms.freeze import freeze

_HOMES = {
    "CompileOptions": "rlx.runtime",
    "CompiledGraph": "rlx.runtime",
    "DType": "rlx.ir",
    "Device": "rlx.runtime",
    "Dim": "rlx.ir",
    "Graph": "rlx.tracing",
    "Model": "rlx.runtime",
    "QuantParams": "rlx.ir",
    "RlxError": "rlx.errors",
    "Session": "rlx.runtime",
    "Tensor": "rlx.tracing",
    "TensorType": "rlx.ir",
    "bind": "rlx.transforms.bind",
    "compare": "rlx.api",
    "convert": "rlx.api",
    "devices": "rlx.runtime",
    "emit": "rlx.api",
    "estimate": "rlx.api",
    "f32": "rlx.ir",
    "freeze": "rlx.transforms.freeze",
    "i8": "rlx.ir",
    "i32": "rlx.ir",
    "load": "rlx.frontends",
    "load_weights": "rlx.frontends.weights",
    "model": "rlx.runtime",
    "quantize": "rlx.api",
    "save": "rlx.ir.file",
    "trace": "rlx.tracing",
    "verify": "rlx.api",
}
"""Module of each public name; it is imported when the name is first used."""

__all__ = [
    "CompileOptions",
    "CompiledGraph",
    "DType",
    "Device",
    "Dim",
    "Graph",
    "Model",
    "QuantParams",
    "RlxError",
    "Session",
    "Tensor",
    "TensorType",
    "bind",
    "compare",
    "convert",
    "devices",
    "emit",
    "estimate",
    "f32",
    "freeze",
    "i8",
    "i32",
    "load",
    "load_weights",
    "model",
    "quantize",
    "save",
    "trace",
    "verify",
]


if not TYPE_CHECKING:  # else a type checker would take any name for a public one

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that ``import rlx`` costs nothing."""
        if name not in _HOMES:
            raise AttributeError(f"module 'rlx' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
