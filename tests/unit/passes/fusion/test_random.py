"""1,000 random graphs with patterns and near misses: fused equals unfused."""

import pytest

from rlx.ir import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.passes.fusion import Pattern, fuse
from strategies.fusible import Fusible
from support.references.ulps import ULPS, check_fused

CHUNKS = 20
GRAPHS = 50


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_fused_equals_unfused(chunk):
    exact = changed = 0
    patterns = set()
    for seed in range(chunk * GRAPHS, (chunk + 1) * GRAPHS):
        case = Fusible(seed)
        fused, report = fuse(case.graph)
        assert check_fused(case.graph, fused, report, case.inputs, case.params) <= ULPS
        verify(GraphModule(fused, Stage.MIR))
        assert report.before == sum(1 for _ in case.graph.op_nodes)
        assert report.after == sum(1 for _ in fused.op_nodes)
        exact += report.exact
        changed += bool(report.fused)
        patterns.update(f.pattern for f in report.fused)
    # Not all of them exact, not all of them inexact, and every pattern among them.
    assert 10 <= exact <= GRAPHS - 10
    assert changed >= GRAPHS - 10
    assert patterns == set(Pattern)
