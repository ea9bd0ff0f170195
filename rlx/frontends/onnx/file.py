"""Contents of an ONNX file as plain structures: no other module uses protobuf.

Tests: tests/unit/frontends/onnx/test_mutations.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rlx.frontends.onnx.elements import ELEMENTS, UNSIGNED_BITS, decode
from rlx.frontends.onnx.infos import Info, check_shape, placed, read_infos
from rlx.frontends.onnx.order import in_order
from rlx.frontends.onnx.texts import name_of, text_of
from rlx.frontends.onnx.wire import check_fields
from rlx.frontends.refusal import (
    DamagedError,
    FileRefusedError,
    MalformedError,
    OverLimitError,
    UnsupportedError,
)
from rlx.ir import DType
from rlx.support.errors import ToolMissingError
from rlx.support.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rlx.ir import Array

T = TypeVar("T")

DOMAIN = ""
"""The operators of the ONNX standard; ``ai.onnx`` means the same."""

External: TypeAlias = "Callable[[Mapping[str, str]], bytes]"
"""Returns the bytes that a tensor keeps in another file, or refuses."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor that the file holds.

    Attributes:
        name: Its name; in attributes often empty.
        dtype: Element type.
        array: The elements.
        bits: Bits of unsigned integers that the file has in less than 8; 0 for others.
    """

    name: str
    dtype: DType
    array: Array
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute of a function's body that refers to one of the caller's."""

    name: str


Attribute: TypeAlias = (
    "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]"
    " | Tensor | Subgraph | Reference | UnsupportedError"
)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operator.

    Attributes:
        index: Its place among the operators of its graph or function.
        name: Its name, often empty.
        domain: Who defined the operator, empty for the standard.
        type: Name of the operator.
        inputs: Names of values; empty for an input that is left out.
        outputs: Names of values; empty for an output that nobody reads.
        attributes: Numbers, texts and tensors by name.
    """

    index: int
    name: str
    domain: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]

    @property
    def reads(self) -> frozenset[str]:
        """Names of the values that it needs, those that graphs of its attributes read included."""
        inner = (a.reads for a in self.attributes.values() if isinstance(a, Subgraph))
        return frozenset(filter(None, self.inputs)).union(*inner)

    @property
    def operator(self) -> str:
        """The operator's name, with its domain where that is not the standard's."""
        return f"{self.domain}.{self.type}" if self.domain else self.type

    @property
    def label(self) -> str:
        """Name of the node in messages."""
        known = shorten(self.name or printable(next(filter(None, self.outputs), "")))
        return f"node {self.index} {shorten(self.operator)}" + (f" '{known}'" if known else "")


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """An attribute that holds a graph: the body of control flow.

    Attributes:
        nodes: Its operators.
        tensors: Constants by name.
        inputs: Names of its parameters.
        outputs: Names of its results.
        reads: Names of values of the graphs around it that it reads.
    """

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """An operator that the file defines by others.

    Attributes:
        domain: Its domain.
        name: Its name in the domain.
        inputs: Names of its parameters.
        outputs: Names of its results.
        nodes: Its operators in order.
        attributes: Attributes without a default.
        defaults: Attributes with a default.
        versions: Version of each domain's operators.
    """

    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    attributes: tuple[str, ...]
    defaults: Mapping[str, Attribute]
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Model:
    """The graph of a file, and the functions that it calls.

    Attributes:
        source: Name of the file, without folders.
        name: Name of the graph.
        nodes: All operators, in the order of execution.
        tensors: Constants by name.
        texts: Constants that hold texts, by name.
        inputs: Inputs that are not constants.
        outputs: Outputs.
        functions: Functions by domain and name.
        versions: Version of each domain's operators.
    """

    source: str
    name: str
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[Info, ...]
    outputs: tuple[Info, ...]
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[tuple[str, str], Function] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)


def package() -> Any:  # noqa: ANN401 - a module
    """Return the package ``onnx``.

    Raises:
        ToolMissingError: It is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise ToolMissingError(
            "ONNX files are read with the package onnx, which is not installed",
            hint='pip install "rlx[import]"',
        ) from None
    return onnx


