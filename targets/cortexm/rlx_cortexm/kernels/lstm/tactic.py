"""LSTM layers: the gates of a unit, one after the other, then its cell or hidden state.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.numerics.gates import SIGMOID
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QLstmCell, QLstmOutput
from rlx.targets.operands import constant_operand, unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.scaling import INT32_BOUND
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64

PRODUCT: Final = 6
GATE: Final = 90
RESULT: Final = 60
"""Instructions for each product, for each gate, and for each state."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a state, or raise UnsupportedOpError."""
    op = cast("QLstmCell | QLstmOutput", node.op)
    w, r = (constant_operand(node, k, "weights").astype(np.int8) for k in (3, 4))
    bias = constant_operand(node, 5, "bias")
    batch, units = node.types[0].static_shape
    of_input = _offsets(node, w, op.x_zero_point, bias)
    of_state = _offsets(node, r, op.h_zero_point, np.zeros_like(bias))
    constants: dict[str, Hashable] = {
        "batch": batch,
        "inputs": w.shape[1],
        "units": units,
        "gates": op.gates,
        **(_cell_constants(op) if isinstance(op, QLstmCell) else _output_constants(op)),
    }
    name = op.name.removeprefix("q.")
    template = f"lstm/{name.removeprefix('lstm_')}"
    layer = LoweredLayer(
        Kernel.of(name, template, constants, ("dot1", "scale_wide")),
        operands=node.operands[:3],
        tables=_tables(op, w, r, np.concatenate([of_input, of_state])),
        macs=batch * (w.size + r.size),
        instructions=batch * (PRODUCT * (w.size + r.size) + GATE * len(w) + RESULT * units),
        weight_bits=8,
    )
    return (Candidate.of(layer, name),)


def _tables(
    op: QLstmCell | QLstmOutput, w: Array, r: Array, bias: Int64
) -> tuple[ConstantTable, ...]:
    """Return the constants of an op: of the input ``w``, of the hidden state ``r``, of both."""
    both = "of the input and of the hidden state"
    rescales = (op.input_rescale, op.recurrent_rescale)
    factors = [(v.multiplier[k], v.shift[k]) for k in range(op.gates) for v in rescales]
    return (
        ConstantTable("weights", "int8_t", w.reshape(-1), "weights of the input"),
        ConstantTable("recurrent", "int8_t", r.reshape(-1), "weights of the hidden state"),
        ConstantTable("bias", "int32_t", bias, f"biases, with zero points, {both}"),
        ConstantTable(
            "factors", "int32_t", np.array(factors).reshape(-1), f"multiplier and shift {both}"
        ),
        ConstantTable("sigmoid", "int16_t", SIGMOID - (1 << 15), "sigmoid(i / 24) - 1/2"),
    )


def _offsets(node: Node, weights: Array, zero_point: int, bias: Array) -> Int64:
    """Return the biases with the zero point in them, after a check that sums fit int32."""
    wide: Int64 = bias.astype(np.int64) - zero_point * weights.astype(np.int64).sum(axis=1)
    bound = int((128 * magnitudes(weights) + np.abs(wide)).max())
    if bound >= INT32_BOUND:
        raise unsupported(node, f"a sum may reach {bound}, beyond the int32 accumulator")
    return wide


def _cell_constants(op: QLstmCell) -> dict[str, Hashable]:
    return {
        "forget": (op.forget_rescale.multiplier[0], op.forget_rescale.shift[0]),
        "update": (op.update_rescale.multiplier[0], op.update_rescale.shift[0]),
        "low": max(-op.clip, -(1 << 15)),
        "high": min(op.clip, (1 << 15) - 1),
    }


def _output_constants(op: QLstmOutput) -> dict[str, Hashable]:
    return {
        "factor": (op.rescale.multiplier[0], op.rescale.shift[0]),
        "left": 12 + op.power,
        "zero_point": op.h_zero_point,
    }


LSTM: Final = Tactic(
    candidates,
    "`lstm_cell`, `lstm_output`: the gates of a unit, one after the other.",
    baseline=2.4,
)
