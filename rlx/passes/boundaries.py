"""Inputs and outputs of a graph on a target: quantized values, or floats.

The host computes a graph without a change. A target may have conversions from and to floats removed
or added: :func:`with_ports` makes the graph whose inputs and outputs are those of the emitted
program, so that the reference computes its golden vectors. Between the conversions all bits stay
the same.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType, Input, QuantParams, Rewriter, State, TensorType, Value
from rlx.ir.inspect import printable
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import CODE_RANGE, QConvert, QRequantize
from rlx.ops.real import RealCast, RealDequantize, RealQuantize
from rlx.passes.dead_code import DeadCode
from rlx.passes.port_layout import with_channels_last
from rlx.support.errors import QuantizationError, UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Graph, Node, Op

UINT8_OFFSET: Final = 128
"""Difference of the uint8 and the int8 code of one real value: ``uint8 = int8 + 128``."""


class PortKind(enum.Enum):
    """Kind of values exchanged with an emitted program.

    ``MODEL``: those of the model. ``INT8``: quantized values; conversions from and to floats are
    removed, and uint8 becomes int8. ``UINT8``: the same, but int8 becomes uint8. ``FLOAT``: floats.
    int16 and int32 are unchanged, but int16 becomes floats with ``FLOAT``.
    """

    MODEL = "model"
    INT8 = "int8"
    UINT8 = "uint8"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class Ports:
    """Treatment of inputs and outputs by a target.

    Attributes:
        kind: Kind of values of the inputs and outputs of its program.
        inverts: It turns int8 into uint8 itself, at its ports, so that its graph stays int8.
        channels_last: Images are read and returned channels last, for any layout of the model.
    """

    kind: PortKind = PortKind.INT8
    inverts: bool = False
    channels_last: bool = False

    def emitted_type(self, type_: TensorType) -> TensorType:
        """Return the type at the program's port of an input or output of the target's graph."""
        if not self.inverts or type_.dtype is not DType.I8:
            return type_
        quant = _shift_zero_point(type_.quant, UINT8_OFFSET)
        return replace(type_, dtype=DType.U8, quant=quant)


@dataclass(frozen=True, slots=True)
class PortChange:
    """An input or output that is something else than in the model.

    Attributes:
        what: ``input`` or ``output``.
        name: Its name.
        before: Its type in the model.
        after: Its type in the emitted program.
        turned: Whether it is channels last, and channels first in the model.
    """

    what: str
    name: str
    before: TensorType
    after: TensorType
    turned: bool = False

    def __str__(self) -> str:
        """Return a line for people."""
        return self.text()

    def text(self, *, scale: bool = True) -> str:
        """Return a line for people.

        Args:
            scale: Whether it has the scale and zero point.
        """
        name = f"{self.what} {printable(self.name)!r}"
        shapes = [", ".join(map(str, t.shape)) for t in (self.after, self.before)]
        layout = f"is channels last: [{shapes[0]}], in the model [{shapes[1]}]"
        if self.before.dtype is self.after.dtype:
            return f"{name} {layout}"
        element = self._element(name) + (self._meaning() if scale else "")
        return element + (f"; it {layout}" if self.turned else "")

    def _element(self, name: str) -> str:
        """Return a line about element types."""
        old, new = self.before.dtype.numpy.name, self.after.dtype.numpy.name
        way = "from" if self.what == "input" else "to"
        if self.before.dtype.is_float or self.before.dtype is DType.I64:
            why = f"the conversion {way} {old} was removed"
        elif self.after.dtype.is_float:
            why = f"the program converts {'to' if self.what == 'input' else 'from'} {old}"
        else:
            sign = "+" if self.after.dtype is DType.U8 else "-"
            why = f"{new} = {old} {sign} {UINT8_OFFSET}"
        return f"{name} is {new} ({why})"

    def _meaning(self) -> str:
        """Return the formula of the float value, or an empty text if the port is not quantized."""
        quant = self.before.quant if self.after.quant is None else self.after.quant
        if quant is None:
            return ""
        zero = quant.zero_point[0]
        shifted = f"(q {'-' if zero > 0 else '+'} {abs(zero)})" if zero else "q"
        return f": real = {quant.scale[0]!r} * {shifted}"


@dataclass(frozen=True, slots=True)
class Ported:
    """A graph with the inputs and outputs of an emitted program.

    Attributes:
        graph: The graph; the given one if nothing is different.
        changes: Differences from the given graph.
        conversions: For each input of a run the ops that turn values of the model's input,
            ``[frames, *shape]``, into those of this one.
    """

    graph: Graph
    changes: tuple[PortChange, ...]
    conversions: tuple[tuple[Op, ...], ...]

    def converted(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Return values of the model's inputs as values of these."""
        return tuple(_apply_ops(ops, x) for ops, x in zip(self.conversions, inputs, strict=True))


