"""Loop counters of instructions, and the addresses that the array reads in each cycle."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from amaranth import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.architectures.engine.fields import Fields
from rlx_fpga.architectures.engine.program import PIPELINE, Feed
from rlx_fpga.architectures.engine.scale import ROUNDINGS
from rlx_fpga.cells.rom import distinct_bits, varying_bits
from rlx_fpga.cells.sizes import depth_of, index_signal
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from amaranth.hdl import Value

    from rlx_fpga.architectures.engine.program import EngineProgram, Instruction

LEVELS: Final = ("row", "column", "block", "tap_row", "tap_column", "channel")
"""The loops, outermost first."""


def instruction_fields(program: EngineProgram) -> Fields:
    """Return all instructions as words."""
    rows = [_row(one) for one in program.instructions]
    if program.feed is Feed.STREAM:
        counts = [{"words": o.words, "last_scale": o.scales - 1} for o in program.instructions]
        rows = [row | count for row, count in zip(rows, counts, strict=True)]
    if program.skips:
        steps = [{"result_step": one.skip + 1} for one in program.instructions]
        rows = [row | step for row, step in zip(rows, steps, strict=True)]
    if program.rounds_once:
        codes = [{"rounding": ROUNDINGS[one.rounding]} for one in program.instructions]
        rows = [row | code for row, code in zip(rows, codes, strict=True)]
    return Fields(rows)


def _row(instruction: Instruction) -> dict[str, int]:
    loops = instruction.loops
    row = {
        f"last_{level}": count - 1 for level, count in zip(LEVELS, loops.counts, strict=True)
    } | {
        f"stride_{level}": stride
        for level, stride in zip(LEVELS[:-1], loops.strides, strict=True)
    }  # fmt: skip
    names = ("row", "column", "tap_row", "tap_column")
    row |= {f"step_{name}": step for name, step in zip(names, loops.steps, strict=True)}
    return row | {
        "origin_row": loops.origin[0],
        "origin_column": loops.origin[1],
        "rows": loops.size[0],
        "columns": loops.size[1],
        "mode": int(instruction.mode),
        "gap": instruction.gap,
        "lanes": instruction.lanes,
        "last_lanes": instruction.last_lanes,
        "source": instruction.source,
        "target": instruction.target,
        "weights": instruction.weights,
        "tables": instruction.tables,
        "constants": instruction.constants,
        "uniform": int(instruction.uniform),
        "padding": instruction.padding,
        "zero_point": instruction.zero_point,
        "low": instruction.low,
        "high": instruction.high,
    }


def _reach(instruction: Instruction) -> int:
    """Return the magnitude of the outermost position that an instruction reads.

    Padding after the image may be larger than the image: the last window decides.
    """
    loops = instruction.loops
    counts = (*loops.counts[:2], *loops.counts[3:5])
    row, column, tap_row, tap_column = (
        step * (count - 1) for step, count in zip(loops.steps, counts, strict=True)
    )
    first_row, first_column = loops.origin
    last = (first_row + row + tap_row, first_column + column + tap_column)
    return max(*map(abs, loops.origin), *last)


class Sequencer(Component):
    """Runs the program from its first instruction to its last.

    Members:
        start: In, begin in the next cycle.
        done: Out, high for one cycle when every result is in memory.
        instruction: Out, fields of the current one, each at the bits that its reader expects.
        begins: Out, high for one cycle at the start of each instruction.
        filled: In, weights and constants of the instruction are loaded, if they are streamed.
        hold: In, pause in this cycle.
        step: Out, the array reads a value in this cycle.
        address: Out, address of the value.
        in_image: Out, whether it is inside the image.
        first: Out, first value of a block.
        last: Out, last value of a block.
        second: Out, second column of a window.
        word: Out, address of the weights.
        part: Out, which weight of the word, for narrow weights.

    Latency 2 from ``start`` to the first ``step``, where weights are built in. Initiation interval
    1: a step in every cycle, but for pauses between blocks and instructions.
    """

    _MustUse__silence = True

    def __init__(self, program: EngineProgram) -> None:
        self.program = program
        self.fields = instruction_fields(program)
        self.address_bits = (program.span - 1).bit_length()
        words = max(1, program.weight_depth.bit_length())
        parts = max(1, (program.lanes - 1).bit_length())
        inputs = ("start", "filled", "hold")
        flags = ("done", "begins", "step", "in_image", "first", "last", "second")
        super().__init__({
            **{name: In(1) for name in inputs},
            **{name: Out(1) for name in flags},
            "instruction": Out(self.fields.width),
            "address": Out(self.address_bits),
            "word": Out(words),
            "part": Out(parts),
        })  # fmt: skip

    @cached_property
    def logic(self) -> Logic:
        """Six loops with an address each, positions in the image, and the instructions.

        Widths of the fields decide; the factors are counts of a few programs, averaged.
        """
        width, address = self.fields.width, self.address_bits
        words = self.fields.words
        ram = Ram(varying_bits(words, width), depth_of(len(words)), read_only=True,
                  synchronous=False, distinct=distinct_bits(words, width))  # fmt: skip
        return Logic(
            register=6 * address + width / 2,
            add=38 * address,
            test=20,
            memories=(ram,),
        )

    def elaborate(self, platform: object) -> Module:
        """Fetch, run, wait until the last result is in memory."""
        m = Module()
        count = len(self.program.instructions)
        index = index_signal(count, name="place")
        wait = Signal(range(self._wait + 1))
        # An asynchronous read: instructions are wide and few.
        m.submodules.instructions = memory = Memory(
            shape=unsigned(self.fields.width), depth=depth_of(count), init=self.fields.words
        )
        port = memory.read_port(domain="comb")
        m.d.comb += [port.addr.eq(index), self.instruction.eq(port.data)]
        ended = self._loops(m)
        fed = self.program.feed is Feed.STREAM
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += index.eq(0)
                m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += self.begins.eq(1)
                m.d.sync += wait.eq(self._wait - 1)
                m.next = "FILL" if fed else "RUN"
            if fed:
                with m.State("FILL"), m.If(self.filled):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self._running.eq(1)
                with m.If(ended):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.d.sync += index.eq(index + 1)
                    m.next = "FETCH"
                    with m.If(index == count - 1):
                        m.d.comb += self.done.eq(1)
                        m.next = "IDLE"
        return m

    @property
    def _wait(self) -> int:
        return PIPELINE + self.program.lanes

    def _get(self, name: str) -> Value:
        return self.fields.get(self.instruction, name)

    def _loops(self, m: Module) -> Value:
        """Build the loop counters; return whether this is the instruction's last cycle."""
        self._running = Signal(name="running")
        counts = {
            level: Signal(self.fields.size(f"last_{level}"), name=f"count_{level}")
            for level in LEVELS
        }
        full = {level: counts[level] == self._get(f"last_{level}") for level in LEVELS}
        block_end = Signal()
        m.d.comb += block_end.eq(full["channel"] & full["tap_column"] & full["tap_row"])
        gap, left = self._get("gap"), Signal(self.fields.size("gap"), name="gap_left")
        resting = Signal()
        m.d.comb += self.step.eq(self._running & ~resting & ~self.hold)
        advance = Signal()
        # The end of a block is counted after its gap.
        m.d.comb += advance.eq(
            self._running & ~self.hold & Mux(resting, left == 0, ~block_end | (gap == 0))
        )
        with m.If(self.step & block_end & (gap != 0)):
            m.d.sync += [resting.eq(1), left.eq(gap - 1)]
        with m.Elif(resting & ~self.hold):
            m.d.sync += [left.eq(left - 1), resting.eq(left != 0)]
        turns = self._turns(m, counts, full, advance)
        self._addresses(m, turns)
        self._places(m, turns)
        self._weights(m, turns, advance)
        m.d.comb += [
            self.first.eq(
                (counts["channel"] == 0) & (counts["tap_column"] == 0) & (counts["tap_row"] == 0)
            ),
            self.last.eq(block_end),
            self.second.eq(counts["tap_column"] != 0),
        ]
        everything = Cat(*full.values()).all()
        return advance & everything

    def _turns(
        self, m: Module, counts: dict[str, Signal], full: dict[str, Any], advance: Value
    ) -> dict[str, Signal]:
        """Count; return for each loop whether it advances at the end of this cycle."""
        turns = {}
        carry: Value = advance
        for level in reversed(LEVELS):
            turn = Signal(name=f"turn_{level}")
            m.d.comb += turn.eq(carry & ~full[level])
            with m.If(carry):
                m.d.sync += counts[level].eq(Mux(full[level], 0, counts[level] + 1))
            turns[level] = turn
            carry = carry & full[level]
        return turns

    def _addresses(self, m: Module, turns: dict[str, Signal]) -> None:
        """Keep the address at which each loop's current iteration began."""
        bases = {
            level: Signal(self.address_bits, name=f"address_{level}", reset_less=True)
            for level in LEVELS
        }
        m.d.comb += self.address.eq(bases["channel"])
        with m.If(self.begins):
            m.d.sync += [base.eq(self._get("source")) for base in bases.values()]
        for depth, level in enumerate(LEVELS):
            stride = 1 if level == "channel" else self._get(f"stride_{level}")
            with m.If(turns[level]):
                next_address = (bases[level] + stride)[: self.address_bits]
                m.d.sync += [bases[inner].eq(next_address) for inner in LEVELS[depth:]]

    def _places(self, m: Module, turns: dict[str, Signal]) -> None:
        """Track the position in the image, to detect padding."""
        axes_in_image = []
        bits = max(map(_reach, self.program.instructions)).bit_length() + 1
        for axis, outer, tap in (("row", "row", "tap_row"), ("column", "column", "tap_column")):
            window = Signal(signed(bits), name=f"window_{axis}", reset_less=True)
            position = Signal(signed(bits), name=f"place_{axis}", reset_less=True)
            origin = self._get(f"origin_{axis}")
            next_origin = Signal(signed(bits), name="moved")
            tapped = Signal(signed(bits))
            m.d.comb += [
                next_origin.eq(window + self._get(f"step_{outer}")),
                tapped.eq(position + self._get(f"step_{tap}")),
            ]
            again = turns["row"] if axis == "column" else 0
            restart = [turns[n] for n in LEVELS[: LEVELS.index(tap)]]
            with m.If(self.begins | again):
                m.d.sync += [window.eq(origin), position.eq(origin)]
            with m.Elif(turns[outer]):
                m.d.sync += [window.eq(next_origin), position.eq(next_origin)]
            with m.Elif(Cat(*restart).any()):
                m.d.sync += position.eq(window)
            with m.Elif(turns[tap]):
                m.d.sync += position.eq(tapped)
            axes_in_image.append((position >= 0) & (position < self._get(f"{axis}s")))
        m.d.comb += self.in_image.eq(axes_in_image[0] & axes_in_image[1])

    def _weights(self, m: Module, turns: dict[str, Signal], advance: Value) -> None:
        """Step through the weights, from the start for each pixel."""
        narrow = self._get("mode")[0] if self.fields.size("mode") else 0
        pixel = self.begins | turns["row"] | turns["column"]
        with m.If(pixel):
            m.d.sync += [self.word.eq(self._get("weights")), self.part.eq(0)]
        with m.Elif(advance):
            m.d.sync += self.part.eq(self.part + 1)
            with m.If(~narrow | (self.part == self.program.lanes - 1)):
                m.d.sync += [self.word.eq(self.word + 1), self.part.eq(0)]
