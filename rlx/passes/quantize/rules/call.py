"""Calls, the view that a rule of the conversion has of its node, and the table of rules.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.ir import QuantParams, Refusal, RuleTable
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.q import QRequantize, QReshape, QTable, QTranspose
from rlx.ops.real import RealDequantize, RealQuantize, Ties
from rlx.ops.rescale import rescale_of
from rlx.passes.quantize.known import known
from rlx.passes.quantize.offsets import DIRECTIONS
from rlx.passes.quantize.scheme import WeightScheme
from rlx.support.errors import QuantizationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Array, Graph, Node, Op, Value
    from rlx.ops.numerics.fixed_point import Rescale

    Check: TypeAlias = Callable[[Node], Refusal | None]
    Lower: TypeAlias = Callable[["NodeConversion"], Sequence[Value]]

_INT8 = np.arange(-128, 128).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Rule:
    """Conversion of nodes of an op to integer ops.

    Attributes:
        lower: Appends the integer ops, and returns the values that replace the node's results.
        check: Returns the reason for which a node cannot be converted, or None.
        shares: Whether the results hold elements of the operands only, so that all have one
            scale and zero point.
        rescales: Whether the results are computed into any requested scale, and limited to its
            range.
    """

    lower: Lower
    check: Check
    shares: bool = False
    rescales: bool = False


RULES: RuleTable[Rule] = RuleTable("quantization")
"""Rules for nodes of float graphs; unary functions need none (see ``functions``)."""


def rule(
    *ops: type[Op], check: Check | None = None, shares: bool = False, rescales: bool = False
) -> Callable[[Lower], Lower]:
    """Register the decorated function as ``lower`` of a rule for ``ops``."""

    def register(lower: Lower) -> Lower:
        RULES.rule(*ops)(Rule(lower, check or _nothing_to_refuse, shares, rescales))
        return lower

    return register


def _nothing_to_refuse(node: Node) -> Refusal | None:
    del node
    return None


@dataclass(slots=True)
class Conversion:
    """The integer graph under construction.

    Attributes:
        graph: The graph.
        params: Quantization parameters that each float value is to have.
        schemes: Schemes of weights by the name of the layer, or one for all.
        rounding: Rounding of ops to their scales.
        ties: Rounding of halves, for values of which the float graph says it.
        values: Integer value of each float value that has one, with its parameters in its type.
        raw: Copies of inputs and of results of integer ops, in the element type that they have.
        bits: Bits of the weights of each node that has some.
        requantized: Values with other parameters, by value and parameters: each is computed once.
        averages: Averages that become part of the functions that read them, if they can.
        bounded: Values whose range is that of the largest sums that weights allow.
    """

    graph: Graph
    params: Mapping[Value, QuantParams]
    schemes: Mapping[str, WeightScheme] | WeightScheme
    rounding: Rounding
    ties: Mapping[Value, Ties] = field(default_factory=dict)
    values: dict[Value, Value] = field(default_factory=dict)
    raw: dict[Value, Value] = field(default_factory=dict)
    bits: dict[Node, int] = field(default_factory=dict)
    requantized: dict[tuple[Value, QuantParams], Value] = field(default_factory=dict)
    averages: set[Node] = field(default_factory=set)
    bounded: set[Value] = field(default_factory=set)

    def ties_of(self, value: Value) -> Ties:
        """Return the rounding of halves of a float value."""
        usual = Ties.AWAY if self.rounding.to_parity is None else Ties.EVEN
        return self.ties.get(value, usual)


@dataclass(frozen=True, slots=True)
class NodeConversion:
    """One node that is being converted.

    Attributes:
        conversion: The integer graph that it is added to.
        node: The float node.
        addition: The node that adds its bias, if that is one of its own.
    """

    conversion: Conversion
    node: Node
    addition: Node | None = None

    @property
    def scheme(self) -> WeightScheme:
        """The scheme of the node's weights."""
        schemes = self.conversion.schemes
        if isinstance(schemes, WeightScheme):
            return schemes
        return schemes.get(self.node.name, WeightScheme())

    @property
    def quant(self) -> QuantParams:
        """Quantization parameters that the first result is to have."""
        return self.conversion.params[(self.addition or self.node).results[0]]

    @property
    def ties(self) -> Ties:
        """Rounding of halves in the first result."""
        return self.conversion.ties_of((self.addition or self.node).results[0])

    @property
    def stated(self) -> Ties | None:
        """Rounding of the first result, if the float graph says it."""
        return self.conversion.ties.get((self.addition or self.node).results[0])

    @property
    def nearest(self) -> Rounding:
        """Rounding of the integer ops to the scale of the first result, to the nearest."""
        general, ties = self.conversion.rounding, self.ties
        if general.to_parity is None or ties is Ties.EVEN:
            return general
        return Rounding.ODD if ties is Ties.ODD else Rounding.SINGLE

    @property
    def rounding(self) -> Rounding:
        """Rounding of an integer op whose accumulators get no offset.

        Raises:
            QuantizationError: The float graph requires one that integer ops do not have.
        """
        if self.stated in DIRECTIONS:
            raise self.directed()
        return self.nearest

    def directed(self) -> QuantizationError:
        """Return (not raise) an error about the rounding of the first result."""
        return self.refuse(
            f"its result is rounded {DIRECTIONS[self.ties]}, which this integer op cannot do with "
            "its scales",
            hint="round to the nearest, halves to even (ROUND), or take scales that are powers of "
            "two, only after layers with weights",
        )

    def known(self, index: int) -> Array | None:
        """Return the numbers of an operand if they are known."""
        return known(self.node.operands[index])

    def quantized(self, index: int = 0, quant: QuantParams | None = None) -> Value:
        """Return the integer value of an operand that is not known.

        Args:
            index: Index of the operand.
            quant: Quantization parameters that it is to have; None for those it has.
        """
        value = self.conversion.values[self.node.operands[index]]
        return value if quant is None else self.requantize(value, quant)

    def requantize(self, value: Value, quant: QuantParams) -> Value:
        """Return ``value`` with the parameters ``quant``."""
        source = quant_of(value)
        if source == quant:
            return value
        key = value, quant
        if key not in self.conversion.requantized:
            self.conversion.requantized[key] = self.emit(
                self._requantize_op(source, quant), value, quant=quant
            )
        return self.conversion.requantized[key]

    def _requantize_op(self, source: QuantParams, quant: QuantParams) -> QRequantize | QTable:
        """Return the op that brings values to another scale.

        Where the graph determines the rounding of halves, it has the results of dequantize and
        quantize in float32, as a table where no other op does.
        """
        op = QRequantize(
            x_zero_point=source.zero_point[0],
            rescale=rescale_of(source.scale[0] / quant.scale[0], rounding=self.nearest),
            zero_point=quant.zero_point[0],
        )
        if self.nearest.to_parity is None and self.stated is None:
            return op
        (reals,) = RealDequantize(quant=source).evaluate(_INT8)
        (table,) = RealQuantize(quant=quant, ties=self.ties).evaluate(reals)
        (scaled,) = op.evaluate(_INT8)
        if np.array_equal(table, scaled):
            return op
        return QTable(table=tuple(table.tolist()), function="requantize")

    def rescale(self, factor: float) -> Rescale:
        """Return the fixed-point form of a factor."""
        return rescale_of(factor, rounding=self.rounding)

    def emit(self, op: Op, *operands: Value, quant: QuantParams | None = None) -> Value:
        """Append an op in the node's name and return its result."""
        origin = self.node.origin.through("quantize")
        return self.conversion.graph.apply(
            op, *operands, name=self.node.name, quant=quant, origin=origin
        )

    def append(self, op: Op, *operands: Value) -> Value:
        """Append an op that keeps the quantization of its first operand."""
        return self.emit(op, *operands, quant=operands[0].type.quant)

    def constant(self, array: Array, what: str, quant: QuantParams | None = None) -> Value:
        """Append a constant called after the node and ``what`` it is."""
        name = f"{self.node.name}.{what}" if self.node.name else ""
        return self.conversion.graph.constant(
            array, name=name, quant=quant, origin=self.node.origin.through("quantize")
        )

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        """Return ``value`` in another shape."""
        if value.type.shape == shape:
            return value
        return self.emit(QReshape(shape=shape), value, quant=value.type.quant)

    def transpose(self, value: Value, axes: tuple[int, ...]) -> Value:
        """Return ``value`` with its axes in another order."""
        if axes == tuple(range(len(axes))):
            return value
        return self.emit(QTranspose(axes=axes), value, quant=value.type.quant)

    def refuse(self, message: str, *, hint: str | None = None) -> QuantizationError:
        """Return (not raise) an error that names the node."""
        return QuantizationError(message, where=place_of(self.node), hint=hint)


def place_of(node: Node) -> str:
    """Return the name of a node in messages: op, label, and where it comes from."""
    origin = str(node.origin)
    return f"{node.op.name} {node.label}" + (f" ({origin})" if origin else "")


def quant_of(value: Value) -> QuantParams:
    """Return the quantization parameters of an integer value."""
    quant = value.type.quant
    if quant is None:
        raise AssertionError(f"{value.node.label} of the integer graph has no scale")
    return quant
