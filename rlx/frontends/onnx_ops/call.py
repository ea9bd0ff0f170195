"""One ONNX node on its way into a graph: what an importer sees and does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rlx.frontends.onnx_file import Reference, Subgraph, Tensor
from rlx.frontends.refusal import MalformedError, OverLimitError, UnsupportedError
from rlx.ir import Dim, DType, Origin, QuantParams, TensorType
from rlx.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.names import printable, shorten
from rlx.ops.expression import Expression, scalar
from rlx.ops.real import RealDequantize
from rlx.tracing.layers import Layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx_file import Attribute, Function, Model, Node
    from rlx.ir import Array, Graph, Op, Shape, Value

OPEN_SHAPE = "give the shape of the graph's inputs, as --input-shape NAME=1x3x224x224"
"""What to do about dimensions without a size."""

# For training and storage only, or how the standard's own definition rounds between steps.
_WITHOUT_EFFECT = frozenset(
    ("momentum", "seed", "spatial", "storage_order", "stash_type", "consumed_inputs")
)

# A constant is computed while reading if that takes no more steps than this, for one op and for
# all of a file; else the op stays in the graph.
_FOLD_STEPS = 1 << 22
_FOLD_TOTAL = 1 << 25


class Real(Layers):
    """A value of the graph, with the arithmetic of traced tensors.

    An op on constants is computed at once. ``real.dequantize`` is not: the scale
    is needed later.

    Attributes:
        scope: Where it belongs to.
        call: The node that makes it, which names what is appended.
    """

    __slots__ = ("call", "scope")

    def __init__(self, scope: Scope, value: Value, call: Call | None) -> None:
        Expression.__init__(self, scope.graph, value)
        self.scope = scope
        self.call = call

    def wrap(self, value: Value) -> Self:
        """Return another value of the same graph."""
        return type(self)(self.scope, value, self.call)

    @property
    def array(self) -> Array | None:
        """Its elements where they are known, else None."""
        return self.value.constant

    def apply_all(self, op: Op, *others: Expression) -> tuple[Self, ...]:
        """Return every result of ``op`` on this value and others."""
        values = self.scope.append(self.call, op, self.value, *(o.value for o in others))
        return tuple(self.wrap(v) for v in values)

    def lift(self, other: Any) -> Self:  # noqa: ANN401 - a number, an array or an expression
        """Return ``other`` as a value; numbers and arrays become constants."""
        if isinstance(other, Expression):
            return self.wrap(other.value)
        array = other if isinstance(other, np.ndarray) else scalar(other, self.type)
        return self.wrap(self.scope.constant(array, self.call))


Symbolic: TypeAlias = "npt.NDArray[np.object_]"
"""Whole numbers that are known but for symbols: an array of ``int`` and ``Dim``."""

Result: TypeAlias = "Real | npt.NDArray[Any]"
Results: TypeAlias = "Result | Sequence[Result | None]"
"""What an importer returns: a value or known elements for each output that is wanted."""


@dataclass(slots=True)
class Scope:
    """What the nodes of one graph share, or of one function that is inlined.

    Attributes:
        model: The file.
        graph: What is made of it.
        versions: Version of each domain's operators.
        values: Each value by its name: in the graph, or known elements.
        place: The node that calls the function, for messages; empty for the graph itself.
        limits: How much work to accept.
        folded: Steps that constants took so far, in a list that all scopes share.
    """

    model: Model
    graph: Graph
    versions: Mapping[str, int]
    values: dict[str, Real | npt.NDArray[Any]] = field(default_factory=dict)
    place: str = ""
    limits: Limits = DEFAULT_LIMITS
    folded: list[int] = field(default_factory=lambda: [0])

    def constant(
        self, array: Array, call: Call | None = None, quant: QuantParams | None = None,
        name: str = "",
    ) -> Value:  # fmt: skip
        """Append a constant."""
        origin = call.origin if call else Origin(self.model.source, "tensor")
        name = name or (call.result_name if call else "")
        return self.graph.constant(array, name=name, quant=quant, origin=origin)

    def append(self, call: Call | None, op: Op, *operands: Value) -> tuple[Value, ...]:
        """Append an op, or compute it if its operands are constants."""
        name, origin = (call.result_name, call.origin) if call else ("", Origin())
        arrays = [o.constant for o in operands]
        if any(a is None for a in arrays) or isinstance(op, RealDequantize):
            return self.graph.append(op, *operands, name=name, origin=origin).results
        types = op.infer_checked(*(o.type for o in operands))
        self._check_sizes(types)
        steps = _steps(op, types, operands)
        if steps > _FOLD_STEPS or self.folded[0] + steps > _FOLD_TOTAL:
            return self.graph.append(op, *operands, name=name, origin=origin).results
        self.folded[0] += steps
        results = op.evaluate(*(a for a in arrays if a is not None))
        return tuple(
            self.constant(np.asarray(r), call, t.quant) for r, t in zip(results, types, strict=True)
        )

    def _check_sizes(self, types: Sequence[TensorType]) -> None:
        """Refuse results that are too large to be made."""
        for type_ in types:
            if type_.is_static and type_.size > self.limits.elements:
                raise OverLimitError(
                    f"a constant has {type_.size} elements; the limit is {self.limits.elements}",
                    hint=raise_hint("elements", type_.size),
                )


def _steps(op: Op, types: Sequence[TensorType], operands: Sequence[Value]) -> int:
    """Return about how many steps an op on constants takes."""
    window: Any = getattr(op, "window", None)
    taps = int(np.prod(window.kernel)) if hasattr(window, "kernel") else 1
    sizes = [t.size for t in (*types, *(o.type for o in operands)) if t.is_static]
    if op.name in ("real.matmul", "real.conv", "nn.conv", "nn.linear", "nn.dot", "nn.attention"):
        taps *= max((int(d) for d in operands[0].type.static_shape), default=1)
    return max(sizes, default=0) * taps


@dataclass(frozen=True, slots=True)
class Call:
    """One node, the values around it and the graph it goes into.

    Attributes:
        scope: The graph.
        node: The node.
        schema: What the package ``onnx`` says about the operator in this version; None for
            operators that it does not know.
        read: Names of the attributes that were asked for.
    """

    scope: Scope
    node: Node
    schema: Any = None
    read: set[str] = field(default_factory=set)

    @property
    def version(self) -> int:
        """The version of the standard in which the operator got the meaning that is used."""
        return int(self.schema.since_version) if self.schema else 0

    @property
    def origin(self) -> Origin:
        """Where the node's ops come from."""
        return Origin(self.scope.model.source, self.label)

    @property
    def label(self) -> str:
        """How messages call the node."""
        place = f"{self.scope.place}, " if self.scope.place else ""
        return f"{place}{self.node.label}"

    @property
    def result_name(self) -> str:
        """Name of the ops: that of the first output."""
        return printable(next(filter(None, self.node.outputs), ""))

    def refuse(self, reason: str, hint: str | None = None) -> UnsupportedError:
        """Return (not raise) the refusal of a node that is sound but not modelled."""
        return UnsupportedError(reason, hint=hint)

    def malformed(self, reason: str, hint: str | None = None) -> MalformedError:
        """Return (not raise) the refusal of a node that contradicts itself."""
        return MalformedError(reason, hint=hint)

    # Attributes.

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute, else the operator's default, else None."""
        self.read.add(name)
        found = self.node.attributes.get(name)
        if found is None and self.schema is not None and name in self.schema.attributes:
            return default_of(self.schema.attributes[name])
        if isinstance(found, UnsupportedError):
            raise UnsupportedError(f"attribute '{name}' {found.message}", hint=found.hint)
        return found

    def require_all_read(self) -> None:
        """Refuse a node with an attribute that nobody asked for, unless it changes nothing.

        A later version of an operator may have one more, and with it another meaning.
        """
        for name, given in self.node.attributes.items():
            known = self.schema is not None and name in self.schema.attributes
            default = default_of(self.schema.attributes[name]) if known else None
            if name not in self.read and name not in _WITHOUT_EFFECT and given != default:
                raise UnsupportedError(
                    f"attribute '{shorten(name)}' is not supported in version {self.version} of "
                    f"{self.node.type}",
                    hint="export the model with an older opset, or without the attribute",
                )

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, int):
            raise self._wrong(name, "a whole number", found)
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Return a floating-point number (a float32, as files hold them)."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, float):
            raise self._wrong(name, "a number", found)
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, str):
            raise self._wrong(name, "a text", found)
        return found

    def flag(self, name: str) -> bool:
        """Return a whole number as a truth value."""
        return bool(self.integer(name, 0))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers, None if it is not given."""
        found = self.attribute(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, int) for v in found):
            raise self._wrong(name, "a list of whole numbers", found)
        return tuple(int(v) for v in found)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of floating-point numbers, None if it is not given."""
        found = self.attribute(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, float) for v in found):
            raise self._wrong(name, "a list of numbers", found)
        return tuple(float(v) for v in found)

    def tensor(self, name: str) -> Tensor | None:
        """Return a tensor, None if it is not given."""
        found = self.attribute(name)
        if found is not None and not isinstance(found, Tensor):
            raise self._wrong(name, "a tensor", found)
        return found

    def _wrong(self, name: str, wanted: str, found: object) -> MalformedError:
        kind = "missing" if found is None else f"a {type(found).__name__}"
        return MalformedError(f"attribute '{name}' is {kind}, want {wanted}")

    # Operands.

    @property
    def count(self) -> int:
        """Number of inputs, those that are left out counted."""
        return len(self.node.inputs)

    def has(self, place: int) -> bool:
        """Whether an input is given."""
        return place < len(self.node.inputs) and self.node.inputs[place] != ""

    def wants(self, place: int) -> bool:
        """Whether an output has a name, so that somebody may read it."""
        return place < len(self.node.outputs) and self.node.outputs[place] != ""

    def operand(self, place: int) -> Real | npt.NDArray[Any]:
        """Return an input: a value of the graph, or known elements (see ``Symbolic``)."""
        if not self.has(place):
            raise MalformedError(f"input {place} is missing")
        name = self.node.inputs[place]
        scope = self.scope
        if name not in scope.values:
            scope.values[name] = scope.model.tensors[name].array
        return scope.values[name]

    def value(self, place: int) -> Real:
        """Return an input as a value of the graph; a constant enters it when it is first used."""
        found = self.operand(place)
        if isinstance(found, Real):
            return Real(self.scope, found.value, self)
        if found.dtype == object:
            raise self._unbound(place)
        name = self.node.inputs[place]
        value = self.scope.constant(found, self, name=printable(name))
        self.scope.values[name] = Real(self.scope, value, self)
        return Real(self.scope, value, self)

    def maybe(self, place: int) -> Real | None:
        """Return an input, or None if it is left out."""
        return self.value(place) if self.has(place) else None

    def values(self) -> list[Real]:
        """Return all inputs."""
        return [self.value(place) for place in range(self.count)]

    def type(self, place: int) -> TensorType:
        """Return the type of an input."""
        found = self.operand(place)
        if isinstance(found, Real):
            return found.type
        dtype = DType.I64 if found.dtype == object else DType.of(found)
        return TensorType(tuple(found.shape), dtype)

    def known(self, place: int) -> Array | None:
        """Return the elements of an input if all are known, symbols not allowed, else None."""
        found = self.operand(place)
        if isinstance(found, Real):
            return found.array
        return None if found.dtype == object else found

    def array(self, place: int) -> Array:
        """Return the elements of an input that must be known."""
        found = self.known(place)
        if found is None:
            operand = self.operand(place)
            if not isinstance(operand, Real):
                raise self._unbound(place)
            raise UnsupportedError(
                f"input {place} '{self._name(place)}' is computed at run time; rlx needs a "
                "constant there",
                hint="export the model with fixed shapes and with constants folded",
            )
        return found

    def dims(self, place: int) -> tuple[int | Dim, ...]:
        """Return the whole numbers of an input that must be known but for symbols."""
        found = self.operand(place)
        array = found if not isinstance(found, Real) and found.dtype == object else (
            self.array(place)
        )  # fmt: skip
        if array.dtype != object and array.dtype.kind not in "iu":
            raise MalformedError(f"input {place} holds {array.dtype}, want whole numbers")
        if array.size > self.scope.limits.operands:
            raise MalformedError(f"input {place} has {array.size} numbers, want fewer")
        flat = array.reshape(-1).tolist()
        return tuple(v if isinstance(v, Dim) else int(v) for v in flat)

    def ints(self, place: int) -> tuple[int, ...]:
        """Return the whole numbers of an input that must be known, without symbols."""
        found = self.dims(place)
        numbers = tuple(d for d in found if isinstance(d, int))
        if len(numbers) != len(found):
            raise self._unbound(place)
        return numbers

    def _unbound(self, place: int) -> UnsupportedError:
        return UnsupportedError(
            f"input {place} '{self._name(place)}' is computed from a dimension that has no size",
            hint=OPEN_SHAPE,
        )

    def _name(self, place: int) -> str:
        return shorten(printable(self.node.inputs[place]))

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < max(rank, 1):
            raise MalformedError(f"the axis is {value}, but there are {rank} dimensions")
        return value % max(rank, 1)

    def shape(self, place: int) -> Shape:
        """Return the shape of an input."""
        return self.type(place).shape

    # Making things.

    def constant(self, array: npt.ArrayLike, dtype: DType | None = None) -> Real:
        """Return a constant that the node brings itself."""
        elements = np.asarray(array, None if dtype is None else dtype.numpy)
        return Real(self.scope, self.scope.constant(elements, self), self)

    def quantized(self, array: Array, quant: QuantParams) -> Real:
        """Return constant quantized values with what they stand for."""
        return Real(self.scope, self.scope.constant(array, self, quant), self)


