"""Rewrites of graphs: one module for each pass; ``pipelines`` holds the named sequences."""

from rlx.passes.base import Observer, Pass, Pipeline, Step, UntilStable, unobserved, verifying
from rlx.passes.dispatch import DispatchReport, Outcome, Policies, Policy
from rlx.passes.fit import Fitted, fit
from rlx.passes.pipelines import PIPELINES, SIMPLIFY, pipeline
from rlx.passes.precision import PrecisionPolicy, apply_precision

__all__ = [
    "PIPELINES",
    "SIMPLIFY",
    "DispatchReport",
    "Fitted",
    "Observer",
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
