"""Building graphs by hand and by tracing."""

from rlx.build.graph import Graph
from rlx.build.tensor import Tensor
from rlx.build.trace import trace

__all__ = ["Graph", "Tensor", "trace"]
