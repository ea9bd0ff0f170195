"""Loads weights and scaling constants from a stream into their memories."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.architectures.engine.program import FILL_END, Feed
from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import raw, stream_of
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from rlx_fpga.architectures.engine.program import EngineProgram


class Loader(Component):
    """Loads one section of the stream: the constants of results, then the weights.

    Members:
        i: In, the stream; a beat is a word of weights, and constants fill whole beats.
        start: In, a section begins in the next cycle.
        last_scale: In, the number of constants in it minus one; stable until ``done``.
        words: In, the number of words of weights in it, likewise.
        done: Out, high for one cycle, ``FILL_END`` cycles after the last beat: all are written.
        scale_write: Out, write the constants of one result.
        scale_place: Out, their address.
        scale_code: Out, the constants.
        write: Out, write a word of weights.
        word: Out, its address.
        code: Out, the word.
    """

    _MustUse__silence = True

    def __init__(self, program: EngineProgram) -> None:
        self.beats, self.width = program.beats_a_scale, program.constants.width
        self.bits = 8 * program.lanes
        scales = max(1, (program.scale_depth - 1).bit_length())
        words = max(1, program.weight_depth.bit_length())
        super().__init__({
            "i": In(stream_of(program.lanes)), "start": In(1), "done": Out(1),
            "last_scale": In(scales), "words": In(words),
            "scale_write": Out(1), "scale_place": Out(scales),
            "scale_code": Out(unsigned(self.width)), "write": Out(1),
            "word": Out(words), "code": Out(unsigned(self.bits)),
        })  # fmt: skip

    @cached_property
    def logic(self) -> Logic:
        """A shift register of beats, and two addresses, each a step ahead too."""
        places = len(self.scale_place) + len(self.word)
        return Logic(self.beats * self.bits + 2 * places + 5, add=places + 8, test=80)

    def elaborate(self, platform: object) -> Module:
        """One state for constants, one for weights, one for the last write."""
        m = Module()
        assert FILL_END == 1
        beat = raw(self.i)
        accepted = Signal(name="taken")
        shift_register = Signal(self.beats * self.bits, reset_less=True, name="held")
        count = index_signal(self.beats)
        scale_next = Signal.like(self.scale_place)
        word_next = Signal.like(self.word)
        m.d.comb += [
            accepted.eq(self.i.valid & self.i.ready),
            self.scale_code.eq(shift_register[: self.width]),
            self.code.eq(shift_register[-self.bits :]),
        ]
        m.d.sync += [self.scale_write.eq(0), self.write.eq(0)]
        with m.If(accepted):
            m.d.sync += [
                shift_register.eq(Cat(shift_register, beat)[self.bits :]),
                self.scale_place.eq(scale_next), self.word.eq(word_next),
            ]  # fmt: skip
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [scale_next.eq(0), word_next.eq(0), count.eq(0)]
                m.next = "SCALES"
            with m.State("SCALES"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(accepted):
                    m.d.sync += count.eq(count + 1)
                with m.If(accepted & (count == self.beats - 1)):
                    m.d.sync += [
                        count.eq(0), scale_next.eq(scale_next + 1), self.scale_write.eq(1)
                    ]  # fmt: skip
                    with m.If(scale_next == self.last_scale):
                        m.next = "WORDS"
                        with m.If(self.words == 0):
                            m.next = "END"
            with m.State("WORDS"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(accepted):
                    m.d.sync += [word_next.eq(word_next + 1), self.write.eq(1)]
                    with m.If(word_next == self.words - 1):
                        m.next = "END"
            with m.State("END"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m


def stream_bytes(program: EngineProgram) -> bytes:
    """Return the bytes of the stream, once or for every frame, lowest byte of each beat first."""
    parts: list[bytes] = []
    for scales, words in _parts(program):
        size = program.beats_a_scale * program.lanes
        parts += [word.to_bytes(size, "little") for word in scales]
        parts += [bytes(number & 0xFF for number in word) for word in words]
    return b"".join(parts)


def _parts(program: EngineProgram) -> list[tuple[list[int], list[tuple[int, ...]]]]:
    """Return constants and words of weights by section of the stream."""
    constants = program.constants.words
    if program.feed is not Feed.STREAM:
        return [(constants, program.weights)]

    sections, scale, word = [], 0, 0
    for instruction in program.instructions:
        scale_end, word_end = scale + instruction.scales, word + instruction.words
        sections.append((constants[scale:scale_end], program.weights[word:word_end]))
        scale, word = scale_end, word_end
    return sections
