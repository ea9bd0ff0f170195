"""The ``.rlx`` file: a module with its stage, its constants and its memory plan.

It is one safetensors file. Each constant is a tensor ``constant.<node>``; element types that
safetensors or NumPy do not have are stored as bytes. All else is one JSON text in the metadata,
under the key ``rlx``::

    {"version": 1, "sha256": <of the document and of all constants>, "document": <_Document>}

The same module gives the same bytes. Nothing in a file is executed; whatever is wrong with one
is found before the graph is handed out.
"""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_tensors

from rlx.errors import FrontendError, ShapeError, VerifyError
from rlx.ir.dims import factors, is_negative
from rlx.ir.graph import Constant, Graph, Input, Node, Origin, Param, Source, Value
from rlx.ir.lookup import op_class
from rlx.ir.module import GraphModule, MemoryPlan, Placement, Region, Stage
from rlx.ir.payload import from_bytes, to_bytes
from rlx.ir.plain import (
    PlainError,
    PlainRecord,
    codec,
    decode_record,
    encode_fields,
    from_json,
    to_json,
)
from rlx.ir.sizes import sizes_of
from rlx.ir.types import DType, TensorType
from rlx.ir.verify import verify
from rlx.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.names import printable
from rlx.outputs import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from rlx.ir.op import Op
    from rlx.ir.types import Array

