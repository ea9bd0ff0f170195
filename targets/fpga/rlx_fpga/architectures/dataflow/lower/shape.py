"""Ops that only move values, in hardware."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QConcat, QPad, QReshape, QSlice, QTranspose
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.dataflow.early import needs_input
from rlx_fpga.architectures.dataflow.lower.arith import period
from rlx_fpga.architectures.dataflow.lower.rules import (
    RULES,
    Alias,
    LayerHardware,
    Plan,
    divisors,
    pipeline_hold,
)
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.repeat import Constant
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from rlx.ir import Node

RULES.rule(QReshape)(Alias)


@RULES.rule(QTranspose)
def lower_transpose(node: Node) -> Plan:
    """Plan an alias if the order in memory stays the same."""
    axes = cast("QTranspose", node.op).axes
    shape = node.operands[0].type.static_shape
    moved = [axis for axis in axes if shape[axis] > 1]
    if moved != sorted(moved):
        raise unsupported(node, f"permuting {list(shape)} by {axes} needs the tensor in memory")
    return Alias(node)


@RULES.rule(QConcat)
class ConcatPlan(Plan):
    """Beats of one operand after those of another."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.operands = tuple(o for o in node.operands if o.constant is None)
        if not self.operands:
            raise unsupported(node, "all operands are constants: fold them first")
        shapes = [operand.type.static_shape for operand in node.operands]
        axis = cast("QConcat", node.op).axis % len(shapes[0])
        self.runs = [math.prod(shape[axis:]) for shape in shapes]
        self.rounds = math.prod(shapes[0][:axis])

    def folds(self) -> list[Fold]:
        """Return all divisors of the runs."""
        total = sum(self.runs) * self.rounds
        return [Fold(lanes, 1, total // lanes) for lanes in divisors(math.gcd(*self.runs))]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the cell; operands are read in turn, so each can be ahead or behind.

        While leading operands are sent, the next one is queued: all of a run after states, which
        may come late, else as much as comes while constants are sent.
        """
        leading = next((n for n, o in enumerate(self.node.operands) if needs_input(o)), 0)
        cell = Concat(fold.pe, [run // fold.pe for run in self.runs], leading=leading)
        total, sent = sum(self.runs) * self.rounds, 0
        skew, fronts = [], {}
        for operand_index, (run, operand) in enumerate(
            zip(self.runs, self.node.operands, strict=True)
        ):
            behind = Fraction(sent, total)
            sent += run
            if operand.constant is None:
                skew.append((Fraction(1, self.rounds) - Fraction(sent, total), behind))
                continue
            constant = Constant(period(operand.constant, fold.pe), fold.pe)
            fronts[f"i{operand_index}"] = {f"constant{operand_index}": constant}
        hold = pipeline_hold([cell], fold.cycles)
        chain = Chain({"concat": cell}, fronts)
        late = any(operand.constant is None for operand in self.node.operands[:leading])
        pause = 0 if late else sum(self.runs[:leading]) // fold.pe
        jitter = (Fraction(late, self.rounds), Fraction(0))
        return LayerHardware(
            chain, fold, fold.cycles, hold, skew=tuple(skew), jitter=jitter, pause=pause
        )


@RULES.rule(QPad)
class PadPlan(Plan):
    """Constant beats around those of the operand."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.attributes = cast("QPad", node.op)
        self.shape = node.operands[0].type.static_shape

    def folds(self) -> list[Fold]:
        """Return all divisors of the channels and of the channels added."""
        op = self.attributes
        size = math.prod(self.node.types[0].static_shape)
        common = math.gcd(self.shape[-1], op.before[-1], op.after[-1])
        return [Fold(lanes, 1, size // lanes) for lanes in divisors(common)]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the cell."""
        op, lanes = self.attributes, fold.pe
        cell = Pad(
            lanes,
            _in_beats(self.shape, lanes),
            _in_beats(op.before, lanes),
            _in_beats(op.after, lanes),
            op.value,
        )
        added = Fraction(cell.beats_out - cell.beats_in, cell.beats_out)
        # The padding of a frame is sent at once, while the input waits.
        pause = math.ceil(cell.jitter * cell.beats_out)
        return replace(_resized("pad", cell, fold, added, cell.jitter), pause=pause)


@RULES.rule(QSlice)
class SlicePlan(Plan):
    """Beats of the operand that are dropped."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.attributes = cast("QSlice", node.op)
        self.shape = node.operands[0].type.static_shape

    def folds(self) -> list[Fold]:
        """Return all divisors of the channels and of the bounds on the channels."""
        op = self.attributes
        size = math.prod(self.shape)
        common = math.gcd(self.shape[-1], op.start[-1], op.stop[-1])
        return [
            Fold(lanes, 1, size // lanes)
            for lanes in (divisors(common) if op.step[-1] == 1 else [1])
        ]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the cell."""
        op, lanes = self.attributes, fold.pe
        cell = Slice(
            lanes,
            _in_beats(self.shape, lanes),
            _in_beats(op.start, lanes),
            _in_beats(op.stop, lanes),
            op.step,
        )
        dropped_share = Fraction(cell.beats_in - cell.beats_out, cell.beats_in)
        return _resized("slice", cell, fold, dropped_share, cell.jitter)


def _resized(
    name: str, cell: Pad | Slice, fold: Fold, share: Fraction, jitter: Fraction
) -> LayerHardware:
    """Return the layer of a cell that adds or drops a ``share`` of a frame's beats."""
    hold, flow = share + pipeline_hold([cell], cell.beats_out), (Fraction(0), jitter)
    return LayerHardware(Chain({name: cell}), fold, fold.cycles, hold, share, jitter=flow)


def _in_beats(sizes: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    """Return sizes with the last one counted in beats."""
    return (*sizes[:-1], sizes[-1] // lanes)
