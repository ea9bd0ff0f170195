"""One operator on its way into a graph: what an importer sees and does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_schema import VALUE_RANGE, TensorType
from rlx.ir import DType, Origin, QuantParams
from rlx.ir import TensorType as Type
from rlx.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt

    from rlx.frontends.tflite_file import Model, Operator, Quantization, Tensor
    from rlx.ir import Graph, Op, Value

DTYPES: Mapping[TensorType, DType] = {
    TensorType.FLOAT32: DType.F32,
    TensorType.FLOAT16: DType.F16,
    TensorType.INT32: DType.I32,
    TensorType.UINT8: DType.U8,
    TensorType.INT64: DType.I64,
    TensorType.BOOL: DType.BOOL,
    TensorType.INT16: DType.I16,
    TensorType.INT8: DType.I8,
    TensorType.FLOAT64: DType.F64,
    TensorType.UINT32: DType.U32,
    TensorType.BFLOAT16: DType.BF16,
}


@dataclass(frozen=True, slots=True)
class PerTensor:
    """Scale and zero point of a tensor with one scale.

    Attributes:
        scale: As the file holds it. Bounds of activations are divided by it in float32.
        zero_point: Quantized value that stands for zero.
    """

    scale: np.float32
    zero_point: int

    @property
    def real(self) -> float:
        """The scale widened to double, in which the reference multiplies and divides scales.

        A product of two scales is exact there, so that a multiplier of 31 bits is the nearest one;
        in float32 about every multiplier would be another (see ``rlx.frontends.tflite.REFERENCE``).
        """
        return float(self.scale)

    @property
    def params(self) -> QuantParams:
        """The same for the graph."""
        return QuantParams.per_tensor(self.real, self.zero_point)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the operators of one model share.

    Attributes:
        model: The file.
        graph: What is made of it.
        values: The value of each tensor that entered the graph.
        known: Whole numbers that operators compute, but from shapes alone (see ``known``).
        weights: Constants that operators share, by tensor and by the order of their axes.
        magnitudes: For each constant that layers read as weights, their sums of magnitudes.
        limits: How much work to accept.
    """

    model: Model
    graph: Graph
    values: dict[int, Value] = field(default_factory=dict)
    known: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    weights: dict[tuple[int, tuple[int, ...]], Value] = field(default_factory=dict)
    magnitudes: dict[tuple[int, tuple[int, ...]], npt.NDArray[np.int64]] = field(
        default_factory=dict
    )
    limits: Limits = DEFAULT_LIMITS

    def value(self, index: int) -> Value:
        """Return the value of a tensor; a constant enters the graph when it is first used."""
        if index not in self.values:
            tensor = self.model.tensors[index]
            self.values[index] = self.constant(tensor, tensor.array())
        return self.values[index]

    def constant(
        self, tensor: Tensor, array: npt.NDArray[Any], quant: QuantParams | None = None
    ) -> Value:
        """Append a constant that comes from ``tensor``, perhaps reordered."""
        if quant is None and tensor.quantization is not None:
            quant = _stated(tensor, tensor.quantization)
        origin = Origin(self.model.source, f"tensor {tensor.index}")
        return self.graph.constant(array, name=tensor.name, quant=quant, origin=origin)


