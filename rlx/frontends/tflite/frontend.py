"""Import TFLite models.

Operators on int8 become the ``q.*`` ops with TFLite Micro's arithmetic, operators on float32
become ``nn.*`` and ``real.*`` ops.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rlx.frontends.reading import read_bytes
from rlx.frontends.refusal import FileRefusedError, MalformedError, OverLimitError, UnsupportedError
from rlx.frontends.tflite.file import Model, Operator, Tensor, parse
from rlx.frontends.tflite.gathers import joined
from rlx.frontends.tflite.open import bound
from rlx.frontends.tflite.ops import IMPORTERS, REAL_IMPORTERS, Call, known
from rlx.frontends.tflite.ops.call import Scope
from rlx.frontends.tflite.ops.importers import ON_INT16
from rlx.frontends.tflite.ops.tensors import DTYPES, input_type, quant_of, stated, type_hint
from rlx.frontends.tflite.options import TfliteOptions
from rlx.frontends.tflite.schema import TensorType
from rlx.frontends.tflite.signed import BETWEEN_TYPES, EXACT_ON_UINT8, UINT8_OFFSET, signed
from rlx.frontends.tflite.states import add_states, next_values
from rlx.frontends.tflite.unknown import unknown
from rlx.frontends.tflite.variables import with_states
from rlx.frontends.work import check_work
from rlx.ir import DType, Graph, Origin
from rlx.ir import TensorType as Type
from rlx.ir.module import GraphModule, Reference, Stage
from rlx.ops.nn import NnOp
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Q_OPS, QConvert, QTranspose
from rlx.ops.real import RealCast, RealDequantize, RealQuantize, RealTranspose
from rlx.passes.channels_last import ChannelsLast
from rlx.passes.dead_code import DeadCode
from rlx.support.errors import ShapeError, UnsupportedOpError
from rlx.support.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.support.steps import advancing
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Op, Value

REFERENCE: Final = Reference("tflite-micro", "0.dev20261023182759")
"""The TensorFlow Lite Micro that importers reproduce, pinned in ``requirements/dev.lock``.

It widens every scale to double before it multiplies or divides; only the ends of fused activations
are quotients in float32. Other versions differ: some multiply in float32 in ``FULLY_CONNECTED``,
``SUB``, ``LEAKY_RELU``, ``HARD_SWISH`` and ``RELU``, which moves a value by one where its
accumulator is at a rounding half.
"""

UINT8_REFERENCE: Final = Reference("ai-edge-litert", "2.3.0")
"""The LiteRT whose reference kernels importers of uint8 operators reproduce.

TensorFlow Lite Micro refuses those operators.
"""

_MAX_LISTED_OPERATORS = 40
"""Operators that one message explains."""
_IMPORTABLE = sorted({*IMPORTERS, *REAL_IMPORTERS})
"""Names of the operators that have an importer."""
_MAX_LABELS = 4
"""Labels of operators in the place that an error names."""


def load(
    source: str | Path | bytes,
    *,
    name: str = "model.tflite",
    options: TfliteOptions | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> GraphModule:
    """Import a model.

    A graph of integers computes the results of ``REFERENCE`` bit for bit, one of uint8 those of
    ``UINT8_REFERENCE``, and names it; one that computes in float32 names no reference. Inputs and
    outputs keep the model's order, shapes, types and quantization. Weights of int8 with float32
    activations (dynamic range) become float32: scale times code.

    Args:
        source: A file, or the bytes of one.
        name: Name of the file in messages and provenance if bytes are given.
        options: Options of the import.
        limits: Limits on the size of the model.

    Raises:
        UsageError: The file cannot be read.
        FrontendError: It is malformed or over a limit.
        UnsupportedOpError: It holds operators or element types that rlx does not import; all of
            them are listed.
    """
    if isinstance(source, bytes):
        data = source
    else:
        data, name = read_bytes(Path(source), limits), Path(source).name
    model = parse(data, name, limits)
    graph = build(model, limits, options)
    layers = any(isinstance(node.op, NnOp) for node in graph.op_nodes)
    if any(isinstance(node.op, RealTranspose | QTranspose) for node in graph.op_nodes):
        # Exporters of channels-first networks write transposes around layers, and before a dense
        # layer: they move to the ends, or into its weights.
        graph = DeadCode().apply(ChannelsLast().apply(DeadCode().apply(graph)))
    exact = all(_is_exact(node.op) for node in graph.op_nodes)
    stage = Stage.HIR if layers else Stage.MIR
    return GraphModule(graph, stage, reference=_reference(model) if exact else None)


def _reference(model: Model) -> Reference | None:
    """Return the interpreter of a model's quantized type; None if it computes in several."""
    inner = [o for o in model.operators if o.name not in BETWEEN_TYPES]
    tensors = (model.tensors[i] for o in inner for i in (*o.inputs, *o.outputs) if i != -1)
    types = {t.type for t in tensors if t.data is None and t.quantization is not None}
    if TensorType.UINT8 not in types:
        return REFERENCE
    return None if TensorType.INT8 in types else UINT8_REFERENCE


