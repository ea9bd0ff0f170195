"""Cells that have a proof, and the form in which each is proved.

Cells that move beats without looking at them are proved with beats of few bits: a property of any
two bits at a time holds for all. Cells that compute are proved with elements of their full width,
and at most two lanes. Depths, counts, ratios, sizes and constants are those of the cell.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from amaranth.hdl import Fragment

from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.streams import Part, lanes_of
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp, Offset
from rlx_fpga.cells.width import Gather, Scatter, WidthConverter
from rlx_fpga.formal import frames, functions, lanes, queues, routing
from rlx_fpga.formal.bench import ProofBench

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from amaranth.lib import wiring

BITS: Final = 2
"""Bits of an element in a proof, where the cell leaves a choice."""

MAX_GROUP_BEATS: Final = 64
"""Maximum beats of a group in a proof, where a cell keeps them in registers or as constants."""

MAX_LANES: Final = 2
"""Maximum lanes in a proof of a cell that does the same in each of them."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A cell and its properties to prove.

    Attributes:
        name: Name of files and of the module.
        cell: Returns the cell, with few bits.
        state: Fills a bench with properties and invariants; its docstring summarizes them.
    """

    name: str
    cell: Callable[[], Part]
    state: Callable[[ProofBench], None]

    def bench(self, *, invariants: bool = True) -> ProofBench:
        """Return the bench of a new cell."""
        return self.bench_of(self.cell(), invariants=invariants)

    def bench_of(self, cell: Part, *, invariants: bool = True) -> ProofBench:
        """Return the bench of another cell with the same ports."""
        bench = ProofBench(cell, invariants=invariants)
        self.state(bench)
        return bench

    @property
    def promise(self) -> str:
        """Statement that is proved, in a sentence."""
        return (self.state.__doc__ or "").split("\n", 1)[0]


def _skid_buffer(_: SkidBuffer) -> Proof:
    return Proof("skid_buffer", lambda: SkidBuffer(1, BITS), queues.skid_buffer)


def _fifo(cell: Fifo) -> Proof:
    depth = cell.depth
    return Proof(f"fifo_{depth}", lambda: Fifo(1, depth, BITS), queues.fifo)


def _result_queue(cell: ResultQueue) -> Proof:
    depth, burst = cell.depth, cell.burst
    return Proof(
        f"result_queue_{depth}_{burst}",
        lambda: ResultQueue(1, BITS, depth, burst),
        queues.result_queue,
    )


def _fork(cell: Fork) -> Proof:
    count = cell.count
    return Proof(f"fork_{count}", lambda: Fork(1, count, BITS), routing.fork)


def _step(cell: Gather | Scatter) -> Proof:
    kind, (before, after) = type(cell), (lanes_of(cell, "i"), lanes_of(cell, "o"))
    return Proof(
        f"{kind.__name__.lower()}_{before}_to_{after}",
        lambda: kind(before, after, BITS),
        lanes.step,
    )


def _width(cell: WidthConverter) -> Proof:
    before, after = lanes_of(cell, "i"), lanes_of(cell, "o")
    channels = math.lcm(before, after)
    return Proof(
        f"width_{before}_to_{after}",
        lambda: WidthConverter(before, after, channels, BITS),
        lanes.width_converter,
    )


def _repeat(cell: Repeat) -> Proof:
    beats, times = min(cell.beats, MAX_GROUP_BEATS), cell.times
    return Proof(f"repeat_{beats}_{times}", lambda: Repeat(1, beats, times), routing.repeat)


def _constant(cell: Constant) -> Proof:
    beats = min(len(cell.words), MAX_GROUP_BEATS)
    values = np.arange(beats).astype(np.int8)
    return Proof(f"constant_{beats}", lambda: Constant(values, 1), routing.constant)


def _concat(cell: Concat) -> Proof:
    runs, leading = cell.runs, cell.leading
    name = "_".join(map(str, ("concat", *runs, *(("after", leading) if leading else ()))))
    return Proof(name, lambda: Concat(1, runs, leading=leading), routing.concat)


def _join(_: Product | ScaledSum) -> Proof:
    # The flow of beats is the same for every function of two streams.
    return Proof("join", lambda: Product(1, 3, 4), routing.join)


def _pad(cell: Pad) -> Proof:
    count = min(cell.lanes, MAX_LANES)
    sizes = cell.sizes, cell.before, cell.after
    parts = ("pad", *map(_by, sizes), "of", _number(cell.value), *_by_lanes(count))
    return Proof("_".join(parts), lambda: Pad(count, *sizes, cell.value), frames.pad)


def _slice(cell: Slice) -> Proof:
    places = cell.start, cell.stop, cell.step
    name = "_".join(("slice", *map(_by, (cell.sizes, *places))))
    return Proof(name, lambda: Slice(1, cell.sizes, *places), frames.slice_)


def _clamp(cell: Clamp) -> Proof:
    count = min(cell.lanes, MAX_LANES)
    parts = ("clamp", _number(cell.low), "to", _number(cell.high), *_by_lanes(count))
    return Proof("_".join(parts), lambda: Clamp(count, cell.low, cell.high), functions.clamp)


def _offset(cell: Offset) -> Proof:
    count, width = min(cell.lanes, MAX_LANES), cell.width
    parts = ("offset", str(width), _number(cell.offset), *_by_lanes(count))
    return Proof("_".join(parts), lambda: Offset(count, width, cell.offset), functions.offset)


def _table(cell: Table) -> Proof:
    count = min(cell.lanes, MAX_LANES)
    entries = hashlib.sha256(repr(cell.table).encode()).hexdigest()[:8]
    parts = ("table", str(cell.width), entries, *_by_lanes(count))
    return Proof("_".join(parts), lambda: Table(count, cell.table, cell.width), functions.table)


def _by(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _by_lanes(count: int) -> list[str]:
    return [f"by_{count}"] if count > 1 else []


def _number(value: int) -> str:
    """Return an int as part of an identifier."""
    return f"minus_{-value}" if value < 0 else str(value)


DIAMOND: Final = Proof("fork_and_join", lambda: routing.Diamond(3), routing.diamond)
"""A fork whose branches are joined again."""

PROOFS: Final[Mapping[type[Part], Callable[..., Proof]]] = {
    SkidBuffer: _skid_buffer,
    Fifo: _fifo,
    ResultQueue: _result_queue,
    Fork: _fork,
    Gather: _step,
    Scatter: _step,
    WidthConverter: _width,
    Repeat: _repeat,
    Constant: _constant,
    Concat: _concat,
    Product: _join,
    ScaledSum: _join,
    Pad: _pad,
    Slice: _slice,
    Clamp: _clamp,
    Offset: _offset,
    Table: _table,
}
"""The proof of a cell, by its class."""


def proofs_of(component: wiring.Component) -> list[Proof]:
    """Return the proofs of the cells that a design holds, each once, by name."""
    proofs: dict[str, Proof] = {}
    kinds: set[type[Part]] = set()
    for part in _parts(Fragment.get(component, None)):
        if isinstance(part, Part) and (kind := type(part)) in PROOFS:
            kinds.add(kind)
            proof = PROOFS[kind](part)
            proofs[proof.name] = proof
    if Fork in kinds and kinds & {Product, ScaledSum}:
        proofs[DIAMOND.name] = DIAMOND
    # A step of a conversion is proved with the whole conversion.
    return [proofs[name] for name in sorted(proofs) if proofs[name].state is not lanes.step]


def _parts(fragment: Fragment) -> list[object]:
    parts = list(fragment.origins or ())
    for inner, *_ in fragment.subfragments:
        parts += _parts(inner)
    return parts
