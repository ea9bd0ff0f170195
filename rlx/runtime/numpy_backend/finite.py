"""The check for NaN and infinity.

Tests: tests/unit/runtime/observation/test_finite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.runtime.observation.finite import check_results

if TYPE_CHECKING:
    from rlx.runtime.numpy_backend.step import BoundStep, Run


def check(step: BoundStep, run: Run) -> Run:
    """Return ``run`` followed by a check of its results.

    The function raises FloatingPointError if the step makes NaN of other values, or infinity of
    finite ones.
    """
    # Operands are looked at afterwards: those whose bytes the step overwrites are copied before.
    overwritten = [any(np.may_share_memory(o, r) for r in step.outputs) for o in step.inputs]

    def run_checked() -> None:
        operands = [
            o.copy() if lost else o for o, lost in zip(step.inputs, overwritten, strict=True)
        ]
        run()
        check_results(step.node, operands, step.outputs)

    return run_checked
