"""The ``.rlx`` file: a module with its stage, its constants and its memory plan.

It is one safetensors file. Each constant is a tensor ``constant.<node>``, in a region
``constant.<outer node>.<attribute>.<node>``; element types that safetensors or NumPy do not have
are stored as bytes. All else is one JSON text in the metadata, under the key ``rlx``::

    {"version": 1, "sha256": <of the document and of all constants>, "document": <_Document>}

The same module results in the same bytes. Nothing in a file is executed; every error in one is
found before the graph is handed out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_tensors

from rlx.ir.file_errors import HINT, RefusedError, at, check_suffix, where
from rlx.ir.file_limits import check_node, check_sizes, over
from rlx.ir.file_tensors import read_constant, seal, stored, tensor_name
from rlx.ir.graph import Constant, Graph, Node, Source, Value
from rlx.ir.lookup import op_class
from rlx.ir.module import (
    GraphModule,
    HasModule,
    MemoryPlan,
    Placement,
    Region,
    Stage,
    StateCopy,
    as_module,
)
from rlx.ir.origin import Origin  # noqa: TC001 - its fields are read from the annotation
from rlx.ir.plain import (
    PlainError,
    PlainRecord,
    codec,
    decode_record,
    decode_source,
    encode_fields,
    from_json,
    map_plain,
    to_json,
)
from rlx.ir.regions import MAX_DEPTH
from rlx.ir.types import TensorType  # noqa: TC001 - resolved when read
from rlx.ir.verify import verify
from rlx.support.calls import checked_call
from rlx.support.errors import FrontendError, VerifyError
from rlx.support.files.outputs import write_file
from rlx.support.files.scratch import work_folder
from rlx.support.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from rlx.ir.file_tensors import NodePath
    from rlx.ir.op import Op
    from rlx.ir.plain import Plain
    from rlx.ir.types import Array

VERSION = 1
_KEY = "rlx"
_UNLIMITED = Limits(**{one.name: 1 << 62 for one in fields(Limits)})


@dataclass(frozen=True, slots=True)
class _Node:
    """A node: op with attributes, operands as (node, result), types, name, origin.

    A graph among the attributes is the record of a ``_Region``.
    """

    op: PlainRecord
    operands: tuple[tuple[int, int], ...]
    types: tuple[TensorType, ...]
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class _Region:
    """A graph without the contents of its constants: an attribute, or that of the document."""

    name: str
    nodes: tuple[_Node, ...]
    outputs: tuple[tuple[int, int], ...]
    output_names: tuple[str, ...]


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
class _Copy:
    """A state's next value that is moved to its buffer, values as (node, result)."""

    source: tuple[int, int]
    state: tuple[int, int]
    through: int | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A memory plan, its nodes as indices."""

    schedule: tuple[int, ...]
    placements: tuple[_Place, ...]
    arena_bytes: int
    alignment: int
    copies: tuple[_Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class _Document:
    """A module without the contents of its constants."""

    stage: Stage
    name: str
    nodes: tuple[_Node, ...]
    outputs: tuple[tuple[int, int], ...]
    output_names: tuple[str, ...]
    plan: _Plan | None


@checked_call
def save(module: GraphModule | Graph | HasModule, path: str | os.PathLike[str]) -> None:
    """Write ``module`` to ``path``, which appears complete or not at all.

    Args:
        module: A network; a graph is written as one at the first stage.
        path: File to write.

    Raises:
        UsageError: It is neither, or the suffix is that of another model format.
        VerifyError: The module breaks an invariant of its stage.
        OutputError: The file cannot be written.
    """
    check_suffix(path)
    module = as_module(module)
    verify(module)
    write_file(path, to_file_bytes(module))


def to_file_bytes(module: GraphModule) -> bytes:
    """Return the content of the ``.rlx`` file of ``module``."""
    document = to_json(codec(_Document).encode(_document(module)))
    constants = dict(_constants_of(module.graph))
    content = {
        "version": VERSION,
        "sha256": seal(document, constants),
        "document": document,
    }
    tensors = {tensor_name(path): stored(array) for path, array in constants.items()}
    # One key only: safetensors writes several in an order that changes from run to run.
    return save_tensors(tensors, metadata={_KEY: json.dumps(content, separators=(",", ":"))})


def from_file_bytes(content: bytes) -> GraphModule:
    """Return the module whose file has this content, which rlx wrote just before."""
    with work_folder("module") as work:
        path = work / "module.rlx"
        path.write_bytes(content)
        return load(path, limits=_UNLIMITED)


def load(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> GraphModule:
    """Return the module in the file at ``path``, verified.

    The modules that define its ops must have been imported (``import rlx.ops`` for our own).

    Args:
        path: The file.
        limits: Limits on the size of the graph.

    Raises:
        FrontendError: The file cannot be read, is not a valid ``.rlx`` file, or is over a limit.
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
    file = Path(path)
    try:
        with at("file"):
            return _load(file, limits)
    except (SafetensorError, OSError) as e:
        raise FrontendError(
            f"not a readable .rlx file: {e}",
            where=f"{file.name}: header",
            hint="give a file that rlx wrote; if this is one, it is damaged: copy it again",
        ) from e
    except RefusedError as e:
        raise FrontendError(e.message, where=f"{file.name}: {e.location}", hint=e.hint) from e


