"""Named sequences of passes.

Tests: tests/unit/passes/test_pipeline.py
"""

from __future__ import annotations

from rlx.passes.base import Pipeline, UntilStable
from rlx.passes.canonicalize import Canonicalize
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.constant_channels import DropConstantChannels
from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import Decompose
from rlx.passes.fold_constants import FoldConstants
from rlx.passes.fuse_chains import FuseChains
from rlx.passes.fuse_clamps import FuseClamps
from rlx.passes.fuse_pads import FusePads
from rlx.passes.round_halves import RoundHalvesUp
from rlx.passes.unroll import Unroll
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

SIMPLIFY = UntilStable(
    passes=(
        # First the passes that unroll regions; last the removal of unread nodes.
        Unroll(),
        Canonicalize(),
        FoldConstants(),
        FuseClamps(),
        FuseChains(),
        FusePads(),
        DropConstantChannels(),
        RoundHalvesUp(),
        CommonSubexpressions(),
        DeadCode(),
    )
)
"""Passes that every target applies to a graph before it is fitted."""

HOST = UntilStable(passes=(FoldConstants(), CommonSubexpressions(), DeadCode()))
"""Passes that the host runtime applies to a graph in a backend's ops."""

PIPELINES = {
    p.name: p
    for p in (
        Pipeline("none", ()),
        Pipeline("decompose", (Decompose(), DeadCode())),
        Pipeline("default", (Decompose(), SIMPLIFY)),
        Pipeline("host", (HOST,), result=None),
    )
}
"""Pipelines that need no target, by name."""


def pipeline(name: str) -> Pipeline:
    """Return the pipeline called ``name``.

    Raises:
        UsageError: There is none.
    """
    try:
        return PIPELINES[name]
    except KeyError:
        raise UsageError(
            f"no pipeline is called {name!r}",
            hint=did_you_mean(name, sorted(PIPELINES), what="pipelines"),
        ) from None
