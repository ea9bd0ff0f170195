"""A TFLite file as plain, checked structures. Later code does not read the bytes.

Tests: tests/unit/frontends/tflite/test_mutations.py
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rlx.frontends.refusal import (
    DamagedError,
    FileRefusedError,
    MalformedError,
    OverLimitError,
    UnsupportedError,
)
from rlx.frontends.tflite import schema
from rlx.frontends.tflite.check import check
from rlx.frontends.tflite.flatbuffer import Reader, Record, Table, defaults
from rlx.frontends.tflite.schema import TensorType
from rlx.frontends.tflite.stored import expanded
from rlx.support.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantization:
    """Quantization of a tensor: ``real = scale * (quantized - zero_point)``.

    Attributes:
        scale: float32, one for the tensor or one for each index of ``axis``.
        zero_point: int64, one for each scale.
        axis: The axis that the scales belong to (no meaning for a single scale).
    """

    scale: npt.NDArray[np.float32]
    zero_point: npt.NDArray[np.int64]
    axis: int

    @property
    def per_tensor(self) -> bool:
        """Whether there is one scale for the whole tensor."""
        return len(self.scale) == 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tensor:
    """A tensor of the graph.

    Attributes:
        index: Number in the file.
        name: Name, unprintable characters replaced.
        shape: Dimensions; those that the file leaves open are those of a placeholder.
        type: Element type.
        quantization: Scales and zero points, None if there are none.
        data: Bytes of a constant (a view of the file), None for a computed tensor.
        buffer: Number of the buffer that holds the data; tensors may share one.
        refusal: Reason that no operator can read or write the tensor, None if one can.
        stored: Element type in the file, where the reader changed it; else None.
        signature: The dimensions again, -1 for each that the file leaves open; empty if it leaves
            none open.
        is_variable: Whether it keeps its elements between runs, so that nothing need write it.
        sparsity: Storage of a sparse constant, None for others (see ``tflite_stored``).
        blocks: Scales for blocks of a constant, None for others.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    type: TensorType
    quantization: Quantization | None = None
    data: npt.NDArray[np.uint8] | None = None
    buffer: int = 0
    refusal: UnsupportedError | None = None
    stored: TensorType | None = None
    signature: tuple[int, ...] = ()
    is_variable: bool = False
    sparsity: Record | None = None
    blocks: Record | None = None

    @property
    def label(self) -> str:
        """Name of the tensor in messages."""
        return (
            f"tensor {self.index} '{shorten(self.name)}'" if self.name else f"tensor {self.index}"
        )

    @property
    def described(self) -> str:
        """Element type and shape, as messages print them."""
        type_ = self.stored or self.type
        return f"{type_.name.lower()}[{', '.join(map(str, self.shape))}]"

    def array(self) -> npt.NDArray[Any]:
        """Return a constant's elements; element types without a NumPy type are not asked for."""
        if self.data is None:
            raise AssertionError(f"{self.label} is not a constant")
        if self.type is TensorType.BOOL:
            return np.not_equal(self.data, 0).reshape(self.shape)
        array: npt.NDArray[Any] = self.data.view(_NUMPY[self.type])
        return array.reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operator:
    """An operator of the graph.

    Attributes:
        index: Number in the file, which is the order of execution.
        name: Name of the builtin operator, or ``CUSTOM 'name'``.
        version: Version of its definition.
        inputs: Indices of tensors; -1 for an optional input that is absent.
        outputs: Indices of tensors.
        options: Its options by the schema's names, ranges checked.
        custom_options: Data that a custom operator's program reads; its format is its own.
    """

    index: int
    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    custom_options: bytes = b""

    @property
    def label(self) -> str:
        """Name of the operator in messages."""
        return f"operator {self.index} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variable:
    """A variable that keeps a tensor from run to run (see ``variables``).

    Attributes:
        name: Name of the variable.
        tensor: Tensor that has its value when a run begins.
        following: Tensor that it keeps for the next run.
        initial: Every element before the first run; None for the zero point.
    """

    name: str
    tensor: int
    following: int
    initial: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """The one graph of a file.

    Attributes:
        source: Name of the file, without folders.
        name: Name of the graph.
        tensors: All tensors.
        operators: All operators, in the order of execution.
        inputs: Tensor numbers of the graph's inputs.
        outputs: Tensor numbers of the graph's outputs.
        leaves_open: Whether shapes of computed tensors are placeholders, which follow from those of
            the inputs (see ``tflite_open``).
        called: Subgraphs that ``CALL_ONCE`` runs, by number.
        states: Variables, where their operators were replaced (see ``variables``).
    """

    source: str
    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    leaves_open: bool = False
    called: Mapping[int, Model] = field(default_factory=dict)
    states: tuple[Variable, ...] = ()


