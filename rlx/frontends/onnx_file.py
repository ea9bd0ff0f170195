"""What an ONNX file holds, as plain structures: nothing behind this module sees protobuf."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rlx.errors import ToolMissingError
from rlx.frontends.onnx_elements import DTYPES, ELEMENTS, decode
from rlx.frontends.onnx_wire import check_fields
from rlx.frontends.refusal import (
    DamagedError,
    MalformedError,
    OverLimitError,
    RefusedError,
    UnsupportedError,
)
from rlx.ir import DType
from rlx.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rlx.ir import Array

T = TypeVar("T")

DOMAIN = ""
"""The operators of the ONNX standard; ``ai.onnx`` means the same."""

External: TypeAlias = "Callable[[Mapping[str, str]], bytes]"
"""Returns the bytes that a tensor keeps in another file, or refuses."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """An attribute that holds a graph: the body of control flow, which is not read."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor that the file holds.

    Attributes:
        name: Its name; in attributes often empty.
        dtype: Element type.
        array: The elements.
    """

    name: str
    dtype: DType
    array: Array


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute of a function's body that stands for one of the caller's."""

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
    def operator(self) -> str:
        """The operator's name, with its domain where that is not the standard's."""
        return f"{self.domain}.{self.type}" if self.domain else self.type

    @property
    def label(self) -> str:
        """How messages call the node."""
        known = shorten(self.name or printable(next(filter(None, self.outputs), "")))
        return f"node {self.index} {shorten(self.operator)}" + (f" '{known}'" if known else "")


@dataclass(frozen=True, slots=True)
class Info:
    """Name and type of an input or output of the graph.

    Attributes:
        name: Its name.
        dtype: Element type; None where the file does not say it.
        shape: Numbers, names of symbols, or None for a dimension that is not named; None where
            the file does not say how many dimensions there are.
        refusal: Set if values of its kind cannot enter a graph.
    """

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None
    refusal: UnsupportedError | None = None

    @property
    def described(self) -> str:
        """Element type and shape for messages."""
        kind = self.dtype.value if self.dtype else "a value"
        if self.shape is None:
            return kind
        shape = ", ".join("?" if d is None else shorten(str(d), 24) for d in self.shape[:16])
        return f"{kind}[{shape}]"


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """An operator that the file defines by others.

    Attributes:
        domain: Its domain.
        name: Its name in the domain.
        inputs: Names of its parameters.
        outputs: Names of its results.
        nodes: Its operators in order.
        attributes: Attributes that a caller must give.
        defaults: Attributes that a caller may give.
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
        inputs: Inputs that are no constants.
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
        external: Reads what tensors keep in other files.
        limits: How much to accept.

    Raises:
        RefusedError: The file is malformed, over a limit, or of a kind that rlx does not read.
    """
    onnx = package()
    try:
        check_fields(data, onnx.ModelProto.DESCRIPTOR, limits)
        proto = onnx.ModelProto.FromString(data)
    except RefusedError as error:
        raise error.inside("file") from None
    except Exception as error:
        # Protobuf's classes differ by implementation.
        text = shorten(printable(str(error)))
        raise DamagedError(f"is no ONNX model: {text}").inside("file") from None
    if not proto.HasField("graph"):
        raise DamagedError("there is no graph in the file").inside("model")
    try:
        return _model(proto, source, external, limits)
    except UnicodeDecodeError:
        raise DamagedError("a name is no text (UTF-8)").inside("model") from None
    except RefusedError as error:
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
    for index, given in enumerate(graph.initializer):
        tensor = _placed(f"tensor {index}", _tensor, given, external, limits)
        total += tensor.array.nbytes
        _count("constant_bytes", "bytes of constants", total, limits.constant_bytes)
        if not tensor.name or tensor.name in tensors:
            what = "has no name" if not tensor.name else "has the name of another tensor"
            raise MalformedError(f"'{shorten(tensor.name)}' {what}").inside(f"tensor {index}")
        tensors[tensor.name] = tensor
    inputs = _infos("graph input", graph.input)
    functions = [
        _placed(f"function {i}", _function, f, external, limits)
        for i, f in enumerate(proto.functions)
    ]
    found = {(f.domain, f.name): f for f in functions}
    if len(found) != len(functions):
        raise MalformedError("two functions have one name").inside("functions")
    return Model(
        source=source,
        name=_text(graph.name),
        nodes=_nodes(graph.node, external, limits),
        tensors=tensors,
        # Old files list constants among the inputs: those are their defaults.
        inputs=tuple(i for i in inputs if i.name not in tensors),
        outputs=_infos("graph output", graph.output),
        functions=found,
        versions=_versions(proto.opset_import),
    )


