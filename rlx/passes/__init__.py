"""Rewrites of graphs: one module for each pass; ``pipelines`` holds the named sequences."""

from rlx.passes.base import Pass, Pipeline, UntilStable
from rlx.passes.legalize import DispatchReport, Legalize, dispatch_report
from rlx.passes.pipelines import PIPELINES, SIMPLIFY, for_target, pipeline

__all__ = [
    "PIPELINES",
    "SIMPLIFY",
    "DispatchReport",
    "Legalize",
    "Pass",
    "Pipeline",
    "UntilStable",
    "dispatch_report",
    "for_target",
    "pipeline",
]