def parse(data: bytes | memoryview, source: str, limits: Limits = DEFAULT_LIMITS) -> Model:
    """Read a file into structures and check every index, size and number in it.

    Args:
        data: The file.
        source: Its name, for messages.
        limits: Limits that the model must keep.

    Raises:
        FrontendError: The file is malformed or over a limit.
        UnsupportedOpError: It is well formed but of a kind that rlx does not read.
    """
    source = shorten(printable(source))
    try:
        if len(data) > limits.file_bytes:
            error = OverLimitError(
                f"the file has {len(data)} bytes; the limit is {limits.file_bytes}",
                hint=raise_hint("file_bytes", len(data)),
            )
            raise error.inside("file")
        root = Reader(data, limits).root(schema.MODEL, schema.IDENTIFIER)
        model = _model(root, source, memoryview(data))
        check(model, limits)
        model = expanded(model, limits)
    except FileRefusedError as error:
        raise error.public(source) from None
    return model


def _model(root: Record, source: str, file: memoryview) -> Model:
    """Gather the structures; every number that indexes a list is checked here."""
    version = root.integer("version")
    if version != schema.VERSION:
        raise UnsupportedError(
            f"the schema version is {version}, expected {schema.VERSION}",
            hint="convert the model with TensorFlow 1.13 or later",
        ).inside("model")
    count = len(root.records("subgraphs"))
    if not count:
        raise MalformedError("the file holds no subgraph").inside("model")
    # The first subgraph is run. Others matter only to the operators that call them; all of these
    # but CALL_ONCE are refused by name.
    main, called = _subgraph(0, root, source, file), {}
    for operator in main.operators:
        if operator.name == "CALL_ONCE":
            number = operator.options["init_subgraph"]
            if not 0 < number < count:
                error = MalformedError(f"calls subgraph {number}, but there are {count}")
                raise error.inside(operator.label)
            called[number] = _subgraph(number, root, source, file)
    return replace(main, called=called)


def _subgraph(number: int, root: Record, source: str, file: memoryview) -> Model:
    """Gather the structures of one subgraph; places in others than the first name it."""
    graph, buffers = root.records("subgraphs")[number], root.records("buffers")
    kinds, where = root.records("operator_codes"), f"subgraph {number} " if number else ""
    tensors = _each(
        f"{where}tensor", graph.records("tensors"), lambda i, t: _tensor(i, t, buffers, file)
    )
    return Model(
        source=source,
        name=printable(graph.text("name")),
        tensors=tensors,
        operators=_each(
            f"{where}operator",
            graph.records("operators"),
            lambda i, o: _operator(i, o, kinds, len(tensors)),
        ),
        inputs=_references("graph input", graph.integers("inputs"), len(tensors)),
        outputs=_references("graph output", graph.integers("outputs"), len(tensors)),
        leaves_open=any(t.signature for t in tensors),
    )


def _each(what: str, records: Sequence[Record], make: Callable[[int, Record], T]) -> tuple[T, ...]:
    """Return ``make(index, record)`` for all records; a refusal names the record."""
    found = []
    for index, record in enumerate(records):
        try:
            found.append(make(index, record))
        except FileRefusedError as error:
            raise error.inside(f"{what} {index}") from None
    return tuple(found)


def _references(
    what: str, indices: tuple[int, ...], count: int, *, optional: bool = False
) -> tuple[int, ...]:
    """Check that each index names one of ``count`` tensors (or, if ``optional``, is -1)."""
    for place, index in enumerate(indices):
        if not (0 <= index < count or (optional and index == -1)):
            error = MalformedError(
                f"{what} {place} is tensor {index}, but there are {count} tensors"
            )
            raise error.inside("subgraph 0") if what.startswith("graph") else error
    return indices


def _tensor(index: int, record: Record, buffers: Sequence[Record], file: memoryview) -> Tensor:
    number = record.integer("buffer")
    # Writers that emit no buffers at all leave 0 here, which means "no data" by convention.
    if number >= len(buffers) and number:
        raise MalformedError(f"refers to buffer {number}, but there are {len(buffers)} buffers")
    shape, type_ = record.integers("shape"), TensorType(record.integer("type"))
    data = _data(number, buffers[number], file) if number < len(buffers) else None
    if data is None and 0 in shape and type_ in (TensorType.INT32, TensorType.INT64):
        # A list without entries, such as the shape of a scalar, has no bytes to store.
        data = np.empty(0, np.uint8)
    signature, quantization = record.integers("shape_signature"), record.record("quantization")
    return Tensor(
        index=index,
        name=printable(record.text("name")),
        shape=shape,
        type=type_,
        quantization=_quantization(quantization),
        data=data,
        buffer=number,
        refusal=_refusal(record, type_),
        signature=signature if -1 in signature else (),
        is_variable=record.flag("is_variable"),
        sparsity=record.record("sparsity"),
        blocks=quantization.record("details") if quantization else None,
    )


