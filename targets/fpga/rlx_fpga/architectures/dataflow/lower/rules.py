"""The rule table, and the plan of a node: foldings to choose from, and a layer for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Refusal, RuleTable, once_per_node, target_hint
from rlx.support.errors import UnsupportedOpError
from rlx.targets import Lowering
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.dataflow.latency import EVEN, Demand
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Node, Value
    from rlx_fpga.cells.chain import Chain
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.cost.costs import Resources

Rule: TypeAlias = "Callable[[Node], Plan]"
"""Makes the plan of a node; raises UnsupportedOpError where it cannot be built exactly."""

RULES: RuleTable[Rule] = RuleTable("fpga", hint=target_hint("fpga"))


@dataclass(frozen=True, slots=True)
class LayerHardware:
    """The hardware of a node.

    Attributes:
        cell: One input stream for each of the plan's operands, one output stream.
        fold: Folding that it was built from.
        cycles: Initiation interval if neither input nor output ever waits.
        hold: Maximum part of a frame that can have been accepted beyond the share produced.
        lead: Maximum part of a frame that can have been produced beyond the share accepted.
        skew: For each operand, the parts of a frame by which it can be ahead of the share produced,
            and behind it; empty if all are read in step.
        jitter: Deviation of input and output from a constant rate, in frames.
        pause: Cycles for which it lets its input wait, even if its results are accepted at once.
        burst: Cycles for a frame at the rate of results without waiting; 0 if as ``cycles``.
        demand: Amount of its operands that its results need, and when.
    """

    cell: Chain
    fold: Fold
    cycles: int
    hold: Fraction
    lead: Fraction = Fraction(0)
    skew: tuple[tuple[Fraction, Fraction], ...] = ()
    jitter: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    pause: int = 0
    burst: int = 0
    demand: Demand = EVEN


class Plan(Lowering, ABC):
    """Layers that can be built for a node.

    Attributes:
        node: The node.
        operands: Operands that are streams; the others are constants inside the layer.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.operands: tuple[Value, ...] = node.operands[:1]
        self._costs: dict[tuple[Fold, str], Resources] = {}

    @abstractmethod
    def folds(self) -> list[Fold]:
        """Return the foldings to choose from, at least one."""

    @abstractmethod
    def build(self, fold: Fold) -> LayerHardware:
        """Return the layer for one of the foldings."""

    def cost(self, fold: Fold, family: str) -> Resources:
        """Return the predicted cells of the layer for one of the foldings, on ``family``."""
        key = fold, family
        if key not in self._costs:
            self._costs[key] = self._cost(fold, family)
        return self._costs[key]

    def _cost(self, fold: Fold, family: str) -> Resources:
        """Return the cost of the layer's cell; plans of many foldings do not build it for that."""
        return self.build(fold).cell.cost(family)


class Alias(Plan):
    """A node whose result is its operand's stream, unchanged."""

    def folds(self) -> list[Fold]:
        """Return the only folding, which is empty."""
        return [Fold(1, 1, 0)]

    def build(self, fold: Fold) -> LayerHardware:
        """Fail: an alias has no hardware."""
        raise AssertionError("expected an op with a layer, got an alias")


def pipeline_hold(cells: list[Cell], beats: int) -> Fraction:
    """Return the part of a frame of ``beats`` beats that fits into the registers of ``cells``."""
    return Fraction(sum(cell.latency + 1 for cell in cells), beats)


def divisors(number: int) -> list[int]:
    """Return the divisors of ``number``, ascending."""
    return [n for n in range(1, number + 1) if number % n == 0]


@once_per_node
def planned(node: Node) -> Plan | Refusal:
    """Return the plan for ``node``, or the reason why it is refused."""
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
        UnsupportedOpError: The node cannot be built.
    """
    found = planned(node)
    if isinstance(found, Refusal):
        raise unsupported(node, found.reason)
    return found