def verify_read(module: GraphModule, path: str | os.PathLike[str]) -> None:
    """Check every invariant of a module that was read from ``path``.

    Raises:
        VerifyError: It lists the broken rules.
    """
    try:
        verify(module, where=f"{Path(path).name}: graph")
    except VerifyError as e:
        raise VerifyError(e.message, where=e.where, hint=HINT) from e


def _load(path: Path, limits: Limits) -> GraphModule:
    """Return the module; any error is raised as it occurs."""
    if (size := path.stat().st_size) > limits.file_bytes:
        raise over("file_bytes", f"the file has {size} bytes", size, limits)
    with safe_open(path, framework="numpy") as tensors:
        with at("header"):
            content = _content(tensors.metadata(), limits)
        with at("document"):
            document = codec(_Document).decode(from_json(content["document"]))
            bodies = _bodies(document)
        _check_types(bodies, limits)
        constants = dict(_constants(bodies, tensors))
    if seal(content["document"], constants) != content["sha256"]:
        with at("checksum"):
            raise PlainError("the content is not what was written; its checksum differs")
    return _module(document, _Reading(bodies, constants, limits))


def _content(metadata: Mapping[str, str] | None, limits: Limits) -> dict[str, Any]:
    """Return the JSON of the metadata, checked for its version."""
    if not metadata or _KEY not in metadata:
        raise PlainError(
            f"a safetensors file without {_KEY!r} in its metadata holds no graph",
            hint="give a .rlx file that rlx wrote; a file of weights is not a model",
        )
    if (size := len(metadata[_KEY])) > limits.document_bytes:
        raise over("document_bytes", f"the graph's text has {size} bytes", size, limits)
    try:
        content = json.loads(metadata[_KEY], object_pairs_hook=_unique, parse_constant=_no_constant)
    except PlainError:
        raise
    except ValueError as e:
        raise PlainError(f"expected the graph as JSON: {e}") from e
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
    """Refuse NaN and the infinities, which JSON cannot represent."""
    raise PlainError(f"expected JSON, got {name}")


def _document(module: GraphModule) -> _Document:
    """Return the description of a module."""
    body = _region(module.graph)
    return _Document(
        stage=module.stage,
        name=body.name,
        nodes=body.nodes,
        outputs=body.outputs,
        output_names=body.output_names,
        plan=None if module.plan is None else _plan(module.plan),
    )


def _region(graph: Graph) -> _Region:
    """Return the description of a graph."""
    return _Region(
        name=graph.name,
        nodes=tuple(
            _Node(_op_record(n.op), tuple(map(_pair, n.operands)), n.types, n.name, n.origin)
            for n in graph.nodes
        ),
        outputs=tuple(map(_pair, graph.outputs)),
        output_names=graph.output_names,
    )


def _op_record(op: Op) -> PlainRecord:
    """Return name and attributes of an op; type and elements of a source are kept elsewhere."""
    if isinstance(op, Source):
        return PlainRecord(op.name, dict(op.settings))
    attributes = encode_fields(op).items()
    return PlainRecord(op.name, {k: map_plain(v, _encode_region, k) for k, v in attributes})


def _encode_region(plain: Plain, path: str) -> Plain:
    """Return the record of a region; any other value unchanged."""
    del path
    return codec(_Region).encode(_region(plain)) if isinstance(plain, Graph) else plain


def _constants_of(graph: Graph, path: NodePath = ()) -> Iterator[tuple[NodePath, Array]]:
    """Yield the array of each constant, those of regions too, by its place."""
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            yield (*path, node.index), node.op.value
        for attribute, region in node.op.regions():
            yield from _constants_of(region, (*path, node.index, attribute))


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
        tuple(_Copy(_pair(c.source), _pair(c.state), c.through) for c in plan.copies),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reading:
    """Parts of a file that are read and checked before its graph is made.

    Attributes:
        bodies: The description of each graph: that of the document at ``()``, that of a region at
            the path of its attribute.
        constants: The array of each constant by its place.
        limits: Limits on the sizes among the attributes.
    """

    bodies: Mapping[NodePath, _Region]
    constants: Mapping[NodePath, Array]
    limits: Limits


def _bodies(document: _Document) -> dict[NodePath, _Region]:
    """Return the description of each graph of a document, as ``_Reading`` has them."""
    found: dict[NodePath, _Region] = {}
    main = _Region(document.name, document.nodes, document.outputs, document.output_names)
    _collect(main, (), found)
    return found


