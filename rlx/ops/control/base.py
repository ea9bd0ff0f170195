"""Base of ops with control flow: checks of their regions.

Tests: tests/unit/ops/control/test_control.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rlx.ir import DType, Op, TensorType, Traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph


class ControlOp(Op):
    """An op that runs its regions a number of times that depends on its operands."""

    operand_count: ClassVar[int | tuple[int, int | None]] = (0, None)
    traits: ClassVar[Traits] = Traits()
    __slots__ = ()

    def check_inputs(self, path: str, region: Graph, types: Sequence[TensorType]) -> None:
        """Raise ShapeError unless the inputs of ``region`` are of ``types``."""
        found = [v.type for v in region.inputs]
        if len(found) != len(types):
            raise self.refuse(f"{path} takes {len(found)} values, got {len(types)}")
        for place, (type_, wanted) in enumerate(zip(found, types, strict=True)):
            if type_ != wanted:
                raise self.refuse(f"input {place} of {path} is {type_}, but is given {wanted}")

    def check_condition(self, what: str, type_: TensorType) -> None:
        """Raise ShapeError unless ``type_`` is that of one boolean."""
        if type_.shape != () or type_.dtype is not DType.BOOL:
            raise self.refuse(f"{what} must be bool[], got {type_}")

    def check_same(self, what: str, actual: TensorType, expected: TensorType) -> TensorType:
        """Return the type of a value that comes from two places.

        Where only one of them has a quantization, the result has that one.

        Raises:
            ShapeError: Shapes, element types or quantization differ.
        """
        quant = expected.quant or actual.quant
        if actual.with_quant(actual.quant or quant) != expected.with_quant(quant):
            raise self.refuse(f"{what} is {actual}, but must be {expected}")
        return expected.with_quant(quant)


def result_types(region: Graph) -> tuple[TensorType, ...]:
    """Return the types of the outputs of a region."""
    return tuple(v.type for v in region.outputs)