def _is_exact(op: Op) -> bool:
    """Return whether an op has the bits of ``REFERENCE``: an integer op, or one rounded step."""
    edge = isinstance(op, RealQuantize | RealDequantize | RealCast)
    return isinstance(op, Q_OPS) or edge or op.traits.moves_only


def build(
    model: Model, limits: Limits = DEFAULT_LIMITS, options: TfliteOptions | None = None
) -> Graph:
    """Make the graph of a checked model.

    Raises:
        FrontendError: Operators and tensors do not fit together, or ask for too much work.
        UnsupportedOpError: The model holds operators that rlx does not import.
    """
    try:
        model = with_states(model)
    except FileRefusedError as error:
        raise error.public(model.source) from None
    model, from_uint8 = signed(joined(model))
    _refuse_by_kind(model)
    graph = Graph(printable(model.source).removesuffix(".tflite") or "model")
    try:
        model = bound(model, (options or TfliteOptions()).input_shape)
        scope = Scope(model, graph, list(model.tensors), from_uint8=from_uint8, limits=limits)
        _check_dequantized(scope)
        names = _port_names(model)
        _add_inputs(scope, names.inputs)
        add_states(scope, names.states)
        _add_operators(scope)
        outputs = [_output(scope, place) for place in range(len(model.outputs))]
        outputs += next_values(scope)
        check_work(graph, limits)
    except FileRefusedError as error:
        raise error.public(model.source) from None
    graph.output(*outputs, names=(*names.outputs, *names.states))
    return graph


def _refuse_by_kind(model: Model) -> None:
    """Refuse a model that computes in unquantized uint8, with one reason for all."""
    inner = [o for o in model.operators if o.name not in BETWEEN_TYPES]
    typed_operators = [(o, model.tensors[i].type) for o in inner for i in o.outputs]
    wider = [(o, kind) for o, kind in typed_operators if kind is TensorType.UINT8]
    if not wider or any(kind is TensorType.INT8 for _, kind in typed_operators):
        return
    operator, kind = wider[0]
    raise UnsupportedOpError(
        f"the model computes in {kind.name.lower()}; "
        "rlx imports models that compute in int8, int16 or float32",
        where=f"{model.source}: {operator.label}",
        hint=type_hint(kind),
    )


def _check_dequantized(scope: Scope) -> None:
    """Refuse narrow weights that would take too much memory as float32."""
    tensors, model = scope.model.tensors, scope.model
    read = {i for o in model.operators if Call(scope, o).is_real for i in o.inputs if i != -1}
    narrow = (TensorType.INT8, TensorType.FLOAT16)
    total = sum(4 * math.prod(tensors[i].shape) for i in read if tensors[i].type in narrow)
    if total > scope.limits.constant_bytes:
        error = OverLimitError(
            f"the narrow weights take {total} bytes together as float32; "
            f"the limit is {scope.limits.constant_bytes}",
            hint=raise_hint("constant_bytes", total),
        )
        raise error.inside("buffers")


