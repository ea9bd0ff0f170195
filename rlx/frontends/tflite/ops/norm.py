"""Normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.tflite.ops.importers import real_importer
from rlx.frontends.tflite.ops.reals import finish_activated, require_float
from rlx.ops.nn import NnL2Norm

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

# The square of the smallest length that is divided by.
_EPSILON = 1e-12


@real_importer("L2_NORMALIZATION")
def import_l2_normalization(call: Call) -> None:
    """``L2_NORMALIZATION`` on float32 over the last axis."""
    call.arity(1)
    require_float(call.input(0), call.output)
    finish_activated(call, NnL2Norm(axes=(-1,), epsilon=_EPSILON), call.value(0))
