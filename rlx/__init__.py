"""rlx: compile int8 networks to C for Cortex-M and SystemVerilog for FPGAs, or run them here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rlx.api import (
        compare,
        convert,
        emit,
        estimate,
        estimate_all,
        layers,
        quantize,
        report,
        run,
        verify,
    )
    from rlx.calibration.compare import Comparison
    from rlx.calibration.quantize import Quantized
    from rlx.errors import RlxError
    from rlx.estimation import Estimate
    from rlx.frontends import load
    from rlx.frontends.weights import load_weights
    from rlx.inference import Accuracy, Layers, LayerValues, Ranked, Result
    from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8, i32
    from rlx.ir.file import save
    from rlx.ir.module import GraphModule
    from rlx.reporting.model import Report
    from rlx.runtime import CompiledGraph, CompileOptions, Device, Model, Session, devices
    from rlx.runtime.model import model
    from rlx.target import Emission
    from rlx.tracing import Graph, Tensor
    from rlx.tracing.trace import trace
    from rlx.transforms.bind import bind
    from rlx.transforms.freeze import freeze
    from rlx.verifier import Verification

_HOMES = {
    "Accuracy": "rlx.inference",
    "Comparison": "rlx.calibration.compare",
    "CompileOptions": "rlx.runtime",
    "CompiledGraph": "rlx.runtime",
    "DType": "rlx.ir",
    "Device": "rlx.runtime",
    "Dim": "rlx.ir",
    "Emission": "rlx.target",
    "Estimate": "rlx.estimation",
    "Graph": "rlx.tracing",
    "GraphModule": "rlx.ir.module",
    "LayerValues": "rlx.inference",
    "Layers": "rlx.inference",
    "Model": "rlx.runtime",
    "QuantParams": "rlx.ir",
    "Quantized": "rlx.calibration.quantize",
    "Ranked": "rlx.inference",
    "Report": "rlx.reporting.model",
    "Result": "rlx.inference",
    "RlxError": "rlx.errors",
    "Session": "rlx.runtime",
    "Tensor": "rlx.tracing",
    "TensorType": "rlx.ir",
    "Verification": "rlx.verifier",
    "bind": "rlx.transforms.bind",
    "compare": "rlx.api",
    "convert": "rlx.api",
    "devices": "rlx.runtime",
    "emit": "rlx.api",
    "estimate": "rlx.api",
    "estimate_all": "rlx.api",
    "f32": "rlx.ir",
    "freeze": "rlx.transforms.freeze",
    "i8": "rlx.ir",
    "i32": "rlx.ir",
    "layers": "rlx.api",
    "load": "rlx.frontends",
    "load_weights": "rlx.frontends.weights",
    "model": "rlx.runtime",
    "quantize": "rlx.api",
    "report": "rlx.api",
    "run": "rlx.api",
    "save": "rlx.ir.file",
    "trace": "rlx.tracing",
    "verify": "rlx.api",
}
"""Module of each public name; it is imported when the name is first used."""

__all__ = [
    "Accuracy",
    "Comparison",
    "CompileOptions",
    "CompiledGraph",
    "DType",
    "Device",
    "Dim",
    "Emission",
    "Estimate",
    "Graph",
    "GraphModule",
    "LayerValues",
    "Layers",
    "Model",
    "QuantParams",
    "Quantized",
    "Ranked",
    "Report",
    "Result",
    "RlxError",
    "Session",
    "Tensor",
    "TensorType",
    "Verification",
    "bind",
    "compare",
    "convert",
    "devices",
    "emit",
    "estimate",
    "estimate_all",
    "f32",
    "freeze",
    "i8",
    "i32",
    "layers",
    "load",
    "load_weights",
    "model",
    "quantize",
    "report",
    "run",
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
