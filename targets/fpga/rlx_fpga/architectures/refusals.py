"""Refusals of nodes, shared by the rules of all architectures.

Tests: tests/targets/fpga/architectures/engine/test_refusals.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    QConvert,
    QDiv,
    QL2Norm,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QResizeBilinear,
    QSigmoid16,
    QSoftmax16,
    QSquaredDifference,
    QSvdf,
    QSvdfState,
    QTanh16,
)

if TYPE_CHECKING:
    from rlx.ir import Op, RuleTable

INT8_INPUT: Final = (
    "quantize the model (rlx quantize), with fixed sizes: --input-shape for a model in ONNX"
)
"""Hint for an input that no stream can carry."""

INT16: Final = "its activations are int16, and values in the core are int8"
"""Reason for which no architecture builds ops on int16."""

NEAREST: Final = "it takes slices and joins, at most 64 along an axis; resize by a whole factor"
"""Reason why streams and the array have other layers in its place, or none."""

_WITHOUT_CELLS: Final[dict[type[Op], str]] = {
    QConvert: "values in the core are int8; only at its ports uint8 can be converted",
    QDiv: "no cell divides two computed tensors; divide by a constant, or multiply by the "
    "reciprocal in the model",
    QL2Norm: "no cell divides by the root of a sum; end the core before the layer, and normalize "
    "its output on the processor",
    QMatmul: "no cell multiplies two computed matrices; run that part on a Cortex-M, or use dense "
    "layers in place of attention in the model",
    QResizeBilinear: "no cell weights four pixels of two rows; resize with "
    "RESIZE_NEAREST_NEIGHBOR by a whole factor, or run the layer on the processor",
    QSquaredDifference: "no cell squares the difference of two computed tensors; run that part on "
    "a Cortex-M, or use a difference and a product in the model",
    **dict.fromkeys((QSigmoid16, QSoftmax16, QTanh16), INT16),
    **dict.fromkeys(
        (QLstmCell, QLstmOutput, QSvdf, QSvdfState),
        "its state is int16, and values in the core are int8; run it on a Cortex-M, or convert an "
        "SVDF layer with a state of int8",
    ),
}
"""Ops that no architecture has cells for, with the reason and a hint."""


def refuse_ops_without_cells(rules: RuleTable[Any]) -> None:
    """Register the reasons for ops that no architecture builds."""
    for op, reason in _WITHOUT_CELLS.items():
        rules.refuse(reason, op)


def rounding_refusal(op: Op) -> str | None:
    """Return the reason why one multiplication does not round as ``op`` does, or None."""
    for name in cast("Any", op).__dataclass_fields__:
        factor = getattr(op, name)
        if not isinstance(factor, Rescale):
            continue
        if factor.rounding is Rounding.FLOAT32:
            return "it rounds to float32 as ONNX Runtime does, which takes more than one product"
        if factor.rounding.to_parity is not None:
            parity = factor.rounding.value
            return f"it rounds halves to {parity} numbers, which takes more than one product"
    return None
