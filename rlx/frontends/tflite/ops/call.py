"""Interface of importers to one operator and the graph.

Tests: tests/unit/frontends/tflite/ops/test_reals.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.tensors import (
    DTYPES,
    QUANTIZED_TYPES,
    REAL_TYPES,
    PerTensor,
    is_near,
    narrow_dtype,
    nonzero,
    quant_of,
    quant_of_axis,
    real_array,
    require_type,
    show,
    stated,
)
from rlx.frontends.tflite.schema import TensorType
from rlx.frontends.tflite.signed import BETWEEN_TYPES
from rlx.ir import DType, Origin
from rlx.ir import TensorType as Type
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QRequantize
from rlx.ops.real import RealDequantize, RealTranspose
from rlx.support.limits import DEFAULT_LIMITS, Limits
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite.file import Model, Operator, Tensor
    from rlx.ir import Graph, Op, QuantParams, Value
    from rlx.ops.rescale import Precision


def fits(pattern: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return whether ``shape`` is ``pattern`` with something filled in for each -1."""
    pairs = zip(pattern, shape, strict=False)
    return len(pattern) == len(shape) and all(w in (-1, s) for w, s in pairs)


@dataclass(frozen=True, slots=True)
class Scope:
    """State shared by the operators of one model.

    Attributes:
        model: The file.
        graph: Graph that is made of it.
        tensors: The tensors of the file; those with open shapes get theirs when they are computed.
        values: The value of each tensor that entered the graph.
        known: Tensors that operators compute, but of constants and shapes alone (see ``known``).
        weights: Constants that operators share, by tensor and by the order of their axes.
        reals: Constants of operators on reals, likewise.
        magnitudes: For each constant that layers read as weights, their sums of magnitudes.
        following: The next value of each state that a layer keeps, by its tensor.
        from_uint8: Tensors that are uint8 in the file (see ``tflite_signed``).
        limits: Limits on the work.
    """

    model: Model
    graph: Graph
    tensors: list[Tensor]
    values: dict[int, Value] = field(default_factory=dict)
    known: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    weights: dict[tuple[int, tuple[int, ...]], Value] = field(default_factory=dict)
    reals: dict[tuple[int, tuple[int, ...]], Value] = field(default_factory=dict)
    magnitudes: dict[tuple[int, tuple[int, ...]], npt.NDArray[np.int64]] = field(
        default_factory=dict
    )
    following: dict[int, Value] = field(default_factory=dict)
    from_uint8: frozenset[int] = frozenset()
    limits: Limits = DEFAULT_LIMITS

    def value(self, index: int) -> Value:
        """Return the value of a tensor; a constant enters the graph when it is first used."""
        if index not in self.values:
            tensor = self.tensors[index]
            self.values[index] = self.constant(tensor, tensor.array())
        return self.values[index]

    def constant(
        self, tensor: Tensor, array: npt.NDArray[Any], quant: QuantParams | None = None
    ) -> Value:
        """Append a constant that comes from ``tensor``, perhaps reordered."""
        if quant is None and tensor.quantization is not None:
            quant = stated(tensor, tensor.quantization)
        origin = Origin(self.model.source, f"tensor {tensor.index}")
        return self.graph.constant(array, name=tensor.name, quant=quant, origin=origin)

    def real(self, tensor: Tensor, axes: tuple[int, ...] = ()) -> Value:
        """Return an unquantized tensor, its axes reordered to ``axes``.

        A constant enters the graph once in each order; int8 weights enter it dequantized.

        Raises:
            UnsupportedError: It holds quantized values that are computed, or elements that no
                operator accepts.
            MalformedError: It holds NaN.
        """
        array = self.known.get(tensor.index)
        if array is None and tensor.data is None:
            require_type(tensor, *REAL_TYPES)
            value = self.values[tensor.index]
            if not axes:
                return value
            op, origin = RealTranspose(axes=axes), value.node.origin
            return self.graph.apply(op, value, name=tensor.name, origin=origin)
        key = (tensor.index, axes)
        if key in self.reals:
            return self.reals[key]
        origin = Origin(self.model.source, f"tensor {tensor.index}")
        if array is None and narrow_dtype(tensor) is not DType.I8:
            self.reals[key] = self._narrow(tensor, axes, origin)
            return self.reals[key]
        array = real_array(tensor) if array is None else array
        ordered = array.transpose(axes) if axes else array
        self.reals[key] = self.graph.constant(ordered, name=tensor.name, origin=origin)
        return self.reals[key]

    def _narrow(self, tensor: Tensor, axes: tuple[int, ...], origin: Origin) -> Value:
        """Return weights of 4 or 2 bits, dequantized in the graph, which keeps their values."""
        array, quant = nonzero(tensor).astype(narrow_dtype(tensor).numpy), quant_of_axis(tensor)
        if axes:
            array = array.transpose(axes)
            axis = None if quant.axis is None else axes.index(quant.axis)
            quant = replace(quant, axis=axis)
        integers = self.graph.constant(array, name=tensor.name, quant=quant, origin=origin)
        op = RealDequantize(quant=quant)
        return self.graph.apply(op, integers, name=tensor.name, origin=origin)


