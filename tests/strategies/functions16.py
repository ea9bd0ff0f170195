"""Cases of functions on int16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.numerics.gates import gate_scaling
from rlx.ops.q import QSigmoid16, QSoftmax16, QTanh16
from strategies.recurrent import wide_input
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Case, Maker


@strategy(QSoftmax16)
def softmax16(make: Maker) -> Case:
    """Softmax with scales from tiny (all equal) to huge (one winner)."""
    factor = make.pick(1.0, 0.06, 2.0**-12, 7.3, 20000.0)
    leading = make.pick((make.batch(),), (), (make.batch(), 2, 2))
    shape = (*leading, make.integer(1, 4 * make.knobs.size))
    return make.finish(QSoftmax16(rescale=Rescale.of(factor)), wide_input(make, shape, "x"))


@strategy(QSigmoid16)
def sigmoid16(make: Maker) -> Case:
    """Sigmoids of scales from tiny to those of integers."""
    return _gate(make, QSigmoid16)


@strategy(QTanh16)
def tanh16(make: Maker) -> Case:
    """Tangents of scales from tiny to those of integers."""
    return _gate(make, QTanh16)


def _gate(make: Maker, kind: type[QSigmoid16 | QTanh16]) -> Case:
    multiplier, shift = gate_scaling(make.pick(2.0**-12, 1e-3, 1e-6, 0.3, 2.6))
    shape = (make.batch(), make.integer(1, 4 * make.knobs.size))
    return make.finish(kind(multiplier=multiplier, shift=shift), wide_input(make, shape, "x"))
