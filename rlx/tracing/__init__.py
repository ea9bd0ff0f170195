"""Building graphs by hand and by tracing."""

from rlx.tracing.graph import Graph
from rlx.tracing.tensor import Tensor
from rlx.tracing.trace import trace

__all__ = ["Graph", "Tensor", "trace"]