def _add_inputs(scope: Scope, names: Sequence[str]) -> None:
    model = scope.model
    tensors = [model.tensors[i] for i in model.inputs]
    for position, (tensor, name) in enumerate(zip(tensors, names, strict=True)):
        origin = Origin(model.source, f"input {position}")
        try:
            type_ = input_type(tensor)
        except FileRefusedError as error:
            raise error.inside(f"graph input {position}") from None
        if tensor.index not in scope.from_uint8:
            scope.values[tensor.index] = scope.graph.input(name, type_, origin=origin)
            continue
        unsigned_input = scope.graph.input(name, _unsigned(type_), origin=origin)
        op = _uint8_conversion(quant_of(tensor).zero_point, DType.I8)
        scope.values[tensor.index] = scope.graph.apply(
            op, unsigned_input, name=name, quant=type_.quant, origin=origin
        )


def _unsigned(type_: Type) -> Type:
    """Return the uint8 type for the same floats as int8 (see ``tflite_signed``)."""
    quant = type_.quant
    if quant is not None:
        quant = replace(quant, zero_point=tuple(z + UINT8_OFFSET for z in quant.zero_point))
    return Type(type_.shape, DType.U8, quant)


def _uint8_conversion(zero_point: int, dtype: DType) -> QConvert:
    """Return the op between uint8 and int8 for the same floats; ``zero_point`` of int8."""
    points = (zero_point + UINT8_OFFSET, zero_point)
    given, result = points if dtype is DType.I8 else points[::-1]
    return QConvert(x_zero_point=given, rescale=Rescale.of(1.0), zero_point=result, dtype=dtype)


def _add_operators(scope: Scope) -> None:
    """Import every operator; gather those that are not supported and name them together."""
    refused: list[tuple[Operator, UnsupportedError]] = []
    for operator in advancing(scope.model.operators):
        call = Call(scope, operator)
        try:
            _import(call)
        except UnsupportedError as error:
            refused.append((operator, error))
            _add_placeholders(call)
        except MalformedError as error:
            if not (refused and scope.model.leaves_open):
                raise error.inside(operator.label) from None
            # The shapes that it reads may be placeholders, which a refused operator left.
            _add_placeholders(call)
    if refused:
        raise _unsupported(scope.model, refused)


def _import(call: Call) -> None:
    name, table = call.operator.name, REAL_IMPORTERS if call.is_real else IMPORTERS
    importer = table.get(name)
    if importer is None and name not in known.OF_SHAPES:
        reason, hint = unknown(name, elsewhere=name in _IMPORTABLE, real=call.is_real)
        raise UnsupportedError(reason, hint=hint)
    _refuse_tensors(call)
    if call.reads_uint8 and name not in EXACT_ON_UINT8:
        raise UnsupportedError(
            "is imported on int8 and float32, but not on uint8",
            hint="convert the model with int8, as converters do by default",
        )
    if call.is_int16 and name not in ON_INT16:
        raise UnsupportedError(
            "is imported on int8 and float32, but not on int16", hint=type_hint(TensorType.INT16)
        )
    try:
        if not known.fold(call) and importer is not None:
            importer(call)
    except ShapeError as error:
        raise MalformedError(error.message) from None


def _refuse_tensors(call: Call) -> None:
    """Refuse an operator that reads or writes a tensor that nothing can."""
    given = (call.optional(place) for place in range(len(call.operator.inputs)))
    for tensor in (*given, *call.outputs):
        if tensor is not None and tensor.refusal is not None:
            raise UnsupportedError(
                f"{tensor.label} {tensor.refusal.message}", hint=tensor.refusal.hint
            )


def _add_placeholders(call: Call) -> None:
    """Add outputs of a refused operator, so that those after it can be checked as well."""
    for tensor in call.outputs:
        quant = None
        if tensor.type is TensorType.INT8 and tensor.quantization is not None:
            quant = stated(tensor, tensor.quantization)
        type_ = Type(tensor.shape, DTYPES.get(tensor.type, DType.I8), quant)
        call.scope.values[tensor.index] = call.scope.graph.input("", type_)


