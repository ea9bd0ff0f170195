"""Networks written in Python: graphs by hand and by tracing functions.

Loops, branches, random numbers and layers of weights are here too.

Level 4. Public modules: ``arrays``, ``layers``, ``trace``.
"""

from rlx.tracing.control import if_, scan, while_loop
from rlx.tracing.graph import Graph
from rlx.tracing.random import random_bits, random_normal, random_uniform
from rlx.tracing.tensor import Tensor
from rlx.tracing.trace import trace

__all__ = [
    "Graph",
    "Tensor",
    "if_",
    "random_bits",
    "random_normal",
    "random_uniform",
    "scan",
    "trace",
    "while_loop",
]