def _apply_ops(ops: Sequence[Op], x: Array) -> Array:
    for op in ops:
        (x,) = op.evaluate(x)
    return x


def only_quantizer(graph: Graph, value: Value) -> RealQuantize | None:
    """Return the quantize op of ``value``, if its users do nothing else with it, in one way."""
    ops = [node.op for node in graph.users()[value]]
    first = ops[0] if ops else None
    if not isinstance(first, RealQuantize) or value in graph.outputs:
        return None
    return first if all(op == first for op in ops) else None


def with_ports(graph: Graph, kind: PortKind, *, channels_last: bool = False) -> Ported:
    """Return ``graph`` with inputs and outputs of ``kind``.

    Args:
        graph: The model.
        kind: Kind of values that are exchanged.
        channels_last: Whether images are channels last, also where the model has them otherwise.

    Raises:
        QuantizationError: Values that are to become floats have no scale.
        UnsupportedOpError: A conversion that would be removed has several scales.
    """
    ported = graph
    inputs = graph.run_inputs
    conversions: tuple[tuple[Op, ...], ...] = ((),) * len(inputs)
    if kind is PortKind.MODEL:
        return Ported(graph, (), conversions)
    turned = [[False] * len(inputs), [False] * len(graph.outputs)]
    if any(value.type.dtype is DType.I64 for value in graph.outputs):
        ported, _ = _Indices().apply(graph)
    if kind is not PortKind.FLOAT:
        ported, added = _StripConversions(ported).apply(ported)
        conversions = tuple(added)
    if channels_last:
        layout = with_channels_last(DeadCode().apply(ported))
        ported = layout.graph
        turned = [[op is not None for op in layout.inputs], list(layout.outputs)]
        axis_orders = zip(conversions, layout.inputs, strict=True)
        conversions = tuple((*a, b) if b is not None else a for a, b in axis_orders)
    last = {PortKind.INT8: _Signed, PortKind.UINT8: _Unsigned, PortKind.FLOAT: _Real}[kind]()
    ported, added = last.apply(ported)
    conversions = tuple((*a, *b) for a, b in zip(conversions, added, strict=True))
    changes = (
        *_changes("input", [v.name for v in inputs], inputs, ported.run_inputs, turned[0]),
        *_changes("output", graph.output_names, graph.outputs, ported.outputs, turned[1]),
    )
    if not changes:
        return Ported(graph, (), conversions)
    return Ported(DeadCode().apply(ported), changes, conversions)


def _changes(
    what: str,
    names: Sequence[str],
    before: Sequence[Value],
    after: Sequence[Value],
    turned: Sequence[bool],
) -> list[PortChange]:
    return [
        PortChange(what, name, old.type, new.type, turn)
        for name, old, new, turn in zip(names, before, after, turned, strict=True)
        if turn or old.type.dtype is not new.type.dtype
    ]


class _Rewrite:
    """Copies a graph; subclasses replace other nodes than states, inputs and outputs."""

    def apply(self, graph: Graph) -> tuple[Graph, list[tuple[Op, ...]]]:
        """Return the new graph, and for each input of a run the ops from the old to the new one."""
        rewriter = Rewriter(graph)
        conversions: list[tuple[Op, ...]] = []
        for node in rewriter:
            if isinstance(node.op, Input) and not isinstance(node.op, State):
                value, ops = self.enter(rewriter.new, graph, node)
                conversions.append(ops)
                rewriter.replace(node, value)
            elif (results := self.visit(rewriter.new, node, rewriter.operands(node))) is not None:
                rewriter.replace(node, *results)
        kept_names = {state.name for state, _ in graph.states}
        outputs = [
            rewriter[value] if name in kept_names else self.leave(rewriter, name, value)
            for name, value in zip(graph.output_names, graph.outputs, strict=True)
        ]
        rewriter.new.output(*outputs, names=graph.output_names)
        return rewriter.new, conversions

    def enter(self, new: Graph, graph: Graph, node: Node) -> tuple[Value, tuple[Op, ...]]:
        """Append an input; return the replacement of the old one, and the ops from old to new."""
        del graph
        return new.input(node.name, node.types[0]), ()

    def visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        """Return the values that replace a node's results, or None to copy it."""
        del new, node, operands
        return None

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return the output that replaces the old graph's output ``value``."""
        del name
        return rewriter[value]