def _unsupported(
    model: Model, refused: list[tuple[Operator, UnsupportedError]]
) -> UnsupportedOpError:
    """Return the one error that lists everything that is not supported."""
    lines = [
        f"{len(refused)} of {len(model.operators)} operators cannot be imported",
        *(
            line
            for entry in refused[:_MAX_LISTED_OPERATORS]
            for line in _explain(model, *entry, several=len(refused) > 1)
        ),
    ]
    if len(refused) > _MAX_LISTED_OPERATORS:
        lines.append(f"  and {len(refused) - _MAX_LISTED_OPERATORS} more")
    hint = "change these layers in the model as the lines 'try' say, and convert it again"
    if len(refused) == 1:
        hint = refused[0][1].hint
    if any(o.name not in _IMPORTABLE for o, _ in refused):
        hint = f"{hint}; the operators that rlx imports are listed in the documentation"
    labels = ", ".join(o.label for o, _ in refused[:_MAX_LABELS])
    where = f"{labels} and others" if len(refused) > _MAX_LABELS else labels
    return UnsupportedOpError("\n".join(lines), where=f"{model.source}: {where}", hint=hint)


def _explain(
    model: Model, operator: Operator, error: UnsupportedError, *, several: bool
) -> Iterable[str]:
    """Yield the lines about one operator; the hint of a single one is the error's own."""
    inputs = ", ".join(model.tensors[i].described for i in operator.inputs[:8] if i != -1)
    outputs = ", ".join(model.tensors[i].described for i in operator.outputs[:8])
    names = [f" '{shorten(model.tensors[i].name)}'" for i in operator.outputs[:1]]
    yield f"  {operator.label}{''.join(names)} ({inputs} -> {outputs})"
    yield f"    why  {error.message}"
    if several:
        yield f"    try  {error.hint}"


def _output(scope: Scope, index: int) -> Value:
    tensor = scope.tensors[scope.model.outputs[index]]
    if tensor.data is not None or tensor.index in scope.known:
        kind = "a constant" if tensor.data is not None else "known without a run"
        error = UnsupportedError(
            f"graph output {index} is {tensor.label}, which is {kind}",
            hint="take the output out of the model; its value never changes",
        )
        raise error.inside("subgraph 0")
    if tensor.refusal is not None and tensor.index not in scope.values:
        raise UnsupportedError(
            f"graph output {index} is {tensor.label}, which {tensor.refusal.message}",
            hint=tensor.refusal.hint,
        ).inside("subgraph 0")
    value = scope.values[tensor.index]
    if tensor.index not in scope.from_uint8:
        return value
    op = _uint8_conversion(quant_of(tensor).zero_point, DType.U8)
    quant = _unsigned(value.type).quant
    return scope.graph.apply(op, value, name=tensor.name, quant=quant, origin=value.node.origin)


class _PortNames(NamedTuple):
    """Names of the inputs and outputs of a graph, and of its states, which are both."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    states: Sequence[str]


def _port_names(model: Model) -> _PortNames:
    inputs, outputs = (
        _distinct(_port_name(model.tensors[i], what, p) for p, i in enumerate(indices))
        for what, indices in (("input", model.inputs), ("output", model.outputs))
    )
    taken = list(dict.fromkeys((*inputs, *outputs)))
    states = _distinct([*taken, *(s.name or f"state_{p}" for p, s in enumerate(model.states))])
    return _PortNames(inputs, outputs, states[len(taken) :])


def _port_name(tensor: Tensor, what: str, position: int) -> str:
    return tensor.name or f"{what}_{position}"


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names with a number added to those that occurred before: values are bound by name."""
    names_so_far: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in names_so_far:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}_{counts[name]}"
        names_so_far[candidate] = None
    return list(names_so_far)