def default_of(attribute: Any) -> Attribute | None:  # noqa: ANN401 - of onnx.defs
    """Return an attribute's default by the schema, None if it has none."""
    given = attribute.default_value
    match given.type:
        case 1:
            return float(given.f)
        case 2:
            return int(given.i)
        case 3:
            return str(given.s.decode())
        case 6:
            return tuple(float(v) for v in given.floats)
        case 7:
            return tuple(int(v) for v in given.ints)
    return None


Importer: TypeAlias = "Callable[[Call], Results]"

IMPORTERS: dict[tuple[str, str], Importer] = {}
"""The importer of each operator, by domain and name."""


def importer(*names: str, domain: str = "") -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators of a domain."""

    def register(function: Importer) -> Importer:
        for name in names:
            if (domain, name) in IMPORTERS:
                raise ValueError(f"{domain}.{name} has two importers")
            IMPORTERS[domain, name] = function
        return function

    return register


SYMBOLIC: dict[str, Callable[[Call], Symbolic | Sequence[Symbolic] | None]] = {}
"""How standard operators compute with symbols; a function returns None where it cannot."""


def symbolic(*names: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Register the decorated function for nodes of which an input is ``Symbolic``."""

    def register(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for name in names:
            if name in SYMBOLIC:
                raise ValueError(f"{name} has two functions of symbols")
            SYMBOLIC[name] = function
        return function

    return register


def plain(array: Symbolic) -> npt.NDArray[Any]:
    """Return whole numbers without symbols as int64, others as they are."""
    if all(isinstance(v, int) for v in array.reshape(-1).tolist()):
        return array.astype(np.int64)
    return array


def bind_attributes(function: Function, call: Call) -> dict[str, Attribute]:
    """Return what a function's attributes stand for where a node calls it."""
    given = dict(function.defaults)
    for name in (*function.attributes, *function.defaults):
        found = call.attribute(name)
        if found is not None:
            given[name] = found
    return given


def resolved(attributes: Mapping[str, Attribute], given: Mapping[str, Attribute]) -> dict[
    str, Attribute
]:  # fmt: skip
    """Return a node's attributes with references replaced; those without a value are left out."""
    found: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if not isinstance(value, Reference):
            found[name] = value
        elif value.name in given:
            found[name] = given[value.name]
    return found


__all__ = [
    "IMPORTERS", "SYMBOLIC", "Call", "Importer", "Real", "Result", "Results", "Scope", "Subgraph",
    "Symbolic", "bind_attributes", "importer", "plain", "resolved", "symbolic",
]  # fmt: skip
