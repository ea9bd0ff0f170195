"""Models at whose codes one sees in which precision an interpreter combines scales.

An importer multiplies and divides scales, and writes the result as a multiplier of 31 bits and a
shift. Whether that is done in float32 or in double changes the multiplier's last bits, and of the
codes only those whose accumulator lies at a rounding half. Random models hardly ever have one, so
each function of ``SWEEPS`` looks for scales and accumulators with which the codes differ.
"""

from functools import partial

from scale_sweep.arith import ARITHMETIC, binary
from scale_sweep.case import BOUNDS, Case, check, sweep
from scale_sweep.compare import COMPARE
from scale_sweep.functions import FUNCTIONS
from scale_sweep.layers import LAYERS, layer
from scale_sweep.tables import TABLES, clamp

SWEEPS = {**LAYERS, **ARITHMETIC, **COMPARE, **TABLES, **FUNCTIONS}
"""For each operator a function that draws a model from a random generator."""

_FUSED = {
    layer: ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"),
    binary: ("ADD", "SUB", "MUL"),
    clamp: ("MAX_POOL_2D", "AVERAGE_POOL_2D"),
}
CLAMPS = {
    **{n: partial(draw, operator=n) for draw, names in _FUSED.items() for n in names},
    "RELU6": partial(clamp, operator="RELU6"),
}
"""For each operator that clamps a function that draws a model; it is told the activation."""

__all__ = ["BOUNDS", "CLAMPS", "SWEEPS", "Case", "check", "sweep"]
