"""rlx: compile int8 networks to C for Cortex-M and SystemVerilog for FPGAs, or run them here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rlx.support.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

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
    from rlx.calibration.quantize import Quantized
    from rlx.driver.exporters import Exported
    from rlx.frontends.weights import WeightStore
    from rlx.frontends.weights.loading import load_weights
    from rlx.ir import Dim, DType, Node, QuantParams, TensorType, Value, f32, i8, i32
    from rlx.ir import Graph as _Graph
    from rlx.ir.module import GraphModule
    from rlx.metrics.comparison_result import Comparison
    from rlx.metrics.criteria import Criteria
    from rlx.metrics.inference import Accuracy, Layers, LayerValues, Ranked, Result
    from rlx.networks import Network, load, save
    from rlx.passes import PrecisionPolicy
    from rlx.passes.transforms.bind import bind
    from rlx.passes.transforms.freeze import freeze
    from rlx.passes.transforms.jacobian import hessian, jacfwd, jacrev
    from rlx.passes.transforms.jvp import jvp
    from rlx.passes.transforms.vjp import grad, hvp, value_and_grad, vjp
    from rlx.passes.transforms.vmap import vmap
    from rlx.reports.report import Report
    from rlx.runtime import (
        Buckets,
        CompiledGraph,
        CompileOptions,
        Device,
        Model,
        Session,
        devices,
    )
    from rlx.runtime.latency import Benchmark, Latency
    from rlx.runtime.model import model
    from rlx.runtime.observation.machine import Machine, measure_machine
    from rlx.runtime.observation.memory import MemoryEstimate
    from rlx.runtime.observation.roofline import Roofline
    from rlx.support import config as config
    from rlx.support.errors import RlxError
    from rlx.targets import Emission
    from rlx.targets.estimation import Estimate
    from rlx.targets.verifier import Verification
    from rlx.tracing import Graph, Tensor
    from rlx.tracing.control import if_, scan, while_loop
    from rlx.tracing.random import random_bits, random_normal, random_uniform
    from rlx.tracing.trace import trace

_HOMES = {
    "Accuracy": "rlx.metrics.inference",
    "Benchmark": "rlx.runtime.latency",
    "Buckets": "rlx.runtime",
    "Comparison": "rlx.metrics.comparison_result",
    "CompileOptions": "rlx.runtime",
    "CompiledGraph": "rlx.runtime",
    "Criteria": "rlx.metrics.criteria",
    "DType": "rlx.ir",
    "Device": "rlx.runtime",
    "Dim": "rlx.ir",
    "Emission": "rlx.targets",
    "Estimate": "rlx.targets.estimation",
    "Exported": "rlx.driver.exporters",
    "Graph": "rlx.tracing",
    "GraphModule": "rlx.ir.module",
    "Latency": "rlx.runtime.latency",
    "LayerValues": "rlx.metrics.inference",
    "Layers": "rlx.metrics.inference",
    "Machine": "rlx.runtime.observation.machine",
    "MemoryEstimate": "rlx.runtime.observation.memory",
    "Model": "rlx.runtime",
    "Network": "rlx.networks",
    "PrecisionPolicy": "rlx.passes",
    "QuantParams": "rlx.ir",
    "Quantized": "rlx.calibration.quantize",
    "Ranked": "rlx.metrics.inference",
    "Report": "rlx.reports.report",
    "Result": "rlx.metrics.inference",
    "RlxError": "rlx.support.errors",
    "Roofline": "rlx.runtime.observation.roofline",
    "Session": "rlx.runtime",
    "Tensor": "rlx.tracing",
    "TensorType": "rlx.ir",
    "Verification": "rlx.targets.verifier",
    "WeightStore": "rlx.frontends.weights",
    "bench": "rlx.api",
    "bind": "rlx.passes.transforms.bind",
    "compare": "rlx.api",
    "convert": "rlx.api",
    "devices": "rlx.runtime",
    "emit": "rlx.api",
    "estimate": "rlx.api",
    "estimate_all": "rlx.api",
    "export": "rlx.api",
    "f32": "rlx.ir",
    "freeze": "rlx.passes.transforms.freeze",
    "grad": "rlx.passes.transforms.vjp",
    "hessian": "rlx.passes.transforms.jacobian",
    "hvp": "rlx.passes.transforms.vjp",
    "i32": "rlx.ir",
    "i8": "rlx.ir",
    "if_": "rlx.tracing.control",
    "jacfwd": "rlx.passes.transforms.jacobian",
    "jacrev": "rlx.passes.transforms.jacobian",
    "jvp": "rlx.passes.transforms.jvp",
    "layers": "rlx.api",
    "load": "rlx.networks",
    "load_weights": "rlx.frontends.weights.loading",
    "measure_machine": "rlx.runtime.observation.machine",
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
    "save": "rlx.networks",
    "scan": "rlx.tracing.control",
    "trace": "rlx.tracing",
    "value_and_grad": "rlx.passes.transforms.vjp",
    "verify": "rlx.api",
    "vjp": "rlx.passes.transforms.vjp",
    "vmap": "rlx.passes.transforms.vmap",
    "while_loop": "rlx.tracing.control",
}
"""Module of each public name; it is imported when the name is first used."""

__all__ = [
    "Accuracy",
    "Benchmark",
    "Buckets",
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
    "grad",
    "hessian",
    "hvp",
    "i8",
    "i32",
    "if_",
    "jacfwd",
    "jacrev",
    "jvp",
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
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
    "while_loop",
]


_MODULES = {"config": "rlx.support.config"}
"""Public modules that are imported in the same way."""


def _supply_pictures() -> None:
    """Let graphs show their pictures in notebooks, drawn by a package that they do not import."""
    from rlx.ir import supplied

    supplied.graph_page.supply(_graph_html)
    supplied.graph_picture.supply(_graph_picture)
    supplied.rows_picture.supply(_rows_svg)


def _graph_html(graph: _Graph, title: str) -> str:
    from rlx.reports.drawing.notebook import graph_html

    return graph_html(graph, title)


def _graph_picture(graph: _Graph) -> str:
    from rlx.reports.drawing.graph import layout
    from rlx.reports.drawing.svg import Picture, to_svg

    return Picture(to_svg(layout(graph)))


def _rows_svg(
    nodes: Sequence[Node], inputs: Sequence[Value], rows: Sequence[Mapping[str, Any]]
) -> str:
    from rlx.reports.drawing.notebook import rows_svg

    return rows_svg(nodes, inputs, rows)


if not TYPE_CHECKING:  # else a type checker would take any name for a public one

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that ``import rlx`` costs nothing."""
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name not in _HOMES:
            raise AttributeError(f"module 'rlx' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        _supply_pictures()
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted([*__all__, *_MODULES, "__version__"])