@dataclass(frozen=True, slots=True)
class Call:
    """One operator, the tensors around it and the graph it goes into."""

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
            raise MalformedError(f"has {found} inputs, want {wanted}")
        if len(self.operator.outputs) != outputs:
            raise MalformedError(f"has {len(self.operator.outputs)} outputs, want {outputs}")

    def optional(self, place: int) -> Tensor | None:
        """Return an input tensor, or None if it is absent."""
        inputs = self.operator.inputs
        if place >= len(inputs) or inputs[place] == -1:
            return None
        return self.scope.model.tensors[inputs[place]]

    def input(self, place: int) -> Tensor:
        """Return an input tensor."""
        tensor = self.optional(place)
        if tensor is None:
            raise MalformedError(f"input {place} is absent")
        return tensor

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output tensors."""
        return tuple(self.scope.model.tensors[i] for i in self.operator.outputs)

    @property
    def output(self) -> Tensor:
        """The only output tensor (see ``arity``)."""
        (tensor,) = self.outputs
        return tensor

    def value(self, place: int) -> Value:
        """Return the value of an int8 input; of any shape, computed or constant."""
        tensor = self.input(place)
        require_type(tensor, TensorType.INT8)
        return self.scope.value(tensor.index)

    def quant(self, place: int) -> PerTensor:
        """Return scale and zero point of an int8 input."""
        tensor = self.input(place)
        require_type(tensor, TensorType.INT8)
        return quant_of(tensor)

    @property
    def result_quant(self) -> PerTensor:
        """Scale and zero point of the int8 output."""
        require_type(self.output, TensorType.INT8)
        return quant_of(self.output)

    def same_quant(self, place: int = 0) -> PerTensor:
        """Return scale and zero point of the outputs, which must be those of an input."""
        given = self.quant(place)
        for output in self.outputs:
            require_type(output, TensorType.INT8)
            found = quant_of(output)
            if found != given:
                raise UnsupportedError(
                    f"input and output must share scale and zero point, but {_show(given)} "
                    f"and {_show(found)} differ",
                    hint="quantize the model again; the operator copies values unchanged",
                )
        return given

    def constant(self, place: int) -> Tensor:
        """Return a constant input tensor."""
        tensor = self.input(place)
        if tensor.data is None:
            raise UnsupportedError(
                f"{tensor.label} is computed at run time; rlx needs a constant there",
                hint="convert with fixed shapes",
            )
        return tensor

    def numbers(self, place: int) -> npt.NDArray[Any]:
        """Return an int32 or int64 input that is constant or known (see ``Scope``)."""
        known = self.scope.known.get(self.input(place).index)
        if known is not None:
            return known
        tensor = self.constant(place)
        if tensor.type not in (TensorType.INT32, TensorType.INT64):
            raise MalformedError(f"{tensor.label} is {tensor.described}, want int32 or int64")
        return tensor.array()

    def integers(self, place: int) -> tuple[int, ...]:
        """Return the elements of ``numbers``: one for a dimension, an end or an output each."""
        array = self.numbers(place)
        most = 2 * self.scope.limits.rank + len(self.operator.outputs)
        if array.size > most:
            raise MalformedError(f"input {place} has {array.size} numbers, want at most {most}")
        return tuple(int(v) for v in array.reshape(-1))

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < rank:
            raise MalformedError(f"the axis is {value}, but the input has {rank} dimensions")
        return value % rank

    def emit(self, op: Op, *operands: Value, quant: PerTensor | None = None) -> Value:
        """Append an op on the way to an output; ``quant`` if it differs from its operand's."""
        params = quant.params if quant else None
        return self.scope.graph.apply(
            op, *operands, name=self.operator_name, quant=params, origin=self.origin
        )

    def finish(self, op: Op, *operands: Value, output: Tensor | None = None) -> None:
        """Append the op that makes an output, and check the type that the file claims for it."""
        tensor = output or self.output
        quant = None
        if tensor.type is TensorType.INT8:
            quant = quant_of(tensor).params
        value = self.scope.graph.apply(
            op, *operands, name=tensor.name, quant=quant, origin=self.origin
        )
        wanted = Type(tensor.shape, DTYPES.get(tensor.type, DType.I8), quant)
        if value.type != wanted:
            raise MalformedError(
                f"computes {value.type.with_quant(None)}, but {tensor.label} is {tensor.described}"
            )
        self.scope.values[tensor.index] = value

    @property
    def operator_name(self) -> str:
        """Name for nodes on the way to the output: that of the first output tensor."""
        return self.scope.model.tensors[self.operator.outputs[0]].name

    @property
    def origin(self) -> Origin:
        """Where the operator's nodes come from."""
        return Origin(self.scope.model.source, self.operator.label)


Importer: TypeAlias = "Callable[[Call], None]"

IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator, by its name in the schema."""


def importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators."""

    def register(function: Importer) -> Importer:
        for name in names:
            if name in IMPORTERS:
                raise ValueError(f"{name} has two importers")
            IMPORTERS[name] = function
        return function

    return register


def require_type(tensor: Tensor, *wanted: TensorType) -> None:
    """Refuse a tensor of another element type."""
    if tensor.type not in wanted:
        names = " or ".join(t.name.lower() for t in wanted)
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, want {names}", hint=type_hint(tensor.type)
        )


def type_hint(found: TensorType) -> str | None:
    """Return what to do about tensors of an element type that is not int8."""
    return _TYPE_HINTS.get(found)


def quant_of(tensor: Tensor) -> PerTensor:
    """Return scale and zero point of a tensor that must have one scale."""
    quantization = tensor.quantization
    if quantization is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scale and zero point")
    if not quantization.per_tensor:
        raise UnsupportedError(f"{tensor.label} has {len(quantization.scale)} scales, want one")
    return PerTensor(quantization.scale[0], int(quantization.zero_point[0]))


def _stated(tensor: Tensor, quantization: Quantization) -> QuantParams | None:
    """Return what a constant's only scale says; None if it says nothing that can be meant."""
    if not quantization.per_tensor or tensor.type not in VALUE_RANGE:
        return None
    low, high = VALUE_RANGE[tensor.type]
    scale, point = float(quantization.scale[0]), int(quantization.zero_point[0])
    sound = 0 < scale < float("inf") and low <= point <= high
    return QuantParams.per_tensor(scale, point) if sound else None


def _show(quant: PerTensor) -> str:
    return f"({quant.real!r}, {quant.zero_point})"


_INT8_HINT = (
    "convert with full int8 quantization (TFLITE_BUILTINS_INT8, inference_input_type and "
    "inference_output_type int8)"
)
_TYPE_HINTS = {
    TensorType.FLOAT32: _INT8_HINT,
    TensorType.FLOAT16: _INT8_HINT,
    TensorType.UINT8: _INT8_HINT,
    TensorType.INT16: _INT8_HINT,
}