def _count(limit: str, what: str, count: int, most: int) -> None:
    """Refuse more than ``most`` of something."""
    if count > most:
        raise OverLimitError(
            f"there are {count} {what}; the limit is {most}", hint=raise_hint(limit, count)
        )


def _placed(place: str, read: Callable[..., T], *given: Any) -> T:  # noqa: ANN401
    """Return ``read(*given)``; a refusal names the place."""
    try:
        return read(*given)
    except RefusedError as error:
        raise error.inside(place) from None


def _text(text: str | bytes) -> str:
    """Return a text of the file, as a terminal may show it."""
    plain = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    return printable(plain)


def _domain(text: str) -> str:
    return DOMAIN if text == "ai.onnx" else _text(text)


def _versions(imports: Iterable[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in imports:
        domain = _domain(entry.domain)
        if found.setdefault(domain, entry.version) != entry.version:
            raise MalformedError(
                f"the operators '{shorten(domain)}' are imported in two versions, "
                f"{found[domain]} and {entry.version}"
            ).inside("opset_import")
    return found


def _nodes(nodes: Sequence[Any], external: External, limits: Limits) -> tuple[Node, ...]:
    return tuple(
        _placed(f"node {i} {shorten(_text(n.op_type))}", _node, i, n, external, limits)
        for i, n in enumerate(nodes)
    )  # fmt: skip


def _node(index: int, node: Any, external: External, limits: Limits) -> Node:  # noqa: ANN401
    _count("operands", "inputs or outputs", max(len(node.input), len(node.output)), limits.operands)
    # One attribute a name; real operators have a dozen at most.
    _count("operands", "attributes", len(node.attribute), limits.operands)
    if not node.op_type:
        raise MalformedError("has no operator type")
    attributes: dict[str, Attribute] = {}
    for given in node.attribute:
        name = _text(given.name)
        if name in attributes:
            raise MalformedError(f"has the attribute '{shorten(name)}' twice")
        attributes[name] = _placed(
            f"attribute '{shorten(name)}'", _attribute, given, external, limits
        )
    return Node(
        index=index,
        name=_text(node.name),
        domain=_domain(node.domain),
        type=_text(node.op_type),
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes=attributes,
    )


_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = range(1, 11)


def _attribute(given: Any, external: External, limits: Limits) -> Attribute:  # noqa: ANN401
    """Return an attribute's value."""
    if given.ref_attr_name:
        return Reference(_text(given.ref_attr_name))
    readers: dict[int, Callable[[], Attribute]] = {
        _FLOAT: lambda: float(given.f),
        _INT: lambda: int(given.i),
        _STRING: lambda: _text(given.s),
        _FLOATS: lambda: tuple(float(v) for v in given.floats),
        _INTS: lambda: tuple(int(v) for v in given.ints),
        _STRINGS: lambda: tuple(_text(v) for v in given.strings),
        _GRAPH: Subgraph,
        _GRAPHS: Subgraph,
    }
    if given.type == _TENSOR:
        try:
            return _tensor(given.t, external, limits)
        except UnsupportedError as error:
            return error
    if given.type not in readers:
        return UnsupportedError(f"is of a kind that rlx does not read ({given.type})")
    return readers[given.type]()


def _tensor(given: Any, external: External, limits: Limits) -> Tensor:  # noqa: ANN401
    """Return a tensor; its size is checked against its bytes before anything is made of them."""
    name = _text(given.name)
    try:
        shape = tuple(int(d) for d in given.dims)
        check_shape(shape, limits, elements=False)
        if given.data_type not in ELEMENTS:
            raise UnsupportedError(f"has elements of an unknown type ({given.data_type})")
        array = decode(given, shape, external)
    except RefusedError as error:
        raise error.inside(f"'{shorten(name)}'") if name else error from None
    return Tensor(given.name, DType.of(array), array)


def check_shape(
    shape: Sequence[int | str | None], limits: Limits, *, elements: bool = True
) -> None:
    """Check the numbers of a shape that a file claims.

    Raises:
        MalformedError: There are too many dimensions, or one is negative or too large.
    """
    if len(shape) > limits.rank:
        raise OverLimitError(
            f"has {len(shape)} dimensions; the limit is {limits.rank}",
            hint=raise_hint("rank", len(shape)),
        )
    count = 1
    for size in shape:
        if not isinstance(size, int):
            continue
        if size < 0:
            raise MalformedError(f"has the shape {list(shape)}, want dimensions from 0")
        if size > limits.dimension:
            raise OverLimitError(
                f"has the shape {list(shape)}; the limit is {limits.dimension} a dimension",
                hint=raise_hint("dimension", size),
            )
        count *= size
    if elements and count > limits.elements:
        raise OverLimitError(
            f"has the shape {list(shape)}, {count} elements; the limit is {limits.elements}",
            hint=raise_hint("elements", count),
        )


def _infos(what: str, values: Iterable[Any]) -> tuple[Info, ...]:
    return tuple(_placed(f"{what} {place}", _info, value) for place, value in enumerate(values))


def _info(value: Any) -> Info:  # noqa: ANN401
    kind = value.type.WhichOneof("value")
    if not value.name:
        raise MalformedError("has no name")
    if kind not in (None, "tensor_type"):
        other = UnsupportedError(
            f"'{shorten(_text(value.name))}' is a {kind.removesuffix('_type')}, no tensor",
            hint="rlx models tensors only: make inputs and outputs tensors",
        )
        return Info(value.name, None, None, other)
    given = value.type.tensor_type
    dtype: DType | None = None
    refusal: UnsupportedError | None = None
    if given.elem_type:
        dtype = DTYPES.get(given.elem_type)
        if dtype is None:
            known = ELEMENTS.get(given.elem_type, f"an unknown type ({given.elem_type})")
            refusal = UnsupportedError(
                f"'{shorten(_text(value.name))}' holds {known}, which rlx does not model",
                hint="use float, integer or boolean tensors",
            )
    shape = tuple(_dimension(d) for d in given.shape.dim) if given.HasField("shape") else None
    return Info(value.name, dtype, shape, refusal)


def _dimension(dim: Any) -> int | str | None:  # noqa: ANN401
    match dim.WhichOneof("value"):
        case "dim_value":
            return int(dim.dim_value)
        case "dim_param" if dim.dim_param:
            return _text(dim.dim_param)
    return None


def _function(given: Any, external: External, limits: Limits) -> Function:  # noqa: ANN401
    _count("nodes", "nodes", len(given.node), limits.nodes)
    return Function(
        domain=_domain(given.domain),
        name=_text(given.name),
        inputs=tuple(given.input),
        outputs=tuple(given.output),
        nodes=_nodes(given.node, external, limits),
        attributes=tuple(_text(a) for a in given.attribute),
        defaults={_text(a.name): _attribute(a, external, limits) for a in given.attribute_proto},
        versions=_versions(given.opset_import),
    )


def function_of(proto: Any, limits: Limits = DEFAULT_LIMITS) -> Function:  # noqa: ANN401
    """Return the structure of a function that the package ``onnx`` defines."""

    def refuse(places: Mapping[str, str]) -> bytes:
        raise AssertionError(f"a standard function has external data {places}")

    return _function(proto, refuse, limits)