def _collect(body: _Region, path: NodePath, regions: dict[NodePath, _Region]) -> None:
    """Enter a graph and its regions into ``regions``."""
    # Each level has an index and an attribute in the path.
    if len(path) > 2 * MAX_DEPTH:
        raise PlainError(f"regions are nested deeper than {MAX_DEPTH}")
    regions[path] = body
    for index, node in enumerate(body.nodes):

        def visit(plain: Plain, attribute: str, index: int = index) -> Plain:
            if not _is_region(plain):
                return plain
            _collect(codec(_Region).decode(plain), (*path, index, attribute), regions)
            return None

        with at(where(path, index)):
            for attribute, plain in node.op.fields.items():
                map_plain(plain, visit, attribute)


def _is_region(plain: Plain) -> bool:
    """Return whether a plain value describes a region."""
    return isinstance(plain, PlainRecord) and plain.name == _Region.__name__


def _check_types(bodies: Mapping[NodePath, _Region], limits: Limits) -> None:
    """Raise RefusedError if the graph or a tensor of it is larger than the limits allow."""
    every = [node for body in bodies.values() for node in body.nodes]
    operators = sum(bool(node.operands) for node in every)
    for name, count in (("nodes", operators), ("tensors", len(every))):
        if count > getattr(limits, name):
            with at("document"):
                raise over(name, f"the graph has {count} {name}", count, limits)
    for path, body in bodies.items():
        for index, node in enumerate(body.nodes):
            with at(where(path, index)):
                check_node(node.op.name, len(node.operands), node.types, limits)


def _constants(
    bodies: Mapping[NodePath, _Region],
    tensors: Any,  # noqa: ANN401 - an open safetensors file
) -> Iterator[tuple[NodePath, Array]]:
    """Yield the array of each constant by its place."""
    constants = {
        tensor_name((*path, i)): (path, i, n.types[0])
        for path, body in bodies.items()
        for i, n in enumerate(body.nodes)
        if n.op.name == Constant.name and len(n.types) == 1
    }
    if set(tensors.keys()) != set(constants):
        with at("tensors"):
            raise PlainError("the tensors are not those of the graph's constants")
    for name, (path, index, type_) in constants.items():
        with at(where(path, index)):
            yield (*path, index), read_constant(name, type_, tensors)


def _module(document: _Document, reading: _Reading) -> GraphModule:
    """Return the module of a description."""
    graph = _graph(reading, ())
    with at("plan"):
        plan = None if document.plan is None else _restored_plan(graph.nodes, document.plan)
    return GraphModule(graph, document.stage, plan)


def _graph(reading: _Reading, path: NodePath) -> Graph:
    """Return the graph that is described at ``path``."""
    body = reading.bodies[path]
    graph = Graph(body.name)
    values: list[Node] = []
    for index, node in enumerate(body.nodes):
        with at(where(path, index)):
            op = _op(node, (*path, index), reading)
            check_sizes(op, reading.limits)
            operands = tuple(_value(values, o) for o in node.operands)
            values.append(
                graph.restore(op, operands, node.types, name=node.name, origin=node.origin)
            )
    with at(where(path, "outputs")):
        if len(body.outputs) != len(body.output_names):
            raise PlainError("every output needs a name")
        graph.output(*(_value(values, o) for o in body.outputs), names=body.output_names)
    return graph


def _op(node: _Node, path: NodePath, reading: _Reading) -> Op:
    """Return the op of the node that is described at ``path``."""
    cls = op_class(node.op.name)
    if not issubclass(cls, Source):

        def visit(plain: Plain, attribute: str) -> Plain:
            return _graph(reading, (*path, attribute)) if _is_region(plain) else plain

        fields = {k: map_plain(plain, visit, k) for k, plain in node.op.fields.items()}
        try:
            op: Op = decode_record(cls, fields)
        except PlainError as e:
            raise PlainError(f"{cls.name}: {e}") from e
        return op
    if len(node.types) != 1:
        raise PlainError(f"{cls.name} has one result")
    if cls is not Constant:
        return decode_source(cls, node.op.fields, node.types[0])
    if node.op.fields:
        raise PlainError(f"{cls.name} takes no attributes")
    # Every constant's tensor was read.
    return Constant(type=node.types[0], value=reading.constants[path])


def _value(nodes: Sequence[Node], pair: tuple[int, int]) -> Value:
    """Return the value for a pair of indices."""
    index, result = pair
    if not (0 <= index < len(nodes) and 0 <= result < len(nodes[index].types)):
        raise PlainError(f"value {list(pair)} does not exist yet")
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
        tuple(
            StateCopy(_value(nodes, c.source), _value(nodes, c.state), c.through)
            for c in plan.copies
        ),
    )  # fmt: skip
