"""Every op: attributes, types, meaning. A folder for each level of the IR, a module for a family.

``evaluate`` of an integer op is its definition; ``numerics`` is the arithmetic that ops share.

Level 3. Public modules: ``checks``, ``control``, ``cost``, ``expression``, ``fused``,
``fused.attention``, ``fused.gated``, ``fused.norm``, ``fused.product``, ``fused.reading``,
``fused.softmax``, ``indexing``, ``nn``, ``nn.activation``, ``nn.layout``, ``numbers``,
``numerics.activations``, ``numerics.division``, ``numerics.exponential``, ``numerics.fixed_point``,
``numerics.float32``, ``numerics.functions``, ``numerics.gates``, ``numerics.halves``,
``numerics.lookup16``, ``numerics.philox``, ``numerics.products``, ``numerics.resampling``,
``numerics.scales``,
``numerics.special``, ``q``, ``q.extremes``, ``q.prepared.linear``, ``q.selection``,
``quantized_values``, ``real``, ``real.binary``, ``real.cast``, ``real.common``, ``real.index``,
``real.quantize``, ``real.random``, ``real.reduce``, ``real.window``, ``reductions``, ``rescale``,
``shapes``, ``tabulate``, ``work``.
"""

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
