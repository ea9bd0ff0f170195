"""Rewrites of graphs: one module for each pass; ``pipelines`` holds the named sequences.

Passes keep every bit; ``transforms`` change the interface of a graph (batch, sizes, parameters,
derivatives), and ``quantize`` turns floats into exact integers by scales that are known.

Level 4. Public modules: ``boundaries``, ``channels_last``, ``channels_last_ports``, ``dead_code``,
``decompose``, ``fit``, ``fusion``, ``precision``, ``quantize.activations``, ``quantize.assumed``,
``quantize.bias_correction``, ``quantize.convert``, ``quantize.equalize``, ``quantize.functions``,
``quantize.islands``, ``quantize.known``, ``quantize.known_ranges``, ``quantize.masks``,
``quantize.params``, ``quantize.readiness``, ``quantize.rounding``, ``quantize.scheme``,
``quantize.single``, ``quantize.stored_weights``, ``quantize.weighted``, ``split_params``,
``stripes``, ``transforms.batch``, ``transforms.bind``, ``transforms.freeze``,
``transforms.jacobian``, ``transforms.jvp``, ``transforms.rows``, ``transforms.vjp``,
``transforms.vmap``, ``unroll``.
"""

from rlx.passes.base import Observer, Pass, Pipeline, Step, UntilStable, unobserved, verifying
from rlx.passes.dispatch import DispatchReport, OpDispatch, Outcome, Policies, Policy
from rlx.passes.fit import Fitted, fit
from rlx.passes.pipelines import PIPELINES, SIMPLIFY, pipeline
from rlx.passes.precision import PrecisionPolicy, apply_precision

__all__ = [
    "PIPELINES",
    "SIMPLIFY",
    "DispatchReport",
    "Fitted",
    "Observer",
    "OpDispatch",
    "Outcome",
    "Pass",
    "Pipeline",
    "Policies",
    "Policy",
    "PrecisionPolicy",
    "Step",
    "UntilStable",
    "apply_precision",
    "fit",
    "pipeline",
    "unobserved",
    "verifying",
]
