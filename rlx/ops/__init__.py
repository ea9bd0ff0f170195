"""What can be said: every op, by level. One module for each family."""

from rlx.ops import checks, cost, views
from rlx.ops.control import CONTROL_OPS
from rlx.ops.fused import FUSED_OPS
from rlx.ops.nn import NN_OPS
from rlx.ops.q import Q_OPS
from rlx.ops.real import REAL_OPS

ALL_OPS = (*NN_OPS, *REAL_OPS, *Q_OPS, *CONTROL_OPS, *FUSED_OPS)
"""Every op of every level."""

__all__ = [
    "ALL_OPS",
    "CONTROL_OPS",
    "FUSED_OPS",
    "NN_OPS",
    "Q_OPS",
    "REAL_OPS",
    "checks",
    "cost",
    "views",
]
