"""Programs of the time-multiplexed engine: one instruction for each op, and constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rlx.ops.numerics.fixed_point import Rounding
from rlx_fpga.architectures.engine.fields import Fields
from rlx_fpga.architectures.engine.timing import running_cycles

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value

PIPELINE: Final = 16
"""Maximum cycles from the last step of an instruction until its last result is in memory, minus one
for each lane of the array."""

FILL_END: Final = 1
"""Cycles from the last beat of weights until they can be used."""

START: Final = 1
"""Cycles from the last code read until the program runs."""


class Feed(Enum):
    """Ways to load weights and scaling constants."""

    BUILT_IN = "built in"
    """With the bitstream: the memories are read-only."""
    LOAD = "load"
    """Over a stream, once after each reset."""
    STREAM = "stream"
    """Over a stream, for every frame: those of an instruction right before it runs."""


class Mode(IntEnum):
    """Operation of the array on the values that it reads."""

    WIDE = 0
    """A product in every lane: lanes are output channels and share the input value."""
    NARROW = 1
    """A product in the first lane only: one weight after the other (depthwise)."""
    MAX = 2
    """The maximum."""
    TOTAL = 3
    """The sum."""
    TABLE = 4
    """The sum of table entries; the second column of the window uses the second table."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Six loops, outermost first.

    Rows, columns and blocks of channels of the results; rows, columns and channels of a window. The
    read address grows by a stride in each iteration of a loop.

    Attributes:
        counts: Iterations of each.
        strides: Bytes, modulo the program's span; that of the innermost loop is always 1.
        steps: Changes of the position in the image in iterations of the four image loops: rows
            and columns of results, rows and columns of the window.
        origin: Position of the first window, not positive: rows and columns of padding.
        size: Rows and columns of the image; positions outside read ``padding``.
    """

    counts: tuple[int, int, int, int, int, int]
    strides: tuple[int, int, int, int, int]
    steps: tuple[int, int, int, int] = (0, 0, 0, 0)
    origin: tuple[int, int] = (0, 0)
    size: tuple[int, int] = (1, 1)

    @property
    def inner(self) -> int:
        """Steps of a block."""
        rows, columns, channels = self.counts[3:]
        return rows * columns * channels

    @property
    def blocks(self) -> int:
        """Blocks of the whole instruction."""
        rows, columns, blocks = self.counts[:3]
        return rows * columns * blocks


@dataclass(frozen=True, slots=True)
class Instruction:
    """One op.

    Attributes:
        node: The op.
        mode: Operation of the array.
        loops: Loops over the values that it reads.
        lanes: Results of a block; of the last one ``last_lanes``.
        last_lanes: Results of the last block of a pixel.
        source: Address of the first value, the corner of the first window (it may be before the
            image: modulo the span).
        target: Address of the first result.
        skip: Bytes skipped after the results of each pixel.
        weights: Start of its weights, in words of the weight memory.
        words: Words of its weights.
        tables: Its first table.
        constants: Start of its scaling constants.
        scales: Number of them.
        uniform: Whether all results have the same constants.
        padding: Value read outside of the image.
        zero_point: Added to results.
        low: Minimum result.
        high: Maximum result.
        rounding: Rounding of the scaled sums.
    """

    node: Node
    mode: Mode
    loops: Loops
    lanes: int
    last_lanes: int
    source: int
    target: int
    skip: int = 0
    weights: int = 0
    words: int = 0
    tables: int = 0
    constants: int = 0
    scales: int = 1
    uniform: bool = False
    padding: int = 0
    zero_point: int = 0
    low: int = -128
    high: int = 127
    rounding: Rounding = Rounding.DOUBLE

    @property
    def gap(self) -> int:
        """Cycles added to a block that is shorter than the output of the previous one's results."""
        return max(0, self.lanes - self.loops.inner)


@dataclass(frozen=True, slots=True)
class Scale:
    """Constants of one result: ``rdpot(srdhm((sum + bias) << left, multiplier), right)``.

    The product is rounded once if the instruction selects that.
    """

    bias: int
    multiplier: int
    left: int
    right: int


