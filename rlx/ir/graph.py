"""Graphs: append-only lists of nodes in single-assignment form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rlx.ir import supplied
from rlx.ir.op import Op
from rlx.ir.origin import Origin
from rlx.ir.traits import Traits
from rlx.ir.types import Array, DType, QuantParams, TensorType

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Source(Op):
    """Base of inputs, parameters and constants: no operands, and a given type.

    Operands: none. Result: of the given type.

    Attributes:
        type: Type of the result.
    """

    operand_count: ClassVar[int | tuple[int, int | None]] = 0
    traits: ClassVar[Traits] = Traits()
    type: TensorType

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the given type."""
        del operands
        return (self.type,)

    @property
    def settings(self) -> dict[str, int]:
        """Attributes besides the type, those with their default left out."""
        return {}


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Input(Source):
    """A graph input; its value comes with each run.

    Operands: none. Result: of the given type.

    Attributes:
        type: Type of the result.
    """

    name: ClassVar[str] = "core.input"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Raise AssertionError: the value comes from outside."""
        raise AssertionError("an input is bound by the runtime, not evaluated")


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class State(Input):
    """An input that is also an output: the output of its name is its value in the next run.

    To ``evaluate`` it is an input like others. A runtime keeps its value from run to run.

    Operands: none. Result: of the given type.

    Attributes:
        type: Type of the result, and of the output of the same name.
        initial: Every element before the first run, and after a reset.
    """

    name: ClassVar[str] = "core.state"
    initial: int = 0

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the given type; refuse an initial value that its elements cannot hold."""
        del operands
        if np.array(self.initial).astype(self.type.dtype.numpy) != self.initial:
            raise self.refuse(
                f"{self.type.dtype.value} cannot hold the initial value {self.initial}"
            )
        return (self.type,)

    @property
    def settings(self) -> dict[str, int]:
        """The initial value, if it is not 0."""
        return {"initial": self.initial} if self.initial else {}

    @property
    def start(self) -> Array:
        """The value before the first run, of a type whose dimensions are numbers."""
        return np.full(self.type.static_shape, self.initial, self.type.dtype.numpy)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Param(Source):
    """A parameter; its value is set once, before the first run.

    Operands: none. Result: of the given type.

    Attributes:
        type: Type of the result.
    """

    name: ClassVar[str] = "core.param"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Raise AssertionError: the value comes from outside."""
        raise AssertionError("a parameter is bound by the runtime, not evaluated")


@dataclass(frozen=True, eq=False, slots=True, kw_only=True, weakref_slot=True)
class Constant(Source):
    """A tensor known at compile time.

    Operands: none. Result: of the given type.

    Attributes:
        type: Type of the result.
        value: The elements, read-only, of the type's shape and element type.
    """

    name: ClassVar[str] = "core.constant"
    value: Array

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the value."""
        del operands
        return (self.value,)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Node:
    """One application of an op.

    Attributes:
        index: Position in the graph; the identifier ``%index`` of the text form.
        op: Op that is applied.
        operands: Values it is applied to.
        types: Types of its results.
        name: Name from the model, for display; neither unique nor a legal identifier.
        origin: Origin of the node.
        memo: Results about the node (see ``once_per_node``); no part of its meaning.
    """

    index: int
    op: Op
    operands: tuple[Value, ...]
    types: tuple[TensorType, ...]
    name: str = ""
    origin: Origin = field(default_factory=Origin)
    memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that the node makes."""
        if len(self.types) == 1:
            return (Value(self),)
        return tuple(Value(self, i) for i in range(len(self.types)))

    @property
    def result(self) -> Value:
        """The only value that the node makes."""
        (value,) = self.results
        return value

    @property
    def label(self) -> str:
        """Name of the node in messages: that of its layer if it has a name, and its identifier."""
        name = self.name and (self.origin.layer or self.name)
        return f"%{self.index} {name!r}" if name else f"%{self.index}"

    def __repr__(self) -> str:
        return f"<Node {supplied.summarize_node(self)}>"


@dataclass(frozen=True, slots=True, repr=False)
class Value:
    """One result of a node. Equal when node and index are the same."""

    node: Node
    index: int = 0

    @property
    def type(self) -> TensorType:
        """Shape, element type and quantization."""
        return self.node.types[self.index]

    @property
    def name(self) -> str:
        """Name of the node, for display."""
        return self.node.name

    @property
    def constant(self) -> Array | None:
        """The value if it is known at compile time, else None."""
        return self.node.op.value if isinstance(self.node.op, Constant) else None

    def __repr__(self) -> str:
        return f"<Value {supplied.summarize_value(self)}>"


class Graph:
    """A function from inputs and parameters to outputs.

    Nodes are appended, never changed or removed; passes build new graphs (see ``Rewriter``).

    Graphs are equal where they compute the same by structure (``rlx.ir.hash.structural_hash``):
    names and unused nodes do not count. So ops that hold graphs compare as other ops do. A graph
    that still grows cannot be the key of a dictionary: its equality changes.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.digest: tuple[int, int, str] | None = None  # see structural_hash
        self._nodes: list[Node] = []
        self._outputs: list[Value] = []
        self._output_names: list[str] = []
        self._default_name = ""
        self._default_origin = Origin()

    def input(self, name: str, type_: TensorType, *, origin: Origin | None = None) -> Value:
        """Append a graph input."""
        return self.apply(Input(type=type_), name=name, origin=origin)

    def state(
        self, name: str, type_: TensorType, *, initial: int = 0, origin: Origin | None = None
    ) -> Value:
        """Append a state: an input whose next value is the output of the same name."""
        return self.apply(State(type=type_, initial=initial), name=name, origin=origin)

    def param(self, name: str, type_: TensorType, *, origin: Origin | None = None) -> Value:
        """Append a parameter, bound by name before the first run."""
        return self.apply(Param(type=type_), name=name, origin=origin)

    def constant(
        self,
        value: Array,
        *,
        name: str = "",
        quant: QuantParams | None = None,
        origin: Origin | None = None,
    ) -> Value:
        """Append a constant; the array is copied and made read-only."""
        array = np.array(value, copy=True, order="C")
        array.flags.writeable = False
        type_ = TensorType(tuple(array.shape), DType.of(array), quant)
        return self.apply(Constant(type=type_, value=array), name=name, origin=origin)

    def apply(
        self,
        op: Op,
        *operands: Value,
        name: str = "",
        quant: QuantParams | None = None,
        origin: Origin | None = None,
    ) -> Value:
        """Append an op with one result and return that.

        ``quant`` is the quantization of the result's integers, where the op cannot know it.
        """
        return self.append(op, *operands, name=name, quant=quant, origin=origin).result

    def append(
        self,
        op: Op,
        *operands: Value,
        name: str = "",
        quant: QuantParams | None = None,
        origin: Origin | None = None,
    ) -> Node:
        """Append an op with any number of results and return its node.

        Raises:
            ShapeError: The operands do not fit the op.
            ValueError: An operand belongs to another graph.
        """
        self._check_owned(operands)
        types = op.infer_checked(*(o.type for o in operands))
        if quant is not None:
            types = tuple(t.with_quant(quant) for t in types)
        return self._add(op, operands, types, name, origin)

    def restore(
        self,
        op: Op,
        operands: tuple[Value, ...],
        types: tuple[TensorType, ...],
        *,
        name: str = "",
        origin: Origin | None = None,
    ) -> Node:
        """Append a node that was written down with its types, and return it.

        The types must be those that the op infers; only quantization may be set where the op infers
        none, or another one.

        Raises:
            ShapeError: The operands do not fit the op, or it infers other types.
            ValueError: An operand belongs to another graph.
        """
        self._check_owned(operands)
        try:
            inferred = op.infer_checked(*(o.type for o in operands))
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as e:
            # The text is untrusted: numbers may be arbitrarily large.
            raise op.refuse(f"cannot infer its types: {e}") from e
        expected = inferred
        if len(inferred) == len(types):
            expected = tuple(
                t.with_quant(given.quant or t.quant)
                for t, given in zip(inferred, types, strict=True)
            )
        if expected != types:
            declared, required = (", ".join(map(str, ts)) for ts in (types, expected))
            raise op.refuse(f"expected {required}, got {declared}")
        return self._add(op, operands, types, name, origin)

    def _check_owned(self, operands: tuple[Value, ...]) -> None:
        """Raise ValueError if an operand belongs to another graph."""
        for operand in operands:
            if not self.owns(operand):
                raise ValueError(f"operand {operand.node.label} belongs to another graph")

    def owns(self, value: Value) -> bool:
        """Whether a value belongs to this graph."""
        index = value.node.index
        return index < len(self._nodes) and self._nodes[index] is value.node

    def set_defaults(self, name: str = "", origin: Origin | None = None) -> None:
        """Set name and origin of nodes that are appended from now on without their own."""
        self._default_name, self._default_origin = name, origin or Origin()

    def _add(
        self,
        op: Op,
        operands: tuple[Value, ...],
        types: tuple[TensorType, ...],
        name: str,
        origin: Origin | None,
    ) -> Node:
        """Append a node whose types are already known."""
        node = Node(
            len(self._nodes),
            op,
            operands,
            types,
            name or self._default_name,
            origin or self._default_origin,
        )
        self._nodes.append(node)
        return node

    def output(self, *values: Value, names: Sequence[str] = ()) -> None:
        """Append ``values`` to the outputs; names default to those of the nodes."""
        self._outputs.extend(values)
        self._output_names.extend(names or (v.name or f"output{v.node.index}" for v in values))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, operands before their users."""
        return tuple(self._nodes)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self._nodes)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The graph inputs, in order; states are among them."""
        return tuple(n.result for n in self._nodes if isinstance(n.op, Input))

    @property
    def states(self) -> tuple[tuple[Value, Value], ...]:
        """States, each with its next value, the output of its name, in order."""
        following = dict(zip(self._output_names, self._outputs, strict=True))
        states = (n.result for n in self._nodes if isinstance(n.op, State))
        return tuple((s, following[s.name]) for s in states if s.name in following)

    @property
    def initial_states(self) -> dict[str, Array]:
        """The value of each state before the first run, by name; dimensions must be numbers."""
        return {n.name: n.op.start for n in self._nodes if isinstance(n.op, State)}

    @property
    def run_inputs(self) -> tuple[Value, ...]:
        """The inputs that each run is given, in order: those that are not states."""
        return tuple(v for v in self.inputs if not isinstance(v.node.op, State))

    @property
    def run_outputs(self) -> tuple[tuple[str, Value], ...]:
        """Name and value of each output, in order, without the next values of states."""
        states = {v.name for v in self.inputs if isinstance(v.node.op, State)}
        named = zip(self._output_names, self._outputs, strict=True)
        return tuple((name, value) for name, value in named if name not in states)

    @property
    def params(self) -> tuple[Value, ...]:
        """The parameters that are bound later, in order."""
        return tuple(n.result for n in self._nodes if isinstance(n.op, Param))

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The outputs, in order."""
        return tuple(self._outputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """A name for each output, in order."""
        return tuple(self._output_names)

    @property
    def op_nodes(self) -> Iterator[Node]:
        """The nodes that compute something: no inputs, parameters or constants."""
        return (n for n in self._nodes if not isinstance(n.op, Source))

    def __eq__(self, other: object) -> bool:
        """Return whether both compute the same by structure."""
        if self is other:
            return True
        if not isinstance(other, Graph):
            return NotImplemented
        hash_ = supplied.structural_hash
        return self._ends() == other._ends() and hash_(self) == hash_(other)

    def __hash__(self) -> int:
        return hash(self._ends())

    def _ends(self) -> tuple[tuple[TensorType, ...], ...]:
        """Return the types of inputs, parameters and outputs."""
        return tuple(
            tuple(v.type for v in values) for values in (self.inputs, self.params, self._outputs)
        )

    def __str__(self) -> str:
        return supplied.format_graph(self)

    def __repr__(self) -> str:
        return f"<Graph {supplied.summarize_graph(self)}>"

    def _repr_html_(self) -> str | None:
        """Return the drawing and the table of layers that notebooks show."""
        return supplied.graph_html(self)

    def users(self) -> dict[Value, list[Node]]:
        """Return, for each value, the nodes that read it (once for each operand place)."""
        found: dict[Value, list[Node]] = {v: [] for n in self._nodes for v in n.results}
        for node in self._nodes:
            for operand in node.operands:
                found[operand].append(node)
        return found


def copy_node(
    graph: Graph, node: Node, operands: tuple[Value, ...], origin: Origin | None = None
) -> Node:
    """Append a copy of ``node`` with other operands, keeping name, origin and quantization."""
    origin = origin or node.origin
    pairs = zip(operands, node.operands, strict=True)
    if all((t := a.type) is (old := b.type) or t == old for a, b in pairs):
        # The inferred types for these operands are known.
        return graph._add(node.op, operands, node.types, node.name, origin)
    types = node.op.infer_checked(*(o.type for o in operands))
    copied_types = tuple(
        t.with_quant(old.quant) if old.quant is not None else t
        for t, old in zip(types, node.types, strict=True)
    )
    return graph._add(node.op, operands, copied_types, node.name, origin)