class _Indices(_Rewrite):
    """Outputs of int32 in place of int64, which ONNX has for indices."""

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return the int32 values that become an output of int64."""
        del name
        wide = isinstance(value.node.op, RealCast) and value.type.dtype is DType.I64
        if wide and value.node.operands[0].type.dtype is DType.I32:
            return rewriter[value.node.operands[0]]
        return rewriter[value]


class _StripConversions(_Rewrite):
    """Removal of the quantization of inputs, and of the dequantization of outputs."""

    def __init__(self, graph: Graph) -> None:
        self._quants: dict[Value, set[QuantParams]] = {}
        for value in graph.outputs:
            if isinstance(value.node.op, RealDequantize):
                quantized = value.node.operands[0]
                self._quants.setdefault(quantized, set()).add(value.node.op.quant)

    def enter(self, new: Graph, graph: Graph, node: Node) -> tuple[Value, tuple[Op, ...]]:
        """Append quantized values for an input that is quantized at once."""
        if not node.types[0].dtype.is_float:
            return _Rewrite.enter(self, new, graph, node)
        op = only_quantizer(graph, node.result)
        if op is None or len(op.quant.scale) != 1:
            _check_one_way(graph, node)
            return _Rewrite.enter(self, new, graph, node)
        type_ = TensorType(node.types[0].shape, op.dtype, op.quant)
        return new.input(node.name, type_), (op,)

    def visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        """Drop the quantization of values quantized already; set the parameters of outputs."""
        if isinstance(node.op, RealQuantize) and not operands[0].type.dtype.is_float:
            return operands
        quants = self._quants.get(node.results[0], set())
        if node.types[0].quant is None and len(quants) == 1:
            (quant,) = quants
            return new.append(node.op, *operands, quant=quant).results
        return None

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return the quantized values of an output of floats."""
        op = value.node.op
        if not isinstance(op, RealDequantize) or not _is_code(value.node.operands[0]):
            return rewriter[value]
        if len(op.quant.scale) != 1:
            raise UnsupportedOpError(
                "it has a scale for each channel, and an output of quantized values one for all",
                where=f"output {printable(name)!r}",
                hint="quantize the output with one scale",
            )
        return rewriter[value.node.operands[0]]


def _is_code(value: Value) -> bool:
    return value.type.dtype in CODE_RANGE and value.constant is None


def _check_one_way(graph: Graph, node: Node) -> None:
    """Refuse an input that several conversions read, and nothing else."""
    ops = [user.op for user in graph.users()[node.result]]
    if not ops or not all(isinstance(op, RealQuantize) for op in ops):
        return
    count = len(set(ops))
    ways = f"it is quantized in {count} ways" if count > 1 else "it has a scale for each channel"
    raise UnsupportedOpError(
        f"cannot remove the conversion of the input: {ways}",
        where=f"input {printable(node.name)!r}",
        hint="quantize it with one scale for all its uses",
    )


def _convert(
    new: Graph,
    x: Value,
    x_zero_point: int,
    rescale: Rescale,
    zero_point: int,
    dtype: DType,
    quant: QuantParams | None,
) -> Value:
    """Append the conversion of quantized values, unless it changes nothing."""
    if x.type.dtype is dtype is DType.I8:
        op: Op = QRequantize(x_zero_point=x_zero_point, rescale=rescale, zero_point=zero_point)
        quantized = np.arange(-UINT8_OFFSET, UINT8_OFFSET).astype(np.int8)
        if x.type.quant == quant and (op.evaluate(quantized)[0] == quantized).all():
            return x
    else:
        op = QConvert(
            x_zero_point=x_zero_point, rescale=rescale, zero_point=zero_point, dtype=dtype
        )
    return new.apply(op, x, quant=quant, name=x.name)


def _shift_zero_point(quant: QuantParams | None, by: int) -> QuantParams | None:
    """Return parameters with another zero point."""
    return quant and replace(quant, zero_point=tuple(z + by for z in quant.zero_point))


def _flip(to: DType, quant: QuantParams | None) -> QConvert:
    """Return the op that turns int8 into uint8 or back; ``quant`` is that of the result."""
    low, _ = CODE_RANGE[to]
    zero_point = low + UINT8_OFFSET if quant is None else quant.zero_point[0]
    other = zero_point + (UINT8_OFFSET if to is DType.I8 else -UINT8_OFFSET)
    return QConvert(x_zero_point=other, rescale=Rescale.of(1.0), zero_point=zero_point, dtype=to)


