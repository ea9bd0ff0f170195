"""Control flow: ops that hold the graphs they run as attributes (regions).

Inputs and outputs of a region are tensors. Values of the outer graph that it reads are operands of
the op, so a region can be compiled separately, once, and run many times.
"""

from rlx.ops.control.branch import If
from rlx.ops.control.loop import Scan, While

CONTROL_OPS = (If, Scan, While)
"""Every op with control flow, in alphabetical order."""

__all__ = ["CONTROL_OPS", "If", "Scan", "While"]
