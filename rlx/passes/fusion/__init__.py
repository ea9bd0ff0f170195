"""Fusion: patterns of ``real.*`` ops become one op each, with a report. One module a pattern."""

from rlx.passes.fusion.engine import claims_all, fuse
from rlx.passes.fusion.options import Claims, FusionOptions, FusionPolicy, Pattern
from rlx.passes.fusion.report import (
    FusedPattern,
    FusionReport,
    MissedFusion,
    MissReason,
    NodeNote,
)

__all__ = [
    "Claims",
    "FusedPattern",
    "FusionOptions",
    "FusionPolicy",
    "FusionReport",
    "MissReason",
    "MissedFusion",
    "NodeNote",
    "Pattern",
    "claims_all",
    "fuse",
]
