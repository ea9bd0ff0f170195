"""Softmax, sigmoid, hyperbolic tangent and mean on int16.

Tests: tests/targets/cortexm/kernels/int16/test_tactic.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx.ops.numerics.gates import SIGMOID
from rlx.ops.numerics.lookup16 import EXPONENTIALS, RECIPROCALS
from rlx.ops.q import QSigmoid16
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_c.nest import reduction
from rlx_cortexm.kernels.int16.tactic import REACH, scale_constants
from rlx_cortexm.scaling import INT32_BOUND
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMean, QSoftmax16, QTanh16

GATE: Final = 25
"""Instructions per value of a sigmoid or hyperbolic tangent."""

SHARE: Final = 60
"""Instructions per probability of a softmax."""

TERM: Final = 4
"""Instructions per value that a mean sums."""

RESULT: Final = 20
"""Instructions per mean."""


def gate(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a sigmoid or a hyperbolic tangent."""
    op = cast("QSigmoid16 | QTanh16", node.op)
    is_sigmoid = isinstance(op, QSigmoid16)
    length = node.types[0].size
    constants = {
        "length": length,
        "multiplier": op.multiplier,
        "shift": op.shift,
        "places": 9 if is_sigmoid else 8,
    }
    note = "sigmoid(i / 24) - 1/2"
    lowered = LoweredLayer(
        Kernel.of("sigmoid16" if is_sigmoid else "tanh16", "int16/gate", constants),
        operands=node.operands,
        tables=(ConstantTable("sigmoid", "int16_t", SIGMOID - (1 << 15), note),),
        instructions=length * GATE,
    )
    return (Candidate.of(lowered, "gate16"),)


def softmax(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a softmax."""
    columns = node.types[0].static_shape[-1]
    size = node.types[0].size
    scale = scale_constants(cast("QSoftmax16", node.op).rescale, 2 * REACH)
    constants = {"rows": size // columns, "columns": columns, **scale}
    lowered = LoweredLayer(
        Kernel.of("softmax16", "int16/softmax", constants, (str(scale["scale"]),)),
        operands=node.operands,
        tables=(
            ConstantTable("exponentials", "int16_t", EXPONENTIALS, "exponentials of -10 to 0"),
            ConstantTable("reciprocals", "int16_t", RECIPROCALS, "reciprocals of 1 to 2"),
        ),
        instructions=size * SHARE,
    )
    return (Candidate.of(lowered, "softmax16"),)


def mean(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a mean, or raise UnsupportedOpError."""
    op = cast("QMean", node.op)
    x = node.operands[0].type
    outer, inner = reduction(x.static_shape, op.axes)
    count = math.prod(loop.extent for loop in inner)
    if REACH * count >= INT32_BOUND:
        raise unsupported(node, f"a sum of {count} int16 values does not fit int32")
    scale = scale_constants(op.rescale, REACH * count)
    constants = {
        "kept": outer,
        "reduced": inner,
        "low": op.low,
        "high": op.high,
        **scale,
    }
    kernel = Kernel.of("mean16", "int16/mean", constants, (str(scale["scale"]),))
    instructions = TERM * x.size + RESULT * node.types[0].size
    lowered = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(lowered, "mean16"),)


GATE_OF: Final = Tactic(gate, "`gate16`: a table of 256 numbers, interpolated.", baseline=1.5)
SOFTMAX: Final = Tactic(
    softmax, "`softmax16`: tables of exponentials and reciprocals, interpolated.", baseline=2
)
MEAN: Final = Tactic(mean, "`mean16`: a sum, scaled once.", baseline=2.1)
