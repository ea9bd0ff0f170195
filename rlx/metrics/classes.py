"""Classes in the outputs of networks, and how often two networks agree on them.

Boxes, landmarks and embeddings have a largest element too, but no class.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ops.nn import NnFlatten, NnSoftmax
from rlx.ops.q import QArgmax, QReshape, QSoftmax, QTranspose
from rlx.ops.real import (
    RealArgmax,
    RealArgmin,
    RealCast,
    RealDequantize,
    RealDiv,
    RealQuantize,
    RealReshape,
    RealSigmoid,
    RealSqrt,
    RealTanh,
    RealTranspose,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Op, Value
    from rlx.metrics.sides import OutputSide, Side

    Numbers = npt.NDArray[Any]

_SAME: Final[tuple[type[Op], ...]] = (
    NnFlatten, RealReshape, QReshape, RealCast, RealQuantize, RealDequantize,
)  # fmt: skip
_NO_CLASSES: Final[tuple[type[Op], ...]] = (RealSigmoid, RealTanh, RealDiv, RealSqrt)
"""Ends of outputs whose elements are scores of their own, or parts of one vector."""


class ClassForm(enum.Enum):
    """Form in which an output says a class.

    ``SHARES`` is a softmax's, ``INDEX`` an argmax's; ``LARGEST`` is a plain vector, the only
    output, which may be a class of logits.
    """

    SHARES = "shares"
    INDEX = "index"
    LARGEST = "largest"


@dataclass(slots=True)
class Classes:
    """An output that determines a class, and how often two networks agree on it.

    Attributes:
        form: Form in which it says the class.
        axis: Axis of the classes, from the end; None for all elements of a sample.
        same: Classes that are the same.
        total: Classes compared.
    """

    form: ClassForm
    axis: int | None = None
    same: int = 0
    total: int = 0

    def add(self, first: Numbers, second: Numbers) -> None:
        """Compare a batch ``[n, *shape of a sample]``."""
        chosen = [self._of(array) for array in (first, second)]
        self.same += int((chosen[0] == chosen[1]).sum())
        self.total += chosen[0].size

    def _of(self, array: Numbers) -> Numbers:
        if self.form is ClassForm.INDEX:
            return array.reshape(-1)
        if self.axis is not None and array.ndim > 1:
            return np.asarray(array.argmax(axis=self.axis)).reshape(-1)
        return np.asarray(array.reshape(len(array), -1).argmax(axis=1))

    @property
    def agreement(self) -> float:
        """Share of classes that are the same."""
        return self.same / max(self.total, 1)


def classes_of(side: Side, index: int, *, labelled: bool) -> Classes | None:
    """Return the classes that an output says, or None.

    Args:
        side: Side of the comparison.
        index: Place of the output.
        labelled: Whether there are labels, so that a plain vector is one of classes.
    """
    value = side.graph.outputs[index] if side.graph is not None else None
    stated = None if value is None else _classes_of_value(value)
    if stated is not None:
        return stated
    alone = len(side.ports) == 1
    if not (_is_vector(side.ports[index]) and (labelled or alone)):
        return None
    if value is not None and not labelled and isinstance(_origin(value).node.op, _NO_CLASSES):
        return None
    return Classes(ClassForm.LARGEST)


def _is_vector(port: OutputSide) -> bool:
    """Return whether a sample of an output is a vector of several elements."""
    if port.type is None:
        return True
    shape: Sequence[object] = port.type.shape[1:] if port.type.rank > 1 else port.type.shape
    return len(shape) == 1 and shape != (1,)


def _origin(value: Value) -> Value:
    """Return the value that an output holds in another shape or element type."""
    while isinstance(value.node.op, _SAME):
        value = value.node.operands[0]
    return value


def _classes_of_value(value: Value) -> Classes | None:
    """Return the form of an output that a softmax or an argmax makes."""
    rank, order = value.type.rank, list(range(value.type.rank))
    while isinstance(value.node.op, (*_SAME, RealTranspose, QTranspose)):
        op = value.node.op
        if isinstance(op, RealTranspose | QTranspose):
            order = [op.axes[a] for a in order]
        elif value.type.rank != value.node.operands[0].type.rank:
            order = []
        value = value.node.operands[0]
    if isinstance(value.node.op, RealArgmax | RealArgmin | QArgmax):
        return Classes(ClassForm.INDEX)
    if not isinstance(value.node.op, NnSoftmax | QSoftmax):
        return None
    if value.type.size == value.type.shape[_softmax_axis(value)]:
        return Classes(ClassForm.SHARES)
    axis = _softmax_axis(value) % value.type.rank
    return Classes(ClassForm.SHARES, order.index(axis) - rank) if order else None


def _softmax_axis(value: Value) -> int:
    op = value.node.op
    return op.axis if isinstance(op, NnSoftmax) else -1