@dataclass
class EngineProgram:
    """A graph as instructions.

    Attributes:
        graph: The graph.
        lanes: Lanes of the array.
        memory: Bytes of the activation memory.
        span: Addresses wrap around at this power of two: an address before the memory's start is
            one beyond its end. Neither is ever used.
        inputs: Address of each input.
        outputs: Address of each output, or of the operand of its final op.
        finishes: For each output, an op that is done on its way out (softmax, index), or None.
        instructions: In order.
        weights: Words of the weight memory, each ``lanes`` int8 values.
        tables: Tables of 256 entries, that of -128 first.
        scales: Constants of all results.
        feed: Loading of weights and constants. If they are streamed for each instruction, all
            of them begin at address 0; the lists here still hold them one after the other.
        one_port: Whether the activation memory has one port: then the array pauses while a result
            is written.
    """

    graph: Graph
    lanes: int
    feed: Feed = Feed.BUILT_IN
    one_port: bool = False
    memory: int = 0
    span: int = 2
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    finishes: list[Node | None] = field(default_factory=list)
    stored: list[Value] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    weights: list[tuple[int, ...]] = field(default_factory=list)
    tables: list[tuple[int, ...]] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)

    @property
    def skips(self) -> bool:
        """Whether any results are not contiguous."""
        return any(one.skip for one in self.instructions)

    @property
    def rounds_once(self) -> bool:
        """Whether any product is rounded once."""
        return any(one.rounding is not Rounding.DOUBLE for one in self.instructions)

    @property
    def load_cycles(self) -> int:
        """Cycles of the inputs: one value in each."""
        return sum(value.type.size for value in self.graph.inputs)

    @property
    def store_cycles(self) -> int:
        """Cycles of the outputs: one value in each, and one at the end of each output."""
        return sum(map(_store_cycles, self.stored))

    @property
    def layers(self) -> dict[Node, int]:
        """Cycles of each layer in the order in which they run.

        Those of an op that is done on its way out are the cycles of its output.
        """
        cycles: dict[Node, int] = {}
        for one in self.instructions:
            cycles[one.node] = cycles.get(one.node, 0) + self.cycles(one)
        for finish, value in zip(self.finishes, self.stored, strict=True):
            if finish is not None:
                cycles[finish] = _store_cycles(value)
        return cycles

    @cached_property
    def constants(self) -> Fields:
        """The constants of all results as words."""
        return Fields([
            {"bias": one.bias, "multiplier": one.multiplier, "left": one.left, "right": one.right}
            for one in self.scales
        ])  # fmt: skip

    @property
    def beats_a_scale(self) -> int:
        """Beats of the weight stream with the constants of a result."""
        return -(-self.constants.width // (8 * self.lanes))

    @property
    def weight_depth(self) -> int:
        """Words of the weight memory."""
        if self.feed is Feed.STREAM:
            return max(one.words for one in self.instructions)
        return len(self.weights)

    @property
    def scale_depth(self) -> int:
        """Words of the memory of constants."""
        if self.feed is Feed.STREAM:
            return max(one.scales for one in self.instructions)
        return len(self.scales)

    def fill_cycles(self, instruction: Instruction) -> int:
        """Cycles in which weights and constants of an instruction are loaded, in every frame."""
        if self.feed is not Feed.STREAM:
            return 0
        return instruction.scales * self.beats_a_scale + instruction.words + FILL_END

    def cycles(self, instruction: Instruction) -> int:
        """Return the cycles of an instruction if it never waits for the weight stream."""
        free = instruction.loops.blocks * (instruction.loops.inner + instruction.gap)
        run = running_cycles(instruction) if self.one_port else free
        return self.fill_cycles(instruction) + run + PIPELINE + self.lanes + 1

    @property
    def interval(self) -> int:
        """Initiation interval; frames do not overlap."""
        run = sum(self.cycles(one) for one in self.instructions)
        return self.load_cycles + START + run + self.store_cycles


def _store_cycles(value: Value) -> int:
    """Return the cycles of an output that is stored as ``value``."""
    return value.type.size + 1
