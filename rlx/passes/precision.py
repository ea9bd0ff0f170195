"""Narrower element types for parts of a graph: f16 or bf16 where a policy allows it.

Only f32 values are touched. Integers, booleans, indices and other types stay unchanged, and so do
the types of inputs, states, parameters and outputs. The result in a narrow type is that of
``evaluate``: the op in f32 on operands of that type, its result rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir import DType, Input, Rewriter
from rlx.ir.graph import Source
from rlx.ir.regions import all_nodes, map_regions
from rlx.ops.real import RealCast, RealPad
from rlx.passes.dead_code import DeadCode
from rlx.passes.op_classes import OpClass, class_of
from rlx.support.errors import UsageError
from rlx.support.text.suggest import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from rlx.ir import Array, Graph, Node, Op, Value

    _Row: TypeAlias = tuple[str, OpClass, DType | None, str]

NAME: Final = "precision"
"""Name of the pass in the origin of a changed node."""

_TYPES: Final = (DType.F32, DType.F16, DType.BF16)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionPolicy:
    """Types in which ops on f32 are computed, by their class; ``F32`` leaves them as written.

    Data movement has the type of its operand, and boundaries keep theirs. Nodes that depend on
    parameters and constants only are computed as written, since that happens once.

    ::

        PrecisionPolicy.named("mixed-bf16", keep=("real.conv", "head*"))

    Attributes:
        compute: Type of matrix products and convolutions.
        elementwise: Type of element-wise functions; None for that of their operands, f32 if these
            differ (constants and parameters do not count).
        sensitive: Type of element-wise functions that enlarge errors, such as ``exp``.
        reduction: Type of sums, means, maxima over axes and pooling.
        keep: Ops that stay as written: names of ops, such as ``real.matmul``, or patterns with
            ``*``, ``?`` and ``[...]`` of names of layers, as tables show them, or of nodes in the
            model, such as ``encoder.0.*``.
    """

    compute: DType = DType.F32
    elementwise: DType | None = DType.F32
    sensitive: DType = DType.F32
    reduction: DType = DType.F32
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("compute", "elementwise", "sensitive", "reduction"):
            dtype = getattr(self, name)
            if dtype not in _TYPES and not (name == "elementwise" and dtype is None):
                label = dtype.value if isinstance(dtype, DType) else repr(dtype)
                raise UsageError(
                    f"ops cannot be computed in {label}",
                    where=f"precision of {name}",
                    hint=f"take one of {', '.join(t.value for t in _TYPES)}",
                )

    @staticmethod
    def named(name: str, *, keep: tuple[str, ...] = ()) -> PrecisionPolicy:
        """Return the policy called ``name``, with the ops to keep as given.

        ``f32`` leaves all as written, ``f16`` and ``bf16`` narrow all classes, ``mixed-f16`` and
        ``mixed-bf16`` matrix products, convolutions and elementwise ops after them: reductions,
        normalization and softmax stay f32.

        Raises:
            UsageError: There is no such policy.
        """
        if name not in POLICIES:
            raise UsageError(
                f"no precision is called {name!r}",
                hint=did_you_mean(name, POLICIES, what="precisions"),
            )
        return replace(POLICIES[name], keep=keep)

    def of(self, op_class: OpClass) -> DType | None:
        """Return the type for a class; None if that follows the operands."""
        match op_class:
            case OpClass.COMPUTE:
                return self.compute
            case OpClass.ELEMENTWISE:
                return self.elementwise
            case OpClass.SENSITIVE:
                return self.sensitive
            case OpClass.REDUCTION:
                return self.reduction
            case OpClass.DATA_MOVEMENT:
                return None
        return DType.F32

    def kept_by(self, node: Node) -> str | None:
        """Return the entry of ``keep`` that a node matches, or None."""
        for pattern in self.keep:
            if _matches(node, pattern):
                return pattern
        return None


def _all(dtype: DType) -> PrecisionPolicy:
    return PrecisionPolicy(compute=dtype, elementwise=dtype, sensitive=dtype, reduction=dtype)


POLICIES: Final = {
    "f32": PrecisionPolicy(),
    "f16": _all(DType.F16),
    "bf16": _all(DType.BF16),
    "mixed-f16": PrecisionPolicy(compute=DType.F16, elementwise=None),
    "mixed-bf16": PrecisionPolicy(compute=DType.BF16, elementwise=None),
}
"""Policies by name."""


@dataclass(frozen=True, slots=True)
class PrecisionEntry:
    """Outcome for nodes of one op.

    Attributes:
        op: Name of the op.
        op_class: Its class.
        dtype: The narrow type that they are computed in; None if they stay as written.
        reason: Reason for which they stay, else empty.
        nodes: Labels of the nodes.
    """

    op: str
    op_class: OpClass
    dtype: DType | None
    reason: str
    nodes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry ready for JSON."""
        return {
            "op": self.op, "class": str(self.op_class), "count": len(self.nodes),
            "dtype": self.dtype.value if self.dtype else None, "reason": self.reason,
            "nodes": list(self.nodes),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PrecisionReport:
    """Effect of a policy on each node of a graph.

    Attributes:
        graph: Name of the graph.
        entries: Outcomes for the nodes, by op.
        casts: Number of ``real.cast`` that were inserted.
        constants: Number of constants that were converted.
    """

    graph: str
    entries: tuple[PrecisionEntry, ...]
    casts: int
    constants: int

    def count(self, dtype: DType | None) -> int:
        """Return the number of nodes that are computed in ``dtype``; None for those that stay."""
        return sum(len(e.nodes) for e in self.entries if e.dtype is dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        entries = [entry.to_dict() for entry in self.entries]
        return {"casts": self.casts, "constants": self.constants, "ops": entries}


@dataclass(frozen=True, slots=True)
class Precision:
    """A graph under a policy.

    Attributes:
        graph: The graph; the given one if nothing had to be changed.
        report: Outcome for each of its nodes.
    """

    graph: Graph
    report: PrecisionReport


def apply_precision(graph: Graph, policy: PrecisionPolicy | str) -> Precision:
    """Return ``graph`` with casts where ``policy`` computes in a narrow type, and the report.

    Applying the policy again changes nothing.

    Args:
        graph: At stage MIR: model-level ops stay unchanged, so decompose them before.
        policy: The policy, or its name.

    Raises:
        UsageError: An entry of ``policy.keep`` is not an op and matches no node of the graph, or no
            policy has the name.
    """
    if isinstance(policy, str):
        policy = PrecisionPolicy.named(policy)
    _check_names(graph, policy)
    work = _Work(policy, Rewriter(graph, by=NAME))
    return Precision(work.run(), work.report(graph.name))


def _check_names(graph: Graph, policy: PrecisionPolicy) -> None:
    """Raise UsageError unless every entry of ``policy.keep`` matches a node."""
    if not policy.keep:
        return
    nodes = [node for node in all_nodes(graph) if not isinstance(node.op, Source)]
    for pattern in policy.keep:
        if not any(_matches(node, pattern) for node in nodes):
            names = dict.fromkeys(s for n in nodes for s in (n.op.name, *_names(n)) if s)
            guess = closest(pattern, names)
            raise UsageError(
                f"no op and no node is called {pattern!r}",
                where="precision: what stays",
                hint=f"did you mean {guess!r}?" if guess else "'rlx inspect' shows the names",
            )


def _matches(node: Node, pattern: str) -> bool:
    return node.op.name == pattern or any(fnmatchcase(name, pattern) for name in _names(node))


def _names(node: Node) -> tuple[str, str]:
    """Return the name of a node's layer and its own."""
    return node.origin.layer, node.name


@dataclass(slots=True)
class _Work:
    """A graph on its way.

    Attributes:
        policy: The policy.
        rewriter: The new graph, and the replacement of each value of the given one, in the type
            that it is computed in.
        forms: Values of the new graph in other types.
        fixed: Values of the given graph that depend on parameters and constants only.
        rows: Labels of nodes by op, class, type and reason.
        casts: Number of inserted casts.
        constants: Number of converted constants.
        changed: Whether anything differs from the given graph.
    """

    policy: PrecisionPolicy
    rewriter: Rewriter
    forms: dict[tuple[Value, DType], Value] = field(default_factory=dict)
    fixed: set[Value] = field(default_factory=set)
    rows: dict[_Row, list[str]] = field(default_factory=dict)
    casts: int = 0
    constants: int = 0
    changed: bool = False

    def run(self) -> Graph:
        """Return the new graph, or the given one if nothing has to be changed."""
        graph, new = self.rewriter.old, self.rewriter.new
        for node in self.rewriter:
            if not isinstance(node.op, Source):
                self._compute(node)
            is_input = isinstance(node.op, Input)
            if not is_input and all(operand in self.fixed for operand in node.operands):
                self.fixed.update(node.results)
        new.output(*map(self._in_declared_dtype, graph.outputs), names=graph.output_names)
        return DeadCode().apply(new) if self.changed else graph

    def report(self, name: str) -> PrecisionReport:
        """Return the outcome for each node."""
        entries = (PrecisionEntry(*row, tuple(nodes)) for row, nodes in self.rows.items())
        ordered = sorted(entries, key=lambda e: (e.op, e.dtype is None, e.reason))
        return PrecisionReport(name, tuple(ordered), self.casts, self.constants)

    def _compute(self, node: Node) -> None:
        """Append the replacement of a node that computes."""
        dtype, reason = self._choice(node)
        row = (node.op.name, class_of(type(node.op)), dtype, reason)
        self.rows.setdefault(row, []).append(node.label)
        if isinstance(node.op, RealCast):
            self._cast(node, node.op)
            return
        op = self._with_regions(node)
        compute_dtype = dtype or DType.F32
        operands = tuple(
            self._form(new, compute_dtype) if old.type.dtype is DType.F32 else new
            for new, old in zip(self.rewriter.operands(node), node.operands, strict=True)
        )
        if op is node.op and all(
            new.type == old.type for new, old in zip(operands, node.operands, strict=True)
        ):
            self.rewriter.keep(node, *operands)
            return
        self.changed = True
        self.rewriter.replace(node, *self.rewriter.new.append(op, *operands).results)

    def _choice(self, node: Node) -> tuple[DType | None, str]:
        """Return the narrow type that a node is computed in, or None and the reason."""
        reals = [o for o in node.operands if o.type.dtype is DType.F32]
        reason = self._stays(node, reals)
        if reason:
            return None, reason
        dtype = self.policy.of(class_of(type(node.op))) or self._operand_dtype(reals)
        if dtype is DType.F32:
            return None, "an operand is f32"
        lost = _lost(node, reals, dtype)
        return (None, lost) if lost else (dtype, "")

    def _stays(self, node: Node, reals: Sequence[Value]) -> str:
        """Return the reason for which a node stays, for any operands; empty if it need not."""
        op_class = class_of(type(node.op))
        if not reals:
            return "it has no f32 operand"
        if op_class is OpClass.BOUNDARY:
            return "it is a boundary"
        if pattern := self.policy.kept_by(node):
            return f"{pattern!r} stays"
        if all(operand in self.fixed for operand in node.operands):
            return "it depends on parameters and constants only"
        if self.policy.of(op_class) is DType.F32:
            return f"the policy leaves {op_class} in f32"
        return ""

    def _operand_dtype(self, reals: Sequence[Value]) -> DType:
        """Return the type that an op inherits from its operands."""
        types = {self.rewriter[o].type.dtype for o in reals if o not in self.fixed}
        if not types:  # a table that is read by index: as the policy has all else
            return self.policy.elementwise or DType.F32
        return types.pop() if len(types) == 1 else DType.F32

    def _cast(self, node: Node, op: RealCast) -> None:
        """Append a cast, unless it changes nothing: f32 as written need not become f32 first."""
        (operand,) = self.rewriter.operands(node)
        if operand.type == node.operands[0].type:
            return
        self.changed = True
        if operand.type.dtype is not op.dtype:
            operand = self.rewriter.new.apply(op, operand)
        self.rewriter.replace(node, operand)

    def _with_regions(self, node: Node) -> Op:
        """Return the op of a node, the policy applied to its regions, which keep their types."""
        paths = iter([path for path, _ in node.op.regions()])

        def change(region: Graph) -> Graph:
            inner = _Work(self.policy, Rewriter(region, by=NAME))
            changed = inner.run()
            path = next(paths)
            for row, labels in inner.rows.items():
                locations = [f"{node.label} {path} {label}" for label in labels]
                self.rows.setdefault(row, []).extend(locations)
            self.casts += inner.casts
            self.constants += inner.constants
            return changed

        return map_regions(node.op, change)

    def _in_declared_dtype(self, value: Value) -> Value:
        """Return the new value of an output, in its own type."""
        native = self.rewriter[value]
        return self._form(native, DType.F32) if value.type.dtype is DType.F32 else native

    def _form(self, value: Value, dtype: DType) -> Value:
        """Return a value of the new graph in a type, converted once for all that read it."""
        if value.type.dtype is dtype:
            return value
        if (value, dtype) not in self.forms:
            self.forms[value, dtype] = self._convert(value, dtype)
        return self.forms[value, dtype]

    def _convert(self, value: Value, dtype: DType) -> Value:
        self.changed = True
        origin = value.node.origin.through(NAME)
        if value.constant is not None:
            self.constants += 1
            array = _convert(value.constant, dtype)
            return self.rewriter.new.constant(array, name=value.name, origin=origin)
        if isinstance(value.node.op, RealCast):
            (source,) = value.node.operands
            if source.type.dtype is dtype and value.type.dtype is DType.F32:
                return source  # f32 holds every f16 and bf16: there and back changes nothing
        self.casts += 1
        cast = RealCast(dtype=dtype)
        return self.rewriter.new.apply(cast, value, name=value.name, origin=origin)


def _lost(node: Node, reals: Sequence[Value], dtype: DType) -> str:
    """Return the problem of a constant of a node in ``dtype``; empty if it is only rounded."""
    constants = [array for o in reals if (array := o.constant) is not None]
    if isinstance(node.op, RealPad):
        constants.append(np.array(node.op.value, np.float32))
    for array in constants:
        narrow = _convert(array, dtype)
        if bool((np.isfinite(array) & ~np.isfinite(narrow)).any()):
            return f"a constant is outside the range of {dtype.value}"
        if array.any() and not narrow.any():
            return f"a constant is 0 in {dtype.value}"
    return ""


def _convert(array: Array, dtype: DType) -> Array:
    (result,) = RealCast(dtype=dtype).evaluate(array)
    return result
