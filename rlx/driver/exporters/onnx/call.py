"""Export of one node to ``.onnx``: operands dequantized to floats, the result quantized.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rlx.driver.exporters.nodes import FULL, NodeExport
from rlx.driver.exporters.onnx.file import INT4_OPSET, OnnxFile, code_dtype
from rlx.ir import DType, QuantParams
from rlx.ops.numerics.scales import MIN_FACTOR, same_scale
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value


class AxisOrder(enum.Enum):
    """Order of the axes of a tensor of four dimensions; others have ``LAST``.

    The value is the order in which they are made from the other layout.
    """

    LAST = (0, 2, 3, 1)
    FIRST = (0, 3, 1, 2)


@dataclass(slots=True)
class ExportState:
    """A file that grows.

    Attributes:
        file: The file.
        quantized: Name of the tensor of quantized values of each value, by layout.
        reals: Name of its float form, by layout.
        outputs: Names of the outputs, by value.
    """

    file: OnnxFile
    quantized: dict[tuple[Value, AxisOrder], str] = field(default_factory=dict)
    reals: dict[tuple[Value, AxisOrder], str] = field(default_factory=dict)
    outputs: dict[Value, str] = field(default_factory=dict)


class ExportedNode(NodeExport):
    """A node that is exported.

    Attributes:
        state: The file, and the tensors it has.
        node: The node.
    """

    format: ClassVar[str] = "ONNX"
    form: ClassVar[str] = "Q/DQ .onnx"

    def __init__(self, state: ExportState, node: Node) -> None:
        super().__init__(node)
        self.state = state

    @property
    def file(self) -> OnnxFile:
        """The file."""
        return self.state.file

    @property
    def name(self) -> str:
        """Name of the result, for names of tensors that make it."""
        return printable(self.node.name) or f"{self.op.name}_{self.node.index}"

    def params(self, value: Value) -> QuantParams:
        """Return scale and zero point of a value.

        Raises:
            UnsupportedOpError: It has none.
        """
        quant = value.type.quant
        if quant is None:
            raise self.refused(
                f"{value.node.label} has no scale", "export a network that rlx quantized or read"
            )
        return quant

    def require_factor(self, factors: Sequence[float], expected: Sequence[float]) -> None:
        """Refuse an op whose factors are not those of the scales around it."""
        pairs = zip(*np.broadcast_arrays(factors, expected), strict=True)
        for factor, wanted in pairs:
            if not same_scale(factor, wanted, MIN_FACTOR):
                raise self.refused(
                    f"scales by {factor:.9g}, but the scales around it give {wanted:.9g}",
                    "export a network that rlx quantized or read",
                )

    def layout(self, *values: Value) -> AxisOrder:
        """Return the layout in which all values exist: channels first if they all do."""
        first = all((v, AxisOrder.FIRST) in self.state.quantized for v in values)
        return AxisOrder.FIRST if first else AxisOrder.LAST

    def quantized(self, value: Value, layout: AxisOrder = AxisOrder.LAST) -> str:
        """Return the quantized form of a value in a layout, made if it does not exist yet."""
        key = value, layout
        if key not in self.state.quantized:
            array = value.constant
            if array is not None:
                name = printable(value.name) or f"constant_{value.node.index}"
                stored = array.astype(code_dtype(value.type.dtype))
                self.state.quantized[value, AxisOrder.LAST] = self.file.constant(name, stored)
                return self.quantized(value, layout)
            other = AxisOrder.LAST if layout is AxisOrder.FIRST else AxisOrder.FIRST
            source = self.state.quantized[value, other]
            target = self._named(value, layout, f"{source}_{layout.name.lower()}")
            self.state.quantized[key] = self.file.node(
                "Transpose", [source], target, perm=list(layout.value)
            )
        return self.state.quantized[key]

    def real(self, value: Value, layout: AxisOrder = AxisOrder.LAST) -> str:
        """Return the float form of a value in a layout."""
        key = value, layout
        if key not in self.state.reals:
            quant = self.params(value)
            quantized = self.quantized(value, layout)
            self.state.reals[key] = self.dequantized(quantized, quant, value.type.dtype)
        return self.state.reals[key]

    def dequantized(self, quantized: str, quant: QuantParams, dtype: DType, axis: int = 0) -> str:
        """Add a DequantizeLinear and return its output."""
        attributes = {} if quant.axis is None else {"axis": axis}
        output = self.file.name(f"{quantized}_real")
        inputs = quantized, *self.parameters(quant, dtype)
        return self.file.node("DequantizeLinear", inputs, output, **attributes)

    def weights(self, value: Value, axes: tuple[int, ...], axis: int) -> str:
        """Return constant weights as floats, brought into another order of axes.

        Args:
            value: int8, int4 or int2 weights with a scale for each of their first axis, or one.
            axes: The order of axes in the file.
            axis: The axis of the file that the scales run along.
        """
        array = self.constant(value).astype(np.int8).transpose(axes)
        narrow = value.type.dtype in (DType.I4, DType.I2) and self.file.opset >= INT4_OPSET
        name = printable(value.name) or f"weights_{value.node.index}"
        quantized = self.file.constant(name, array, bits=4 if narrow else 8)
        quant = self.params(value)
        dtype = DType.I4 if narrow else DType.I8
        return self.dequantized(quantized, quant, dtype, axis)

    def integers(self, what: str, numbers: object) -> str:
        """Return a new int64 constant, such as axes or a shape."""
        return self.file.constant(f"{self.name}/{what}", np.array(numbers, np.int64))

    def number(self, what: str, value: float) -> str:
        """Return a float32 constant without dimensions."""
        return self.file.shared(what, np.array(value, np.float32))

    def emit(self, operator: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401
        """Add a node between others and return its output."""
        output = self.file.name(f"{self.name}/{operator.lower()}")
        return self.file.node(operator, inputs, output, **attributes)

    def finish(
        self, real: str, layout: AxisOrder = AxisOrder.LAST, clamp: tuple[int, int] = FULL
    ) -> None:
        """Add the QuantizeLinear that makes the result, after a Relu or Clip if it is clamped."""
        quant = self.params(self.result)
        real = self._clamped(real, clamp, quant)
        inputs = real, *self.parameters(quant, self.result.type.dtype)
        name = self._named(self.result, layout, self.name)
        self.state.quantized[self.result, layout] = self.file.node("QuantizeLinear", inputs, name)

    def finish_quantized(self, operator: str, *inputs: str, **attributes: Any) -> None:  # noqa: ANN401
        """Add a node that makes the result's values itself, quantized or not."""
        name = self._named(self.result, AxisOrder.LAST, self.name)
        self.state.quantized[self.result, AxisOrder.LAST] = self.file.node(
            operator, inputs, name, **attributes
        )

    def _clamped(self, real: str, clamp: tuple[int, int], quant: QuantParams) -> str:
        if clamp == FULL:
            return real
        scale, zero_point = np.float32(quant.scale[0]), quant.zero_point[0]
        if clamp == (zero_point, FULL[1]):
            return self.emit("Relu", real)
        ends = (self.number("bound", float((bound - zero_point) * scale)) for bound in clamp)
        return self.emit("Clip", real, *ends)

    def parameters(self, quant: QuantParams, dtype: DType) -> tuple[str, ...]:
        """Return the constants of scale and zero point, without dimensions if there is one.

        int32 values, which biases have, are without a zero point.
        """
        shape = () if quant.axis is None else (len(quant.scale),)
        scale = self.file.shared("scale", np.array(quant.scale, np.float32).reshape(shape))
        points = np.array(quant.zero_point).reshape(shape)
        if dtype is DType.I32:
            return (scale,)
        if dtype is DType.I4:
            return scale, self.file.constant("zero_point", points.astype(np.int8), bits=4)
        return scale, self.file.shared("zero_point", points.astype(dtype.numpy))

    def _named(self, value: Value, layout: AxisOrder, base: str) -> str:
        """Return the name of a tensor: that of the output which it is, or one of its own."""
        if layout is AxisOrder.LAST and value in self.state.outputs:
            return self.state.outputs[value]
        return self.file.name(base)
