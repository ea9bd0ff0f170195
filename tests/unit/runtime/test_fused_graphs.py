"""Fused graphs run by sessions: kernels, or bodies where a backend has none."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.passes.fusion import fuse
from rlx.runtime import CompileOptions, Session
from strategies.fusible import Fusible
from support.references.closeness import assert_close


@pytest.mark.parametrize("seed", range(24))
def test_a_session_runs_a_fused_graph(seed):
    case = Fusible(seed)
    fused, _ = fuse(case.graph)
    expected = evaluate(fused, case.inputs, case.params)
    compiled = Session().compile(fused, CompileOptions(simplify=False))
    for name, value in case.params.items():
        if any(p.name == name for p in fused.params):
            compiled.set_param(name, value)
    for _ in range(2):  # the second run finds what the first left in memory
        results = compiled.run_typed(case.inputs)
        for result, right in zip(results, expected, strict=True):
            assert result.dtype == right.dtype
            assert_close(np.asarray(result), right)
