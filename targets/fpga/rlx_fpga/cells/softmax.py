"""Softmax in fixed point, one value after the other."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.sequential import CYCLES, SequentialMultiply
from rlx_fpga.cells.sizes import depth_of
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cells.table import table_ram
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The sum has 12 integer bits: exponentials (Q0.31) are first shifted right by 12.
SUM_SHIFT = 12
# The sum is at least exp(0) >> 12 = 2^19: this number of left shifts moves its top bit to bit 31.
NORMALIZE_STEPS = 12
# 48/17 and -32/17 in Q2.29: the line 48/17 - 32/17 x is the first guess of 1/x.
GUESS, SLOPE = 1515870810, -1010580540
NEWTON_STEPS = 3

EXPONENTIAL_BITS = 31
"""Bits of an exponential, all of them fraction bits."""

# Cycles from an index to the exponential of its value: two memories, a register.
_LOOK_UP = 3
_MULTIPLY = CYCLES + 1
_CODE = _LOOK_UP + _MULTIPLY + 1
_RECIPROCAL = NORMALIZE_STEPS + (1 + 2 * NEWTON_STEPS) * _MULTIPLY + NEWTON_STEPS + 1


class Softmax(Cell):
    """Softmax of every ``count`` consecutive values; output scale 1/256, zero point -128.

    The values are stored until the last one has arrived. Then: the sum of their exponentials (a
    table indexed by the distance from the maximum), its reciprocal by Newton-Raphson, and one
    multiplication for each value. All multiplications share one multiplier.

    Members:
        i: In, one int8 a beat.
        o: Out, the same.

    Latency ``count + 101``, initiation interval ``16 * count + 86``, for any data.

    Source: tflite-micro ``reference_ops::Softmax``; gemmlowp
    ``one_over_one_plus_x_for_x_in_0_1``.
    """

    multipliers = SequentialMultiply.multipliers

    def __init__(self, count: int, exponentials: Sequence[int]) -> None:
        """Take the table of exponentials.

        Args:
            count: Values of one softmax, at most 4095: their sum has 12 integer bits.
            exponentials: exp of the differences -255 .. 0 in Q0.31, 256 entries.
        """
        if not 1 <= count < 1 << SUM_SHIFT or len(exponentials) != 256:
            entries = len(exponentials)
            msg = f"expected 1 to 4095 values and 256 entries, got {count} and {entries}"
            raise ValueError(msg)
        self.count = count
        self.exponentials = [int(entry) for entry in reversed(exponentials)]
        self.memory_bits = 256 * EXPONENTIAL_BITS + 8 * count
        self.latency = (count + _LOOK_UP) + _RECIPROCAL + _MULTIPLY + 2
        self.interval = count + self.latency - 1 + (count - 1) * _CODE
        super().__init__({"i": In(stream_of(1)), "o": Out(stream_of(1))})

    @cached_property
    def logic(self) -> Logic:
        """Two memories, and a state machine around one multiplier: much the same for all sizes."""
        index_bits = self.count.bit_length()
        rams = (
            Ram(8, depth_of(self.count), read_only=False, synchronous=True),
            table_ram(self.exponentials, EXPONENTIAL_BITS),
        )
        return Logic(
            275 + index_bits,
            342 + 2 * index_bits,
            10 + index_bits,
            210 + 3 * index_bits,
            426 + 2 * index_bits,
        ) + (Logic(memories=rams))

    def elaborate(self, platform: object) -> Module:
        """One state machine around two memories and the multiplier."""
        m = Module()
        work = _Work(m, self.count)
        work.exponential = self._memories(m, work)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM():
            self._load(m, work)
            _sum(m, work)
            _normalize(m, work)
            _invert(m, work)
            self._scale(m, work)
        return m

    def _memories(self, m: Module, work: _Work) -> Value:
        """Return the exponential of the value at ``index`` ``_LOOK_UP`` cycles ago."""
        m.submodules.codes = codes = Memory(shape=signed(8), depth=depth_of(self.count), init=[])
        m.submodules.table = table = Memory(
            shape=EXPONENTIAL_BITS, depth=256, init=self.exponentials
        )
        write = codes.write_port()
        read = codes.read_port()
        look_up = table.read_port()
        m.d.comb += [
            write.addr.eq(work.index),
            write.data.eq(raw(self.i)),
            write.en.eq(self.i.valid & self.i.ready),
            read.addr.eq(work.index),
            look_up.addr.eq(work.best - read.data),
        ]
        return follow(m, look_up.data, "exponential")

    def _load(self, m: Module, work: _Work) -> None:
        """Store the values and keep the maximum."""
        code = raw(self.i).as_signed()
        with m.State("LOAD"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [work.total.eq(0), work.drop.eq(NORMALIZE_STEPS), work.step.eq(0)]
            with m.If(self.i.valid):
                with m.If((work.index == 0) | (code > work.best)):
                    m.d.sync += work.best.eq(code)
                with m.If(work.at_end):
                    m.d.sync += work.index.eq(0)
                    m.next = "SUM"
                with m.Else():
                    m.d.sync += work.index.eq(work.index + 1)

    def _scale(self, m: Module, work: _Work) -> None:
        """Multiply each exponential by the reciprocal, round to 8 bits, output it."""
        with work.call(m, "SCALE", work.x, work.exponential):
            m.next = "ROUND"
        # The output's scale is 1/256: all fraction bits of the product except 8 are dropped.
        # The minimum shift is 23; bits below 22 cannot change a rounding half up.
        halves = (work.multiply.result[22:31] >> work.drop) + 1
        number = halves[1:]
        code = Mux(number[8:].any(), 127, Cat(number[:7], ~number[7]).as_signed())
        with m.State("ROUND"), m.If(~self.o.valid | self.o.ready):
            m.d.sync += [self.o.valid.eq(1), raw(self.o).eq(code)]
            with m.If(work.at_end):
                m.d.sync += work.index.eq(0)
                m.next = "LOAD"
            with m.Else():
                m.d.sync += work.index.eq(work.index + 1)
                m.next = "FETCH"
        with m.State("FETCH"):
            m.next = "LOOK UP"
        with m.State("LOOK UP"):
            m.next = "HOLD"
        with m.State("HOLD"):
            m.next = "SCALE"


class _Work:
    """Registers of the state machine, and its multiplier."""

    def __init__(self, m: Module, count: int) -> None:
        m.submodules.multiply = self.multiply = SequentialMultiply()
        self.count = count
        self.index = Signal(range(count + _LOOK_UP))
        self.at_end = self.index == count - 1
        self.best = Signal(signed(8))
        self.exponential: Value
        self.total = Signal(32)
        self.drop = Signal(range(NORMALIZE_STEPS + 1))
        self.step = Signal(range(NORMALIZE_STEPS))
        self.x = Signal(signed(32))
        self.error = Signal(signed(32))

    @contextmanager
    def call(self, m: Module, state: str, a: Value | int, b: Value | int) -> Iterator[None]:
        """Add a state that multiplies; the body of the with statement runs at its end."""
        with m.State(state):
            m.d.comb += [
                self.multiply.start.eq(~self.multiply.done),
                self.multiply.a.eq(a),
                self.multiply.b.eq(b),
            ]
            with m.If(self.multiply.done):
                yield


def _sum(m: Module, work: _Work) -> None:
    """Add up the exponentials, which arrive ``_LOOK_UP`` cycles after their index."""
    with m.State("SUM"):
        rounded = (work.exponential + (1 << (SUM_SHIFT - 1))) >> SUM_SHIFT
        with m.If(work.index >= _LOOK_UP):
            m.d.sync += work.total.eq(work.total + rounded)
        with m.If(work.index == work.count + _LOOK_UP - 1):
            m.d.sync += work.index.eq(0)
            m.next = "NORMALIZE"
        with m.Else():
            m.d.sync += work.index.eq(work.index + 1)


def _normalize(m: Module, work: _Work) -> None:
    """Shift the sum left until its top bit is bit 31: a number in [1, 2) with 31 fraction bits."""
    with m.State("NORMALIZE"):
        with m.If(~work.total[31]):
            m.d.sync += [work.total.eq(work.total << 1), work.drop.eq(work.drop - 1)]
        with m.If(work.step == NORMALIZE_STEPS - 1):
            m.d.sync += work.step.eq(0)
            m.next = "GUESS"
        with m.Else():
            m.d.sync += work.step.eq(work.step + 1)


def _invert(m: Module, work: _Work) -> None:
    """Find the reciprocal of the sum: three steps of ``x += x * (1 - half * x)``, in Q2.29."""
    half = work.total >> 1
    result = work.multiply.result
    with work.call(m, "GUESS", half, SLOPE):
        m.d.sync += work.x.eq(result + GUESS)
        m.next = "ERROR"
    with work.call(m, "ERROR", half, work.x):
        m.d.sync += work.error.eq((1 << 29) - result)
        m.next = "CORRECT"
    with work.call(m, "CORRECT", work.x, work.error):
        m.d.sync += work.error.eq(_saturate(result << 2))
        m.next = "ADD"
    with m.State("ADD"):
        m.d.sync += [work.x.eq(work.x + work.error), work.step.eq(work.step + 1)]
        with m.If(work.step == NEWTON_STEPS - 1):
            m.next = "DOUBLE"
        with m.Else():
            m.next = "ERROR"
    with m.State("DOUBLE"):
        m.d.sync += work.x.eq(_saturate(work.x << 1))
        m.next = "SCALE"


def _saturate(value: Value) -> Value:
    """Return ``value`` limited to int32."""
    top, sign = value[31:], value[-1]
    fits = top.all() | ~top.any()
    return Mux(fits, value[:32], Cat((~sign).replicate(31), sign)).as_signed()