@dataclass(frozen=True, slots=True)
class Call:
    """One operator, its tensors and the graph it is added to."""

    scope: Scope
    operator: Operator

    @property
    def options(self) -> Mapping[str, Any]:
        """The operator's options by the schema's names."""
        return self.operator.options

    def arity(self, minimum: int, maximum: int | None = None, outputs: int = 1) -> None:
        """Check the number of inputs and outputs."""
        found, top = len(self.operator.inputs), minimum if maximum is None else maximum
        if not minimum <= found <= top:
            wanted = str(minimum) if minimum == top else f"{minimum} to {top}"
            raise MalformedError(f"has {counted(found, 'input')}, expected {wanted}")
        if len(self.operator.outputs) != outputs:
            raise MalformedError(f"has {len(self.operator.outputs)} outputs, expected {outputs}")

    def optional(self, index: int) -> Tensor | None:
        """Return an input tensor, or None if it is absent."""
        inputs = self.operator.inputs
        if index >= len(inputs) or inputs[index] == -1:
            return None
        return self.scope.tensors[inputs[index]]

    def input(self, index: int) -> Tensor:
        """Return an input tensor."""
        tensor = self.optional(index)
        if tensor is None:
            raise MalformedError(f"input {index} is absent")
        return tensor

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors that are there."""
        given = (self.optional(place) for place in range(len(self.operator.inputs)))
        return tuple(tensor for tensor in given if tensor is not None)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output tensors."""
        return tuple(self.scope.tensors[i] for i in self.operator.outputs)

    @property
    def output(self) -> Tensor:
        """The only output tensor (see ``arity``)."""
        (tensor,) = self.outputs
        return tensor

    @property
    def is_real(self) -> bool:
        """Whether the operator computes with unquantized values.

        Constants do not count, so that weights may be quantized where activations are float32.
        """
        computed = (t for t in self.inputs if t.data is None)
        return not any(t.type in QUANTIZED_TYPES for t in (*computed, *self.outputs))

    def value(self, index: int) -> Value:
        """Return the value of an input of any shape, computed or constant.

        It has the type of ``activations``, or unquantized values where the operator computes with
        those (see ``is_real``).
        """
        tensor = self.input(index)
        if self.is_real:
            return self.scope.real(tensor)
        require_type(tensor, self.activations)
        return self.scope.value(tensor.index)

    def quant(self, index: int) -> PerTensor:
        """Return scale and zero point of an input of activations."""
        return self._activation_quant(self.input(index))

    def _activation_quant(self, tensor: Tensor) -> PerTensor:
        require_type(tensor, self.activations)
        quant = quant_of(tensor)
        if self.is_int16 and quant.zero_point:
            raise UnsupportedError(
                f"{tensor.label} is int16 with the zero point {quant.zero_point}, expected 0",
                hint="quantize the model again: int16 activations are symmetric by definition",
            )
        return quant

    @property
    def activations(self) -> TensorType:
        """Element type of the activations that the operator reads and writes."""
        return TensorType.INT16 if self.is_int16 else TensorType.INT8

    @property
    def dtype(self) -> DType:
        """The same as a type of the graph."""
        return DTYPES[self.activations]

    @property
    def is_int16(self) -> bool:
        """Whether the first computed operand or a result is int16: later operands may be states."""
        if self.operator.name in BETWEEN_TYPES:
            return False
        given = [t for t in self.inputs if t.data is None and not t.is_variable]
        return any(t.type is TensorType.INT16 for t in (*given[:1], *self.outputs))

    @property
    def is_uint8(self) -> bool:
        """Whether the operator makes uint8 in the file."""
        return not self.scope.from_uint8.isdisjoint(self.operator.outputs)

    @property
    def reads_uint8(self) -> bool:
        """Whether the operator computes with uint8 of the file, apart from constants."""
        computed = {t.index for t in (*self.inputs, *self.outputs) if t.data is None}
        between = self.operator.name in BETWEEN_TYPES
        return not between and not self.scope.from_uint8.isdisjoint(computed)

    @property
    def precision(self) -> Precision:
        """Type that the reference multiplies and divides scales in, for most operators.

        ``REFERENCE`` widens each scale to double first, ``UINT8_REFERENCE`` does not.
        """
        return np.float32 if self.is_uint8 else np.float64

    def factor(self, *quants: PerTensor, over: PerTensor) -> float:
        """Return the product of scales divided by another one, in the reference's precision."""
        first, *others = (self.precision(quant.scale) for quant in quants)
        return float(math.prod(others, start=first) / self.precision(over.scale))

    @property
    def result_quant(self) -> PerTensor:
        """Scale and zero point of the output."""
        return self._activation_quant(self.output)

    def check_moves(self, index: int = 0) -> None:
        """Check that the outputs can hold elements of an input unchanged."""
        if not self.is_real:
            self.same_quant(index)

    def same_quant(self, index: int = 0) -> PerTensor:
        """Return scale and zero point of an input, which must be those of the outputs."""
        x_quant = self.quant(index)
        for output in self.outputs:
            y_quant = self._activation_quant(output)
            if not is_near(x_quant.params, y_quant.params):
                raise UnsupportedError(
                    f"input and output must share scale and zero point, but {show(x_quant)} "
                    f"and {show(y_quant)} differ",
                    hint=_COPIES_HINT,
                )
        return x_quant

    def shared(self, index: int) -> Value:
        """Return an input of an operator whose inputs share the scale of the output."""
        return self.restated(self.value(index), self.value(0).type.quant)

    def restated(self, value: Value, quant: QuantParams | None) -> Value:
        """Return a value with a scale that differs in the last digit at most (see ``is_near``)."""
        if quant is None or value.type.quant == quant:
            return value
        (point,) = quant.zero_point
        op = QRequantize(x_zero_point=point, rescale=Rescale.of(1.0), zero_point=point)
        return self.emit(op, value, quant=quant)

    def constant(self, index: int) -> Tensor:
        """Return a constant input tensor."""
        tensor = self.input(index)
        if tensor.data is None:
            raise UnsupportedError(
                f"{tensor.label} is computed at run time; rlx needs a constant there",
                hint="convert with fixed shapes",
            )
        return tensor

    def numbers(self, index: int) -> npt.NDArray[Any]:
        """Return an int32 or int64 input that is constant or known (see ``Scope``)."""
        known = self.scope.known.get(self.input(index).index)
        if known is not None and known.dtype.kind == "i":
            return known
        tensor = self.constant(index)
        if tensor.type not in (TensorType.INT32, TensorType.INT64):
            raise MalformedError(f"{tensor.label} is {tensor.described}, expected int32 or int64")
        return tensor.array()

    def integers(self, index: int) -> tuple[int, ...]:
        """Return the elements of ``numbers``: one for a dimension, an end or an output each."""
        array = self.numbers(index)
        most = 2 * self.scope.limits.rank + len(self.operator.outputs)
        if array.size > most:
            raise MalformedError(f"input {index} has {array.size} numbers, expected at most {most}")
        return tuple(int(v) for v in array.reshape(-1))

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < rank:
            raise MalformedError(f"the axis is {value}, but the input has {rank} dimensions")
        return value % rank

    def number(self, value: float) -> Value:
        """Append a scalar as a float32 constant without dimensions."""
        return self.scope.graph.constant(np.array(value, np.float32), origin=self.origin)

    def emit(self, op: Op, *operands: Value, quant: PerTensor | QuantParams | None = None) -> Value:
        """Append an op on the way to an output; ``quant`` if it differs from its operand's."""
        params = quant.params if isinstance(quant, PerTensor) else quant
        return self.scope.graph.apply(
            op, *operands, name=self.operator_name, quant=params, origin=self.origin
        )

    def emit_all(self, op: Op, *operands: Value) -> tuple[Value, ...]:
        """Append an op and return all its results."""
        return self.scope.graph.append(
            op, *operands, name=self.operator_name, origin=self.origin
        ).results

    def finish(self, op: Op, *operands: Value, output: Tensor | None = None) -> None:
        """Append the op that makes an output, and check the type that the file claims for it."""
        tensor = output or self.output
        (type_,) = op.infer_checked(*(o.type for o in operands))
        quant = self.claimed(tensor) if type_.quant is None else None
        value = self.scope.graph.apply(
            op, *operands, name=tensor.name, quant=quant, origin=self.origin
        )
        self.bind(value, output=tensor)

    def bind(self, value: Value, *, output: Tensor | None = None) -> None:
        """Map an output to a value, and check the type that the file claims for it."""
        tensor = self.shaped(value.type.static_shape, output=output)
        claimed_type = Type(tensor.shape, DTYPES.get(tensor.type, DType.I8), self.claimed(tensor))
        fits_claim = value.type.with_quant(None) == claimed_type.with_quant(None)
        if not (fits_claim and is_near(value.type.quant, claimed_type.quant)):
            raise MalformedError(
                f"computes {value.type.with_quant(None)}, but {tensor.label} is {tensor.described}"
            )
        self.scope.values[tensor.index] = value

    def shaped(self, shape: tuple[int, ...], *, output: Tensor | None = None) -> Tensor:
        """Return an output in the shape that it is computed in, where the file leaves that open."""
        tensor = output or self.output
        if self.scope.model.leaves_open and tensor.shape != shape:
            if not fits(tensor.signature or shape, shape):
                raise MalformedError(
                    f"computes the shape {list(shape)}, but {tensor.label} is {tensor.described}"
                )
            tensor = replace(tensor, shape=shape)
            self.scope.tensors[tensor.index] = tensor
        return tensor

    def makes(self, shape: tuple[int, ...], *, output: Tensor | None = None) -> tuple[int, ...]:
        """Return the shape of an output after comparing it with the file's."""
        tensor = self.shaped(shape, output=output)
        if shape != tensor.shape:
            raise MalformedError(
                f"makes the shape {list(shape)}, but {tensor.label} is {tensor.described}"
            )
        return shape

    def claimed(self, tensor: Tensor) -> QuantParams | None:
        """Return the quantization of a tensor's values; None for unquantized values.

        int8 always has a quantization, uint8 and int16 where the file has one for them.
        """
        if tensor.type is TensorType.INT8 or (
            tensor.type in QUANTIZED_TYPES and tensor.quantization is not None
        ):
            return quant_of(tensor).params
        return None

    @property
    def operator_name(self) -> str:
        """Name for nodes on the way to the output: that of the first output tensor."""
        return self.scope.tensors[self.operator.outputs[0]].name

    @property
    def origin(self) -> Origin:
        """Origin of the operator's nodes."""
        return Origin(self.scope.model.source, self.operator.label)


_COPIES_HINT = (
    "the operator copies values as they are, and the converter wrote scales that it cannot keep, "
    "and would again: quantize the float32 model with rlx quantize, or use another converter"
)