class _Signed(_Rewrite):
    """Replacement of uint8 by int8."""

    def __init__(self) -> None:
        self._backs: set[Value] = set()

    def enter(self, new: Graph, graph: Graph, node: Node) -> tuple[Value, tuple[Op, ...]]:
        """Append int8 for an input of uint8, and the way back."""
        type_ = node.types[0]
        if type_.dtype is not DType.U8:
            return _Rewrite.enter(self, new, graph, node)
        quant = _shift_zero_point(type_.quant, -UINT8_OFFSET)
        quantized = new.input(node.name, replace(type_, dtype=DType.I8, quant=quant))
        back = new.apply(_flip(DType.U8, type_.quant), quantized, quant=type_.quant)
        self._backs.add(back)
        return back, (_flip(DType.I8, quant),)

    def visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        """Let conversions of uint8 inputs read int8."""
        op = node.op
        if not isinstance(op, QConvert) or operands[0] not in self._backs:
            return None
        (quantized,) = operands[0].node.operands
        return [
            _convert(new, quantized, op.x_zero_point - UINT8_OFFSET, op.rescale, op.zero_point,
                     op.dtype, node.types[0].quant)
        ]  # fmt: skip

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return int8 for an output of uint8."""
        del name
        new, source = rewriter.new, rewriter[value]
        if source.type.dtype is not DType.U8 or source.constant is not None:
            return source
        quant, op = _shift_zero_point(source.type.quant, -UINT8_OFFSET), source.node.op
        if isinstance(op, QConvert):
            (x,) = source.node.operands
            zero_point = op.zero_point - UINT8_OFFSET
            return _convert(new, x, op.x_zero_point, op.rescale, zero_point, DType.I8, quant)
        return new.apply(_flip(DType.I8, quant), source, quant=quant, name=value.name)


class _Unsigned(_Rewrite):
    """Replacement of int8 by uint8."""

    def enter(self, new: Graph, graph: Graph, node: Node) -> tuple[Value, tuple[Op, ...]]:
        """Append uint8 for an input of int8, and their conversion."""
        type_ = node.types[0]
        if type_.dtype is not DType.I8:
            return _Rewrite.enter(self, new, graph, node)
        quant = _shift_zero_point(type_.quant, UINT8_OFFSET)
        quantized = new.input(node.name, replace(type_, dtype=DType.U8, quant=quant))
        flip = _flip(DType.I8, type_.quant)
        return new.apply(flip, quantized, quant=type_.quant), (_flip(DType.U8, quant),)

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return uint8 for an output of int8."""
        del name
        found = rewriter[value]
        if found.type.dtype is not DType.I8 or found.constant is not None:
            return found
        quant = _shift_zero_point(found.type.quant, UINT8_OFFSET)
        return rewriter.new.apply(_flip(DType.U8, quant), found, quant=quant, name=value.name)


class _Real(_Rewrite):
    """Replacement of quantized values by floats."""

    def enter(self, new: Graph, graph: Graph, node: Node) -> tuple[Value, tuple[Op, ...]]:
        """Append floats for an input of quantized values, and their quantization."""
        type_ = node.types[0]
        if type_.dtype not in CODE_RANGE:
            return _Rewrite.enter(self, new, graph, node)
        quant = _scale_of("input", node.name, type_)
        real = new.input(node.name, TensorType(type_.shape, DType.F32))
        op = RealQuantize(quant=quant, dtype=type_.dtype)
        return new.apply(op, real), (RealDequantize(quant=quant),)

    def leave(self, rewriter: Rewriter, name: str, value: Value) -> Value:
        """Return the floats of an output of quantized values."""
        found = rewriter[value]
        if not _is_code(found):
            return found
        quant = _scale_of("output", name, found.type)
        return rewriter.new.apply(RealDequantize(quant=quant), found, name=value.name)


def _scale_of(what: str, name: str, type_: TensorType) -> QuantParams:
    """Return the quantization parameters of a type.

    Raises:
        QuantizationError: They are not known.
    """
    if type_.quant is None or len(type_.quant.scale) != 1:
        count = "a scale for each channel" if type_.quant else "no scale and zero point"
        raise QuantizationError(
            f"cannot convert {type_.with_quant(None)} to float: it has {count}",
            where=f"{what} {printable(name)!r}",
            hint="leave --io float out: the program then exchanges its quantized values",
        )
    return type_.quant
