"""rlx: compile int8 networks to C for Cortex-M and SystemVerilog for FPGAs, or run them here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rlx.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rlx import config as config
    from rlx.api import (
        bench,
        compare,
        convert,
        emit,
        estimate,
        estimate_all,
        export,
        layers,
        memory_estimate,
        pick_device,
        quantize,
        report,
        roofline,
        run,
        verify,
    )
    from rlx.calibration.compare import Comparison
    from rlx.calibration.criteria import Criteria
    from rlx.calibration.quantize import Quantized
    from rlx.errors import RlxError
    from rlx.estimation import Estimate
    from rlx.exporters import Exported
    from rlx.frontends.weights import load_weights
    from rlx.inference import Accuracy, Layers, LayerValues, Ranked, Result
    from rlx.ir import Dim, DType, Node, QuantParams, TensorType, Value, f32, i8, i32
    from rlx.ir import Graph as _Graph
    from rlx.ir.file import save
    from rlx.ir.module import GraphModule
    from rlx.latency import Benchmark, Latency
    from rlx.networks import Network, load
    from rlx.observation.machine import Machine, measure_machine
    from rlx.observation.memory import MemoryEstimate
    from rlx.observation.roofline import Roofline
    from rlx.passes import PrecisionPolicy
    from rlx.reporting.report import Report
    from rlx.runtime import CompiledGraph, CompileOptions, Device, Model, Session, devices
    from rlx.runtime.model import model
    from rlx.target import Emission
    from rlx.tracing import Graph, Tensor
    from rlx.tracing.control import if_, scan, while_loop
    from rlx.tracing.random import random_bits, random_normal, random_uniform
    from rlx.tracing.trace import trace
    from rlx.transforms.bind import bind
    from rlx.transforms.freeze import freeze
    from rlx.verifier import Verification
    from rlx.weights import WeightStore

_HOMES = {
    "Accuracy": "rlx.inference",
    "Benchmark": "rlx.latency",
    "Comparison": "rlx.calibration.compare",
    "CompileOptions": "rlx.runtime",
    "CompiledGraph": "rlx.runtime",
    "Criteria": "rlx.calibration.criteria",
    "DType": "rlx.ir",
    "Device": "rlx.runtime",
    "Dim": "rlx.ir",
    "Emission": "rlx.target",
    "Estimate": "rlx.estimation",
    "Exported": "rlx.exporters",
    "Graph": "rlx.tracing",
    "GraphModule": "rlx.ir.module",
    "LayerValues": "rlx.inference",
    "Latency": "rlx.latency",
    "Layers": "rlx.inference",
    "Machine": "rlx.observation.machine",
    "MemoryEstimate": "rlx.observation.memory",
    "Model": "rlx.runtime",
    "Network": "rlx.networks",
    "PrecisionPolicy": "rlx.passes",
    "QuantParams": "rlx.ir",
    "Quantized": "rlx.calibration.quantize",
    "Ranked": "rlx.inference",
    "Report": "rlx.reporting.report",
    "Result": "rlx.inference",
    "RlxError": "rlx.errors",
    "Roofline": "rlx.observation.roofline",
    "Session": "rlx.runtime",
    "Tensor": "rlx.tracing",
    "TensorType": "rlx.ir",
    "Verification": "rlx.verifier",
    "WeightStore": "rlx.weights",
    "bench": "rlx.api",
    "bind": "rlx.transforms.bind",
    "compare": "rlx.api",
    "convert": "rlx.api",
    "devices": "rlx.runtime",
    "emit": "rlx.api",
    "estimate": "rlx.api",
    "estimate_all": "rlx.api",
    "export": "rlx.api",
    "f32": "rlx.ir",
    "freeze": "rlx.transforms.freeze",
    "i8": "rlx.ir",
    "if_": "rlx.tracing.control",
    "i32": "rlx.ir",
    "layers": "rlx.api",
    "load": "rlx.networks",
    "load_weights": "rlx.frontends.weights",
    "measure_machine": "rlx.observation.machine",
    "memory_estimate": "rlx.api",
    "model": "rlx.runtime",
    "pick_device": "rlx.api",
    "quantize": "rlx.api",
    "random_bits": "rlx.tracing.random",
    "random_normal": "rlx.tracing.random",
    "random_uniform": "rlx.tracing.random",
    "report": "rlx.api",
    "roofline": "rlx.api",
    "run": "rlx.api",
    "save": "rlx.ir.file",
    "scan": "rlx.tracing.control",
    "trace": "rlx.tracing",
    "verify": "rlx.api",
    "while_loop": "rlx.tracing.control",
}
"""Module of each public name; it is imported when the name is first used."""

__all__ = [
    "Accuracy",
    "Benchmark",
    "Comparison",
    "CompileOptions",
    "CompiledGraph",
    "Criteria",
    "DType",
    "Device",
    "Dim",
    "Emission",
    "Estimate",
    "Exported",
    "Graph",
    "GraphModule",
    "Latency",
    "LayerValues",
    "Layers",
    "Machine",
    "MemoryEstimate",
    "Model",
    "Network",
    "PrecisionPolicy",
    "QuantParams",
    "Quantized",
    "Ranked",
    "Report",
    "Result",
    "RlxError",
    "Roofline",
    "Session",
    "Tensor",
    "TensorType",
    "Verification",
    "WeightStore",
    "bench",
    "bind",
    "compare",
    "convert",
    "devices",
    "emit",
    "estimate",
    "estimate_all",
    "export",
    "f32",
    "freeze",
    "i8",
    "i32",
    "if_",
    "layers",
    "load",
    "load_weights",
    "measure_machine",
    "memory_estimate",
    "model",
    "pick_device",
    "quantize",
    "random_bits",
    "random_normal",
    "random_uniform",
    "report",
    "roofline",
    "run",
    "save",
    "scan",
    "trace",
    "verify",
    "while_loop",
]


_MODULES = ("config",)
"""Public modules that are imported in the same way."""


def _supply_pictures() -> None:
    """Let graphs show their pictures in notebooks, drawn by a package that they do not import."""
    from rlx.ir import supplied

    supplied.graph_page.supply(_graph_html)
    supplied.rows_picture.supply(_rows_svg)


def _graph_html(graph: _Graph, title: str) -> str:
    from rlx.drawing.notebook import graph_html

    return graph_html(graph, title)


def _rows_svg(
    nodes: Sequence[Node], inputs: Sequence[Value], rows: Sequence[Mapping[str, Any]]
) -> str:
    from rlx.drawing.notebook import rows_svg

    return rows_svg(nodes, inputs, rows)


if not TYPE_CHECKING:  # else a type checker would take any name for a public one

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that ``import rlx`` costs nothing."""
        if name in _MODULES:
            return import_module(f"rlx.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'rlx' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        _supply_pictures()
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted([*__all__, *_MODULES, "__version__"])
