"""Ops of one or two int8 values as tables that ``evaluate`` filled.

Tests: tests/unit/ops/q/test_prepared.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlx.ir import Array, Op
    from rlx.ir.op import Evaluator

_INT8_VALUES = np.arange(256, dtype=np.uint8).view(np.int8)
"""Every int8 value, at the index of its bits as an unsigned integer."""


def prepare_unary(op: Op) -> Evaluator:
    """Return the evaluator of an op that maps each value separately; int16 is computed."""
    (results,) = op.evaluate(_INT8_VALUES)
    table = results.tobytes()

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        if x.dtype.itemsize > 1:
            return op.evaluate(x)
        # bytearray.translate is twice as fast as indexing.
        found = bytearray(x.tobytes()).translate(table)
        return (np.frombuffer(found, np.int8).reshape(x.shape),)

    return evaluate


def prepare_binary(op: Op) -> Evaluator:
    """Return the evaluator of an op that maps each pair of values separately, with broadcasting.

    Pairs of int16 are computed.
    """
    (results,) = op.evaluate(_INT8_VALUES[:, np.newaxis], _INT8_VALUES)
    table = results.reshape(-1)

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x, y = operands
        if x.dtype.itemsize > 1:
            return op.evaluate(x, y)
        place = x.view(np.uint8).astype(np.uint16) << 8
        return (np.asarray(table[place | y.view(np.uint8)]),)

    return evaluate


def prepare_by_channel(op: Op, *constants: Array) -> Evaluator:
    """Return the evaluator of an op that maps each value separately, by its channel's constants.

    Args:
        op: The op.
        constants: All operands but the first: int8[C], or int8[1] for all channels.
    """
    (results,) = op.evaluate(_INT8_VALUES[:, np.newaxis], *constants)
    table = results.reshape(-1)
    channels = np.arange(results.shape[1])

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        return (np.asarray(table[x.view(np.uint8).astype(np.intp) * len(channels) + channels]),)

    return evaluate