def _refusal(record: Record, type_: TensorType) -> UnsupportedError | None:
    """Return the reason that a tensor means something that rlx does not model, None for none."""
    quantization = record.record("quantization")
    details = quantization.integer("details_type") if quantization else 0
    custom = details not in (0, schema.BLOCKWISE_DETAILS)
    for applies, reason, hint in (
        (
            record.flag("is_variable"),
            "is a variable (state that outlives a run), expected the state of one recurrent layer",
            "make the state an input and an output of the model",
        ),
        (record.flag("variant_tensors"), "is a list of tensors", "convert without TensorList ops"),
        (
            bool(record.integer("external_buffer")),
            "keeps its data in another file",
            "convert into one file",
        ),
        (
            type_ not in schema.ELEMENT_BITS,
            f"holds elements of type {type_.name}",
            "convert to tensors of numbers",
        ),
        (custom, "is quantized by a custom scheme", "use scale and zero point"),
    ):
        if applies:
            return UnsupportedError(reason, hint=hint)
    return None


def _data(number: int, buffer: Record, file: memoryview) -> npt.NDArray[np.uint8] | None:
    """Return the bytes of a constant, or None if the buffer is empty.

    Large files have them after the flatbuffer; an offset or size of 0 or 1 says that they do not.
    """
    offset, size = buffer.integer("offset"), buffer.integer("size")
    if offset > 1 and size > 1:
        if offset + size > len(file):
            raise DamagedError(
                f"buffer {number} takes bytes {offset} to {offset + size}, "
                f"but the file has {len(file)} bytes"
            )
        return np.frombuffer(file, np.uint8, size, offset)
    data = buffer.array("data")
    return data if len(data) else None


def _quantization(record: Record | None) -> Quantization | None:
    if record is None or record.integer("details_type") or not len(record.array("scale")):
        return None
    scale, points = record.array("scale"), record.array("zero_point")
    if len(points) == 1:
        # Writers may store one zero point for all channels; TFLite Micro reads it so.
        points = np.broadcast_to(points, scale.shape)
    if len(points) != len(scale):
        raise MalformedError(
            f"has {len(scale)} scales but {len(points)} zero points",
            hint="quantize the model again: every scale needs a zero point",
        )
    return Quantization(scale=scale, zero_point=points, axis=record.integer("axis"))


def _operator(index: int, record: Record, kinds: Sequence[Record], tensors: int) -> Operator:
    number = record.integer("opcode_index")
    if number >= len(kinds):
        raise MalformedError(f"refers to operator code {number}, but there are {len(kinds)}")
    kind = kinds[number]
    name = _operator_name(kind)
    inputs = _references("input", record.integers("inputs"), tensors, optional=True)
    outputs = _references("output", record.integers("outputs"), tensors)
    return Operator(
        index=index,
        name=name,
        version=kind.integer("version"),
        inputs=inputs,
        outputs=outputs,
        options=_options(name, record),
        custom_options=record.array("custom_options").tobytes(),
    )


def _operator_name(kind: Record) -> str:
    """Return the operator's name. Old writers know the first of the two fields only."""
    number = max(kind.integer("builtin_code"), kind.integer("deprecated_builtin_code"))
    if number < 0:
        raise MalformedError(f"has the operator code {number}, expected at least 0")
    if number >= len(schema.OPERATOR_NAMES):
        return f"UNKNOWN_{number}"
    name = schema.OPERATOR_NAMES[number]
    if name != "CUSTOM":
        return name
    return f"CUSTOM '{shorten(printable(kind.text('custom_code')))}'"


def _options(name: str, record: Record) -> Mapping[str, Any]:
    """Return the options of an operator that rlx knows; others have none."""
    if name not in schema.OPTIONS_OF:
        return {}
    expected_type, stored_type = schema.OPTIONS_OF[name], record.integer("options_type")
    table = schema.OPTIONS[expected_type]
    options = record.record("options")
    if stored_type == 0 or (stored_type == expected_type and options is None):
        return _default_options(table)
    if stored_type != expected_type:
        other = schema.OPTIONS.get(stored_type)
        raise UnsupportedError(
            f"is {name} but carries {other.name if other else f'options of type {stored_type}'}, "
            f"expected {table.name}",
            hint="convert the model again; these options belong to another operator",
        )
    if options is None:
        raise AssertionError(f"{table.name} was not read")
    return options.values


def _default_options(table: Table) -> Mapping[str, Any]:
    """Return the options of an operator whose table was left out."""
    try:
        return defaults(table).values
    except MalformedError as error:
        raise UnsupportedError(
            f"has no {table.name}, and the default is not valid: {error.message}",
            hint="convert the model again; this operator needs its options",
        ) from None


_NUMPY: Mapping[TensorType, np.dtype[Any]] = {
    TensorType.FLOAT32: np.dtype("<f4"),
    TensorType.FLOAT16: np.dtype("<f2"),
    TensorType.FLOAT64: np.dtype("<f8"),
    TensorType.INT32: np.dtype("<i4"),
    TensorType.INT64: np.dtype("<i8"),
    TensorType.INT16: np.dtype("<i2"),
    TensorType.INT8: np.dtype("i1"),
    TensorType.UINT8: np.dtype("u1"),
}
