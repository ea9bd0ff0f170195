"""Export of one node to ``.tflite``: its operands as tensors, its result, refusals.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from rlx.driver.exporters.nodes import FULL, NodeExport
from rlx.driver.exporters.tflite.file import TYPES, TfliteFile
from rlx.frontends.tflite.schema import Activation
from rlx.ir import DType, QuantParams
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.rescale import RangeError, activation_bounds, rescale_of
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from rlx.ir import Array, Node, Value
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.ops.q import QMatmul, QMul

_ACTIVATIONS: Final = {
    Activation.NONE: (None, None),
    Activation.RELU: (0.0, None),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
}
"""Ends of the fused activations; None is the end of int8."""


@dataclass(slots=True)
class ExportState:
    """A file that grows.

    Attributes:
        file: The file.
        tensors: Number of the tensor of each value that was exported.
        weights: Number of the tensor of constants in the order of axes of an operator.
    """

    file: TfliteFile
    tensors: dict[Value, int] = field(default_factory=dict)
    weights: dict[tuple[Value, tuple[int, ...]], int] = field(default_factory=dict)


class ExportedNode(NodeExport):
    """A node that is exported.

    Attributes:
        state: The file, and the tensors it has.
        node: The node.
    """

    format: ClassVar[str] = "TFLite"
    form: ClassVar[str] = "int8 .tflite"

    def __init__(self, state: ExportState, node: Node) -> None:
        super().__init__(node)
        self.state = state

    def params(self, value: Value, zero_point: int) -> QuantParams:
        """Return scale and zero point of ``value``, which the op assumes to be ``zero_point``.

        Raises:
            UnsupportedOpError: The value has no scale, or another zero point.
        """
        quant = value.type.quant
        if quant is None or quant.axis is not None:
            raise self.refused(
                f"{value.node.label} has no scale", "export a network that rlx quantized or read"
            )
        if quant.zero_point[0] != zero_point:
            raise self.refused(
                f"{value.node.label} has the zero point {quant.zero_point[0]}, but the op "
                f"computes with {zero_point}",
                "export a network that rlx quantized or read",
            )
        return quant

    def scale(self, value: Value, zero_point: int) -> float:
        """Return the scale of ``value``; errors as ``params``."""
        return self.params(value, zero_point).scale[0]

    def require_rescale(self, rescale: Rescale, expected: Rescale) -> None:
        """Refuse an op whose factors are not those that TFLite derives from the scales."""
        if rescale.rounding is not Rounding.DOUBLE:
            raise self.refused(
                f"rounds {rescale.rounding.value}, and operators of TFLite round twice, half up",
                "export it to .onnx, whose operators round halves to even",
            )
        actual = np.array([rescale.multiplier, rescale.shift])
        if np.any(actual != np.array([expected.multiplier, expected.shift])):
            raise self.refused(
                f"scales by {rescale.real[0]:.9g}, but TFLite derives {expected.real[0]:.9g} from "
                "the scales of its operands and result",
                "export a network that rlx quantized or read from a .tflite file",
            )

    def product_operands(self, op: QMatmul | QMul) -> tuple[int, int]:
        """Return both operands of a product, after a check that its factor follows from scales."""
        x, y = self.node.operands
        product = self.scale(x, op.x_zero_point) * self.scale(y, op.y_zero_point)
        factor = product / self.scale(self.result, op.zero_point)
        self.require_rescale(op.rescale, rescale_of(factor))
        return self.tensor(x), self.tensor(y)

    def require_same_quant(self, *values: Value) -> None:
        """Refuse operands whose scale or zero point differs from that of the result."""
        for value in values:
            if value.type.quant != self.result.type.quant:
                raise self.refused(
                    f"{value.node.label} has another scale or zero point than the result",
                    "requantize the operand first (q.requantize)",
                )

    def tensor(self, value: Value) -> int:
        """Return the tensor of an operand; constants are added at their first use."""
        if value not in self.state.tensors:
            array = value.constant
            if array is None:
                raise AssertionError(f"{value.node.label} was not exported before its user")
            name, quant = self.name_of(value, "constant"), value.type.quant
            self.state.tensors[value] = self.state.file.constant(name, _stored(array), quant)
        return self.state.tensors[value]

    def weights(self, value: Value, axes: tuple[int, ...], quant: QuantParams) -> int:
        """Return the tensor of constant weights, brought into another order of axes.

        Args:
            value: int8, int4 or int2 weights; narrow ones are stored as int8.
            axes: The order of axes in the file.
            quant: Their scales, along an axis of the file.
        """
        key = value, axes
        if key not in self.state.weights:
            array = _stored(self.constant(value)).transpose(axes)
            name = self.name_of(value, "weights")
            self.state.weights[key] = self.state.file.constant(name, array, quant)
        return self.state.weights[key]

    def integers(self, what: str, numbers: object) -> int:
        """Return the tensor of new int32 constants, such as axes or a shape."""
        return self.state.file.constant(f"{self.name}/{what}", np.array(numbers, np.int32))

    @property
    def name(self) -> str:
        """Name of the result in the file."""
        return self.name_of(self.result, self.op.name)

    def name_of(self, value: Value, kind: str) -> str:
        """Return the name of a value in the file, one of its own if it has none."""
        return printable(value.name) or f"{kind}_{value.node.index}"

    def between(self, what: str, quant: QuantParams | None = None) -> int:
        """Add a tensor of the result's type before the result itself, and return its number."""
        type_ = self.result.type
        return self.state.file.tensor(
            f"{self.name}/{what}", type_.static_shape, TYPES[type_.dtype], quant or type_.quant
        )

    def finish(self, operator: str, *inputs: int, version: int, **options: Any) -> None:  # noqa: ANN401
        """Add an operator that makes the result."""
        self._into(self._result(), operator, inputs, version, options)

    def finish_clamped(
        self,
        operator: str,
        *inputs: int,
        version: int,
        clamp: tuple[int, int],
        **options: Any,  # noqa: ANN401 - fields of the operator's table of options
    ) -> None:
        """Add an operator with a fused activation that makes the result.

        Where no activation of TFLite clamps to the bounds, MAXIMUM and MINIMUM with a constant do.
        """
        quant = self.params(self.result, self._zero_point())
        for activation, ends in _ACTIVATIONS.items():
            try:
                bounds = activation_bounds(*ends, quant.scale[0], quant.zero_point[0], DType.I8)
            except RangeError:
                continue
            if bounds == clamp:
                self.finish(operator, *inputs, version=version, activation=activation, **options)
                return
        raw = self.between("unclamped")
        self._into(raw, operator, inputs, version, {"activation": Activation.NONE, **options})
        self.finish_bounds(raw, clamp)

    def finish_plain(
        self,
        operator: str,
        *inputs: int,
        version: int,
        clamp: tuple[int, int],
        **options: Any,  # noqa: ANN401 - fields of the operator's table of options
    ) -> None:
        """Add an operator that has no fused activation, followed by operators that clamp."""
        if clamp == FULL:
            self.finish(operator, *inputs, version=version, **options)
            return
        raw = self.between("unclamped")
        self._into(raw, operator, inputs, version, options)
        self.finish_bounds(raw, clamp)

    def finish_bounds(self, x: int, clamp: tuple[int, int]) -> None:
        """Add the operators that clamp tensor ``x`` to the result; at least one bound is inside."""
        bounds = [
            (name, bound)
            for name, bound, end in zip(("MAXIMUM", "MINIMUM"), clamp, FULL, strict=True)
            if bound != end
        ]
        for position, (name, bound) in enumerate(bounds):
            last = position == len(bounds) - 1
            y = self._result() if last else self.between("lower_bound")
            data = np.array([bound], np.int8)
            limit = self.state.file.constant(
                f"{self.name}/{name.lower()}", data, self.result.type.quant
            )
            self._into(y, name, (x, limit), 2, {})
            x = y

    def add(
        self,
        output: int,
        operator: str,
        *inputs: int,
        version: int,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Add an operator that makes a tensor between others."""
        self._into(output, operator, inputs, version, options)

    def _into(
        self,
        output: int,
        operator: str,
        inputs: tuple[int, ...],
        version: int,
        options: dict[str, Any],
    ) -> None:
        self.state.file.operator(operator, inputs, [output], version, **options)

    def _result(self) -> int:
        type_, value = self.result.type, self.result
        number = self.state.file.tensor(
            self.name, type_.static_shape, TYPES[type_.dtype], type_.quant
        )
        self.state.tensors[value] = number
        return number

    def _zero_point(self) -> int:
        quant = self.result.type.quant
        return quant.zero_point[0] if quant is not None else 0


def _stored(array: Array) -> Array:
    """Return an array in a type of the file: 4- and 2-bit integers as int8."""
    narrow = DType.of(array) in (DType.I4, DType.I2)
    return array.astype(np.int8) if narrow else array
