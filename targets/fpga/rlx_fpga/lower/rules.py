"""The rule table, and the plan of a node: foldings to choose from, and a layer for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.errors import UnsupportedOpError
from rlx.ir import Refusal, RuleTable, once_per_node
from rlx.target import Lowering
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store
from rlx_fpga.latency import EVEN, Demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Node, Value
    from rlx_fpga.cells.chain import Chain
    from rlx_fpga.cells.streams import Cell

Rule: TypeAlias = "Callable[[Node], Plan]"
"""Makes the plan of a node; raises UnsupportedOpError where it cannot be built exactly."""

RULES: RuleTable[Rule] = RuleTable("fpga")

INT8_INPUT: Final = (
    "quantize the model (rlx quantize), with fixed sizes: --input-shape for a model in ONNX"
)
"""What to do about an input that no stream can carry."""

ONLY_INT8: Final = "values in the core are int8; only at its ports uint8 can be converted"
"""Why there are no conversions to other codes, in any style."""


@dataclass(frozen=True, slots=True)
class Fold:
    """How far a layer is folded.

    Attributes:
        pe: Results computed at the same time; lanes, for a layer without products.
        simd: Terms of each result computed at the same time.
        cycles: Predicted cycles for a frame; a lower bound.
        multipliers: DSP slices.
        beat_cycles: Cycles of the requantizer for a beat; 1 for a layer without one.
        drain_lanes: Lanes of the requantizer behind products; 0 for a layer without weights.
        products: Products that could use LUT multipliers instead.
        logic: LUT multipliers; not included in ``multipliers``.
        weight_bits: Bits of their second operand; 0 for a layer without weights.
        store: Where the weights are stored.
        shared_pairs: Pairs of products that have an operand in common.
        packing: How two products share a DSP slice.
    """

    pe: int
    simd: int
    cycles: int
    multipliers: int = 0
    beat_cycles: int = 1
    drain_lanes: int = 0
    products: int = 0
    logic: int = 0
    weight_bits: int = 0
    store: Store = Store.FREE
    shared_pairs: int = 0
    packing: Packing = Packing.NONE

    def stored_in(self, store: Store) -> Fold:
        """Return the folding with its weights, if there are any, in ``store``."""
        return replace(self, store=store) if self.weight_bits else self

    def with_lut_multipliers(self) -> Fold:
        """Return the folding with LUT multipliers for all of its products."""
        assert self.packing is Packing.NONE
        multipliers = self.multipliers - self.products
        return replace(self, multipliers=multipliers, products=0, logic=self.products)

    def packed(self, packing: Packing) -> Fold:
        """Return the folding with two products in a DSP slice, where possible."""
        pairs = {
            Packing.NONE: 0,
            Packing.SHARED_OPERAND: self.shared_pairs,
            Packing.INDEPENDENT: self.products // 2,
        }[packing]
        if not pairs:
            return self
        return replace(self, multipliers=self.multipliers - pairs, packing=packing)


@dataclass(frozen=True, slots=True)
class Layer:
    """The hardware of a node.

    Attributes:
        cell: One input stream for each of the plan's operands, one output stream.
        fold: What it was built from.
        cycles: Initiation interval if neither input nor output ever waits.
        hold: Maximum part of a frame that can have been taken beyond the share produced.
        lead: Maximum part of a frame that can have been produced beyond the share taken.
        skew: For each operand, by how much of a frame it can be ahead of the share produced, and by
            how much behind; empty if all are read in step.
        jitter: Deviation of input and output from a constant rate, in frames.
        burst: Cycles for a frame at the rate of results without waiting; 0 if as ``cycles``.
        demand: How much of its operands it needs for its results, and when.
    """

    cell: Chain
    fold: Fold
    cycles: int
    hold: Fraction
    lead: Fraction = Fraction(0)
    skew: tuple[tuple[Fraction, Fraction], ...] = ()
    jitter: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    burst: int = 0
    demand: Demand = EVEN


class Plan(Lowering, ABC):
    """What can be built for a node.

    Attributes:
        node: The node.
        operands: Operands that are streams; the others are constants inside the layer.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.operands: tuple[Value, ...] = node.operands[:1]

    @abstractmethod
    def folds(self) -> list[Fold]:
        """Return the foldings to choose from, at least one."""

    @abstractmethod
    def build(self, fold: Fold) -> Layer:
        """Return the layer for one of the foldings."""


class Alias(Plan):
    """A node whose result is its operand's stream, unchanged."""

    def folds(self) -> list[Fold]:
        """Return the only choice: nothing to build."""
        return [Fold(1, 1, 0)]

    def build(self, fold: Fold) -> Layer:
        """Not possible: there is nothing to build."""
        raise AssertionError("an alias has no layer")


def pipeline_hold(cells: list[Cell], beats: int) -> Fraction:
    """Return the part of a frame of ``beats`` beats that fits into the registers of ``cells``."""
    return Fraction(sum(cell.latency + 1 for cell in cells), beats)


def divisors(number: int) -> list[int]:
    """Return the divisors of ``number``, ascending."""
    return [n for n in range(1, number + 1) if number % n == 0]


def constant_operand(node: Node, place: int, what: str) -> Array:
    """Return the value of an operand that must be known at compile time.

    Raises:
        UnsupportedOpError: It is computed at run time.
    """
    value = node.operands[place].constant
    if value is None:
        raise unsupported(node, f"{what} must be constants, not computed at run time")
    return value


@once_per_node
def planned(node: Node) -> Plan | Refusal:
    """Return the plan for ``node``, or why there is none."""
    reason = RULES.reason(type(node.op))
    if reason is not None:
        return Refusal(reason)
    try:
        return RULES[type(node.op)](node)
    except UnsupportedOpError as e:
        return Refusal(e.message)


def plan_of(node: Node) -> Plan:
    """Return the plan for ``node``.

    Raises:
        UnsupportedOpError: There is none.
    """
    found = planned(node)
    if isinstance(found, Refusal):
        raise unsupported(node, found.reason)
    return found


def unsupported(node: Node, reason: str) -> UnsupportedOpError:
    """Return (not raise) an error that names the node."""
    return UnsupportedOpError(reason, where=f"{node.op.name} {node.label}")