VERSION = 1
_KEY = "rlx"
# Stored as they are; all others as bytes.
_NATIVE = {
    DType.F64: "F64", DType.F32: "F32", DType.F16: "F16", DType.I64: "I64", DType.I32: "I32",
    DType.I16: "I16", DType.I8: "I8", DType.U64: "U64", DType.U32: "U32",
    DType.U16: "U16", DType.U8: "U8", DType.BOOL: "BOOL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Node:
    """A node: op with attributes, operands as (node, result), types, name, origin."""

    op: PlainRecord
    operands: tuple[tuple[int, int], ...]
    types: tuple[TensorType, ...]
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class _Place:
    """A placement, its values as (node, result)."""

    value: tuple[int, int]
    region: Region
    offset: int
    nbytes: int
    first: int
    last: int
    alias_of: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A memory plan, its nodes as numbers."""

    schedule: tuple[int, ...]
    placements: tuple[_Place, ...]
    arena_bytes: int
    alignment: int


@dataclass(frozen=True, slots=True)
class _Document:
    """A module without the contents of its constants."""

    stage: Stage
    name: str
    nodes: tuple[_Node, ...]
    outputs: tuple[tuple[int, int], ...]
    output_names: tuple[str, ...]
    plan: _Plan | None


def save(module: GraphModule, path: str | os.PathLike[str]) -> None:
    """Write ``module`` to ``path``, which appears complete or not at all.

    Raises:
        VerifyError: The module breaks an invariant of its stage.
        OutputError: The file cannot be written.
    """
    verify(module)
    write_file(path, to_file_bytes(module))


def to_file_bytes(module: GraphModule) -> bytes:
    """Return the content of the ``.rlx`` file of ``module``."""
    document = to_json(codec(_Document).encode(_document(module)))
    constants = {n.index: n.op.value for n in module.graph.nodes if isinstance(n.op, Constant)}
    content = {
        "version": VERSION,
        "sha256": _seal(document, constants),
        "document": document,
    }
    tensors = {_tensor_name(index): _stored(array) for index, array in constants.items()}
    # One key only: safetensors writes several in an order that changes from run to run.
    return save_tensors(tensors, metadata={_KEY: json.dumps(content, separators=(",", ":"))})


def load(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> GraphModule:
    """Return the module in the file at ``path``, verified.

    The modules that define its ops must have been imported (``import rlx.ops`` for our own).

    Args:
        path: The file.
        limits: How large a graph to accept.

    Raises:
        FrontendError: The file cannot be read, is no sound ``.rlx`` file, or is over a limit.
        VerifyError: The module breaks an invariant of its stage.
    """
    module = read(path, limits=limits)
    verify_read(module, path)
    return module


def read(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> GraphModule:
    """Return the module in the file at ``path``, which ``verify_read`` has not seen yet.

    Raises:
        FrontendError: As ``load``.
    """
    place = Path(path)
    try:
        with _at("file"):
            return _load(place, limits)
    except (SafetensorError, OSError) as e:
        raise FrontendError(
            f"not a readable .rlx file: {e}",
            where=f"{place.name}: header",
            hint="give a file that rlx wrote; if this is one, it is damaged: copy it again",
        ) from e
    except _RefusedError as e:
        raise FrontendError(e.message, where=f"{place.name}: {e.place}", hint=e.hint) from e


def verify_read(module: GraphModule, path: str | os.PathLike[str]) -> None:
    """Check every invariant of a module that was read from ``path``.

    Raises:
        VerifyError: It lists what is broken.
    """
    try:
        verify(module, where=f"{Path(path).name}: graph")
    except VerifyError as e:
        raise VerifyError(e.message, where=e.where, hint=_HINT) from e


_HINT = "the file was damaged or edited: write it again with rlx from the model that it came from"


class _RefusedError(Exception):
    """A file is refused at a place in it."""

    def __init__(self, message: str, place: str, hint: str) -> None:
        super().__init__(message)
        self.message = printable(message)
        self.place = place
        self.hint = hint


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Give refusals that come from inside their place, unless they have a nearer one."""
    try:
        yield
    except PlainError as e:
        raise _RefusedError(str(e), place, e.hint or _HINT) from e
    except ShapeError as e:
        shown = f"{e.where}: {e.message}" if e.where else e.message
        raise _RefusedError(shown, place, e.own_hint or _HINT) from e
    except RecursionError as e:
        raise _RefusedError("nested too deeply", place, _HINT) from e


def _load(path: Path, limits: Limits) -> GraphModule:
    """Return the module; raises whatever goes wrong."""
    if (size := path.stat().st_size) > limits.file_bytes:
        raise _over("file_bytes", f"the file has {size} bytes", size, limits)
    with safe_open(path, framework="numpy") as tensors:
        with _at("header"):
            content = _content(tensors.metadata(), limits)
        with _at("document"):
            document = codec(_Document).decode(from_json(content["document"]))
        _check_types(document, limits)
        constants = dict(_constants(document, tensors))
    if _seal(content["document"], constants) != content["sha256"]:
        with _at("checksum"):
            raise PlainError("the content is not what was written; its checksum differs")
    return _module(document, constants, limits)


def _content(metadata: Mapping[str, str] | None, limits: Limits) -> dict[str, Any]:
    """Return the JSON of the metadata, checked for its version."""
    if not metadata or _KEY not in metadata:
        raise PlainError(
            f"a safetensors file without {_KEY!r} in its metadata holds no graph",
            hint="give a .rlx file that rlx wrote; weights alone are no model",
        )
    if (size := len(metadata[_KEY])) > limits.document_bytes:
        raise _over("document_bytes", f"the graph's text has {size} bytes", size, limits)
    try:
        content = json.loads(metadata[_KEY], object_pairs_hook=_unique, parse_constant=_no_constant)
    except PlainError:
        raise
    except ValueError as e:
        raise PlainError(f"the graph is no JSON: {e}") from e
    if not isinstance(content, dict) or set(content) != {"version", "sha256", "document"}:
        raise PlainError("the graph needs version, sha256 and document")
    if content["version"] != VERSION:
        raise PlainError(
            f"format version is {content['version']!r}; this rlx reads {VERSION}",
            hint="read it with the release of rlx that wrote it, or import the model again",
        )
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; one key twice would mean different things to different readers."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise PlainError("an object has a key twice")
    return found


def _no_constant(name: str) -> float:
    """Refuse NaN and the infinities, which are no JSON."""
    raise PlainError(f"{name} is no JSON")


def _seal(document: Any, constants: Mapping[int, Array]) -> str:  # noqa: ANN401 - JSON
    """Return the SHA-256 of the document and the constants."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for index in sorted(constants):
        digest.update(to_bytes(constants[index]))
    return digest.hexdigest()


def _tensor_name(index: int) -> str:
    """Return the name of a constant's tensor."""
    return f"constant.{index}"


def _stored(array: Array) -> Array:
    """Return a constant as a tensor of the file."""
    if DType.of(array) in _NATIVE:
        return np.asarray(array, order="C")
    return np.frombuffer(to_bytes(array), np.uint8)


def _document(module: GraphModule) -> _Document:
    """Return the description of a module."""
    graph = module.graph
    return _Document(
        stage=module.stage,
        name=graph.name,
        nodes=tuple(
            _Node(_op_record(n.op), tuple(map(_pair, n.operands)), n.types, n.name, n.origin)
            for n in graph.nodes
        ),
        outputs=tuple(map(_pair, graph.outputs)),
        output_names=graph.output_names,
        plan=None if module.plan is None else _plan(module.plan),
    )


def _op_record(op: Op) -> PlainRecord:
    """Return name and attributes of an op; type and elements of a source are kept elsewhere."""
    return (
        PlainRecord(op.name) if isinstance(op, Source) else PlainRecord(op.name, encode_fields(op))
    )


def _pair(value: Value) -> tuple[int, int]:
    """Return a value as numbers of node and result."""
    return value.node.index, value.index


def _plan(plan: MemoryPlan) -> _Plan:
    """Return the description of a plan."""
    return _Plan(
        tuple(n.index for n in plan.schedule),
        tuple(
            _Place(
                _pair(p.value), p.region, p.offset, p.nbytes, p.first, p.last,
                None if p.alias_of is None else _pair(p.alias_of),
            )
            for p in plan.placements
        ),
        plan.arena_bytes,
        plan.alignment,
    )  # fmt: skip


def _constants(document: _Document, tensors: Any) -> Iterator[tuple[int, Array]]:  # noqa: ANN401
    """Yield the array of each constant by the number of its node."""
    wanted = {
        _tensor_name(i): (i, n.types[0])
        for i, n in enumerate(document.nodes)
        if n.op.name == Constant.name and len(n.types) == 1
    }
    if set(tensors.keys()) != set(wanted):
        with _at("tensors"):
            raise PlainError("the tensors are not those of the graph's constants")
    for name, (index, type_) in wanted.items():
        with _at(f"node {index}"):
            yield index, _constant(name, type_, tensors)


def _constant(name: str, type_: TensorType, tensors: Any) -> Array:  # noqa: ANN401
    """Return the array of one constant."""
    if not type_.is_static:
        raise PlainError(f"a constant cannot be {type_}, whose dimensions are no numbers")
    native = _NATIVE.get(type_.dtype, "U8")
    stored = tensors.get_slice(name)
    expected = list(type_.static_shape) if type_.dtype in _NATIVE else stored.get_shape()
    if stored.get_dtype() != native or stored.get_shape() != expected:
        raise PlainError(f"tensor {name} is not stored as {type_}")
    data = tensors.get_tensor(name).tobytes()
    try:
        array = from_bytes(data, type_)
    except ValueError as e:
        raise PlainError(f"tensor {name}: {e}") from e
    array.flags.writeable = False
    return array


def _check_types(document: _Document, limits: Limits) -> None:
    """Raise _RefusedError if the graph or a tensor of it is larger than the limits allow."""
    operators = sum(bool(node.operands) for node in document.nodes)
    for name, count in (("nodes", operators), ("tensors", len(document.nodes))):
        if count > getattr(limits, name):
            with _at("document"):
                raise _over(name, f"the graph has {count} {name}", count, limits)
    for index, node in enumerate(document.nodes):
        with _at(f"node {index}"):
            if (count := max(len(node.operands), len(node.types))) > limits.operands:
                raise _over("operands", f"it has {count} operands or results", count, limits)
            for type_ in node.types:
                _check_type(type_, limits)
                if node.op.name != Constant.name:
                    _check_elements(type_, limits)


def _check_type(type_: TensorType, limits: Limits) -> None:
    """Raise PlainError if a dimension or the number of elements is beyond the limits."""
    if len(type_.shape) > limits.rank:
        rank = len(type_.shape)
        raise _over("rank", f"a tensor has {rank} dimensions", rank, limits)
    for size in type_.shape:
        if is_negative(size):
            raise PlainError(f"a dimension must not be negative, not {size}")
        number = max(map(abs, factors(size)))
        if number > limits.dimension:
            raise _over("dimension", f"a dimension is {size}", number, limits)


def _check_elements(type_: TensorType, limits: Limits) -> None:
    """Raise PlainError if an input or a computed tensor is too large; for constants bytes count.

    Symbols count as 1.
    """
    elements = math.prod(d if isinstance(d, int) else max(sum(factors(d)), 1) for d in type_.shape)
    if elements > limits.elements:
        raise _over("elements", f"a tensor has {elements} elements", elements, limits)


def _check_sizes(op: Op, limits: Limits) -> None:
    """Raise PlainError if a size among the attributes of an op is beyond the limits."""
    for path, size in sizes_of(op):
        if size > limits.dimension:
            raise _over("dimension", f"{op.name}: {path} is {size}", size, limits)


def _over(name: str, found: str, number: int, limits: Limits) -> PlainError:
    """Return the error for what is over the limit ``name``."""
    return PlainError(
        f"{found}; the limit is {getattr(limits, name)}", hint=raise_hint(name, number)
    )


def _module(document: _Document, constants: Mapping[int, Array], limits: Limits) -> GraphModule:
    """Return the module of a description."""
    graph = Graph(document.name)
    values: list[Node] = []
    for index, node in enumerate(document.nodes):
        with _at(f"node {index}"):
            op = _op(node, constants.get(index))
            _check_sizes(op, limits)
            operands = tuple(_value(values, o) for o in node.operands)
            values.append(
                graph.restore(op, operands, node.types, name=node.name, origin=node.origin)
            )
    with _at("outputs"):
        if len(document.outputs) != len(document.output_names):
            raise PlainError("every output needs a name")
        graph.output(*(_value(values, o) for o in document.outputs), names=document.output_names)
    with _at("plan"):
        plan = None if document.plan is None else _restored_plan(graph.nodes, document.plan)
    return GraphModule(graph, document.stage, plan)


def _op(node: _Node, constant: Array | None) -> Op:
    """Return the op of a described node."""
    cls = op_class(node.op.name)
    if not issubclass(cls, Source):
        try:
            op: Op = decode_record(cls, node.op.fields)
        except PlainError as e:
            raise PlainError(f"{cls.name}: {e}") from e
        return op
    if node.op.fields or len(node.types) != 1:
        raise PlainError(f"{cls.name} takes no attributes and has one result")
    if cls is Constant:
        assert constant is not None  # every constant's tensor was read
        return Constant(type=node.types[0], value=constant)
    return Input(type=node.types[0]) if cls is Input else Param(type=node.types[0])


def _value(nodes: Sequence[Node], pair: tuple[int, int]) -> Value:
    """Return the value of a pair of numbers."""
    index, result = pair
    if not (0 <= index < len(nodes) and 0 <= result < len(nodes[index].types)):
        raise PlainError(f"there is no value {list(pair)} yet")
    return Value(nodes[index], result)


def _restored_plan(nodes: tuple[Node, ...], plan: _Plan) -> MemoryPlan:
    """Return the plan of a description."""
    if not all(0 <= index < len(nodes) for index in plan.schedule):
        raise PlainError("the schedule has a node that does not exist")
    return MemoryPlan(
        tuple(nodes[index] for index in plan.schedule),
        tuple(
            Placement(
                _value(nodes, p.value), p.region, p.offset, p.nbytes, p.first, p.last,
                None if p.alias_of is None else _value(nodes, p.alias_of),
            )
            for p in plan.placements
        ),
        plan.arena_bytes,
        plan.alignment,
    )  # fmt: skip
