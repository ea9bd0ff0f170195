"""Rewrites of graphs: one module for each pass; ``pipelines`` holds the named sequences."""

from rlx.passes.base import Pass, Pipeline, UntilStable
from rlx.passes.dispatch import DispatchReport, Outcome, Policies, Policy
from rlx.passes.fit import Fitted, fit
from rlx.passes.pipelines import PIPELINES, SIMPLIFY, pipeline

__all__ = [
    "PIPELINES",
    "SIMPLIFY",
    "DispatchReport",
    "Fitted",
    "Outcome",
    "Pass",
    "Pipeline",
    "Policies",
    "Policy",
    "UntilStable",
    "fit",
    "pipeline",
]