def parse(data: bytes, source: str, external: External, limits: Limits = DEFAULT_LIMITS) -> Model:
    """Read a file into structures; nothing is known yet of how they fit together.

    Args:
        data: The file.
        source: Its name, for messages.
        external: Reads the data of tensors in other files.
        limits: Limits that the model must keep.

    Raises:
        FileRefusedError: The file is malformed, over a limit, or of a kind that rlx does not read.
    """
    onnx = package()
    try:
        check_fields(data, onnx.ModelProto.DESCRIPTOR, limits)
        proto = onnx.ModelProto.FromString(data)
    except FileRefusedError as error:
        raise error.inside("file") from None
    except Exception as error:
        # Protobuf's classes differ by implementation.
        text = shorten(printable(str(error)))
        raise DamagedError(f"expected an ONNX model: {text}").inside("file") from None
    if not proto.HasField("graph"):
        raise DamagedError("the file holds no graph").inside("model")
    try:
        return _model(proto, source, external, limits)
    except UnicodeDecodeError:
        raise DamagedError("a name is not valid UTF-8").inside("model") from None
    except FileRefusedError as error:
        raise error if error.path else error.inside("graph") from None


def _model(proto: Any, source: str, external: External, limits: Limits) -> Model:  # noqa: ANN401
    graph = proto.graph
    _count("nodes", "nodes", len(graph.node), limits.nodes)
    _count("tensors", "tensors", len(graph.initializer) + len(graph.input), limits.tensors)
    if graph.sparse_initializer:
        raise UnsupportedError(
            f"the graph holds {len(graph.sparse_initializer)} sparse tensors",
            hint="store them as dense tensors",
        )
    tensors: dict[str, Tensor] = {}
    total = 0
    texts: dict[str, tuple[str, ...]] = {}
    for index, tensor_proto in enumerate(graph.initializer):
        if tensor_proto.data_type == _TEXTS and not tensor_proto.data_location:
            texts[name_of(tensor_proto.name)] = tuple(map(text_of, tensor_proto.string_data))
            continue
        tensor = placed(f"tensor {index}", _tensor, tensor_proto, external, limits)
        total += tensor.array.nbytes
        _count("constant_bytes", "bytes of constants", total, limits.constant_bytes)
        if not tensor.name or tensor.name in tensors:
            what = "has no name" if not tensor.name else "has the name of another tensor"
            raise MalformedError(f"'{shorten(tensor.name)}' {what}").inside(f"tensor {index}")
        tensors[tensor.name] = tensor
    inputs = read_infos("graph input", graph.input)
    functions = [
        placed(f"function {i}", _function, f, external, limits)
        for i, f in enumerate(proto.functions)
    ]
    functions_by_name = {(f.domain, f.name): f for f in functions}
    if len(functions_by_name) != len(functions):
        raise MalformedError("two functions have one name").inside("functions")
    return Model(
        source=source,
        name=text_of(graph.name),
        nodes=_nodes(graph.node, external, limits),
        tensors=tensors,
        texts=texts,
        # Old files list constants among the inputs: those are their defaults.
        inputs=tuple(i for i in inputs if i.name not in {*tensors, *texts}),
        outputs=read_infos("graph output", graph.output),
        functions=functions_by_name,
        versions=_versions(proto.opset_import),
    )


def _count(limit: str, what: str, count: int, most: int) -> None:
    """Refuse more than ``most`` of something."""
    if count > most:
        raise OverLimitError(
            f"there are {count} {what}; the limit is {most}", hint=raise_hint(limit, count)
        )


def _domain(name: str | bytes) -> str:
    return DOMAIN if name == "ai.onnx" else text_of(name)


def _versions(imports: Iterable[Any]) -> dict[str, int]:
    versions: dict[str, int] = {}
    for entry in imports:
        domain = _domain(entry.domain)
        if versions.setdefault(domain, entry.version) != entry.version:
            raise MalformedError(
                f"the operators '{shorten(domain)}' are imported in two versions, "
                f"{versions[domain]} and {entry.version}"
            ).inside("opset_import")
    return versions


def _nodes(nodes: Sequence[Any], external: External, limits: Limits) -> tuple[Node, ...]:
    return in_order(
        [
            placed(f"node {i} {shorten(text_of(n.op_type))}", _node, i, n, external, limits)
            for i, n in enumerate(nodes)
        ]
    )


def _node(index: int, node: Any, external: External, limits: Limits) -> Node:  # noqa: ANN401
    _count("operands", "inputs or outputs", max(len(node.input), len(node.output)), limits.operands)
    # One attribute a name; real operators have a dozen at most.
    _count("operands", "attributes", len(node.attribute), limits.operands)
    if not node.op_type:
        raise MalformedError("has no operator type")
    attributes: dict[str, Attribute] = {}
    for attribute in node.attribute:
        name = text_of(attribute.name)
        if name in attributes:
            raise MalformedError(f"has the attribute '{shorten(name)}' twice")
        attributes[name] = placed(
            f"attribute '{shorten(name)}'", _attribute, attribute, external, limits
        )
    return Node(
        index=index,
        name=text_of(node.name),
        domain=_domain(node.domain),
        type=text_of(node.op_type),
        inputs=tuple(map(name_of, node.input)),
        outputs=tuple(map(name_of, node.output)),
        attributes=attributes,
    )


_TEXTS = 8
"""``TensorProto.STRING``."""

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = range(1, 11)


def _attribute(attribute: Any, external: External, limits: Limits) -> Attribute:  # noqa: ANN401
    """Return an attribute's value."""
    if attribute.ref_attr_name:
        return Reference(text_of(attribute.ref_attr_name))
    readers: dict[int, Callable[[], Attribute]] = {
        _FLOAT: lambda: float(attribute.f),
        _INT: lambda: int(attribute.i),
        _STRING: lambda: text_of(attribute.s),
        _FLOATS: lambda: tuple(float(v) for v in attribute.floats),
        _INTS: lambda: tuple(int(v) for v in attribute.ints),
        _STRINGS: lambda: tuple(text_of(v) for v in attribute.strings),
    }
    if attribute.type in (_TENSOR, _GRAPH):
        try:
            if attribute.type == _GRAPH:
                return _subgraph(attribute.g, external, limits)
            return _tensor(attribute.t, external, limits)
        except UnsupportedError as error:
            return error
    if attribute.type not in readers:
        return UnsupportedError(f"is of a kind that rlx does not read ({attribute.type})")
    return readers[attribute.type]()


def _subgraph(graph: Any, external: External, limits: Limits) -> Subgraph:  # noqa: ANN401
    """Return a graph inside an operator; check_fields has bounded how deep they are nested."""
    _count("nodes", "nodes", len(graph.node), limits.nodes)
    nodes = _nodes(graph.node, external, limits)
    tensors = [
        placed(f"tensor {i}", _tensor, t, external, limits) for i, t in enumerate(graph.initializer)
    ]
    inputs = tuple(name_of(i.name) for i in graph.input)
    outputs = tuple(name_of(o.name) for o in graph.output)
    inner_names = {
        *inputs,
        *(t.name for t in tensors),
        *(name for n in nodes for name in n.outputs),
    }
    reads = frozenset(outputs).union(*(n.reads for n in nodes)) - inner_names
    return Subgraph(nodes, {t.name: t for t in tensors}, inputs, outputs, reads)


def _tensor(tensor: Any, external: External, limits: Limits) -> Tensor:  # noqa: ANN401
    """Return a tensor; its size is checked against its bytes before anything is made of them."""
    name = text_of(tensor.name)
    try:
        shape = tuple(int(d) for d in tensor.dims)
        check_shape(shape, limits, elements=False)
        if tensor.data_type not in ELEMENTS:
            raise UnsupportedError(f"has elements of an unknown type ({tensor.data_type})")
        array = decode(tensor, shape, external)
    except FileRefusedError as error:
        raise error.inside(f"'{shorten(name)}'") if name else error from None
    return Tensor(
        name_of(tensor.name), DType.of(array), array, UNSIGNED_BITS.get(tensor.data_type, 0)
    )


def _function(function: Any, external: External, limits: Limits) -> Function:  # noqa: ANN401
    _count("nodes", "nodes", len(function.node), limits.nodes)
    return Function(
        domain=_domain(function.domain),
        name=text_of(function.name),
        inputs=tuple(map(name_of, function.input)),
        outputs=tuple(map(name_of, function.output)),
        nodes=_nodes(function.node, external, limits),
        attributes=tuple(text_of(a) for a in function.attribute),
        defaults={
            text_of(a.name): _attribute(a, external, limits) for a in function.attribute_proto
        },
        versions=_versions(function.opset_import),
    )


def function_of(proto: Any, limits: Limits = DEFAULT_LIMITS) -> Function:  # noqa: ANN401
    """Return the structure of a function that the package ``onnx`` defines."""

    def refuse(entries: Mapping[str, str]) -> bytes:
        raise AssertionError(f"a standard function has external data {entries}")

    return _function(proto, refuse, limits)
