"""Channelwise units: depthwise convolution and pooling."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx_fpga.cells.accumulate import Accumulator, Ranges, ranges_of
from rlx_fpga.cells.multiply import LATENCY, Packing, multiply_each
from rlx_fpga.cells.mvu import MultiplierArray, array_logic, enter, field, matrix_accumulator
from rlx_fpga.cells.pipe import follow, register
from rlx_fpga.cells.rom import Store, signed_bits
from rlx_fpga.cells.streams import Cell, Lanes, raw, require_divisor, stream_of
from rlx_fpga.cells.weights import WeightMemories, weight_bits
from rlx_fpga.cost.logic import Logic, counter, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.cells.rom import CyclicRom, Integers, RomSizes


class Depthwise(Cell):
    """Convolve every channel with its own ``multiplier`` kernels; ``pe * multiplier`` products.

    Takes the window generator's ``channelwise`` order. Output channel ``c * multiplier + k``
    belongs to input channel ``c``.

    Members:
        i: In, ``pe`` times int8: one tap of ``pe`` channels.
        o: Out, ``lanes`` times int ``acc_bits``: ``bias + sum(weight * x)``.

    Latency ``latency``, initiation interval 1. Cost: ``pe * multiplier`` products, ``weight_bits``
    of memory for each weight, and the biases. Products use DSP slices, except with 2-bit weights
    and for ``logic`` of them, which are LUT multipliers; half the slices if two independent
    products share one.

    Args:
        weights: int8 [channels * multiplier, taps].
        bias: int32 [channels * multiplier] or None.
        channels: Input channels.
        pe: Input channels of a beat; divides ``channels``.
        beat_cycles: Cycles that the consumer of ``o`` needs for a beat.
        logic: Number of LUT multipliers.
        store: Storage of the weights.
        packing: Packing of two products in a DSP slice; only ``INDEPENDENT`` applies here.
    """

    def __init__(
        self,
        weights: Integers,
        bias: Integers | None,
        *,
        channels: int,
        pe: int,
        beat_cycles: int = 1,
        logic: int = 0,
        store: Store = Store.FREE,
        packing: Packing = Packing.NONE,
    ) -> None:
        outputs, self.taps = weights.shape
        require_divisor(pe, channels)
        require_divisor(channels, outputs)
        self.multiplier = outputs // channels
        self.pe = pe
        self.products = pe * self.multiplier
        self.array = depthwise_array(self.products, weight_bits(weights), logic, packing)
        ranges = ranges_of(weights, bias)
        self.accumulator = matrix_accumulator(weights.shape, self.array, ranges, bias, beat_cycles)
        self.lanes = self.accumulator.lanes
        self.acc_bits = ranges.out_bits
        self.multipliers = self.array.multipliers
        self.weights, self.store = WeightMemories(weights, split=False), store
        self.latency = self.accumulator.delay + self.accumulator.latency
        self.drain = self.accumulator.drain
        super().__init__({"i": In(stream_of(pe)), "o": Out(stream_of(self.lanes, self.acc_bits))})

    @cached_property
    def rom(self) -> CyclicRom:
        """The memory of the weights; its words are packed on first access."""
        (rom,) = self.weights.roms(self.products, 1, self.array.packing, self.store)
        return rom

    @cached_property
    def memory_bits(self) -> int:
        """Bits of weights and biases."""
        (rom,) = self.weights.sizes(self.products, 1, self.array.packing, self.store)
        return self.accumulator.memory_bits + rom.bits

    @cached_property
    def logic(self) -> Logic:
        """Operand and product registers, memory, accumulators."""
        roms = self.weights.sizes(self.products, 1, self.array.packing, self.store)
        return depthwise_logic(self.array, roms, self.pe) + self.accumulator.logic

    def elaborate(self, platform: object) -> Module:
        """Memory, operand registers, products, accumulators."""
        m = Module()
        m.submodules.accumulator = accumulator = self.accumulator
        codes, (weights,), valid = enter(m, self.i, accumulator, [self.rom])
        operands = {
            f"product_{index}": (
                field(codes, index // self.multiplier, 8),
                field(weights, index, self.array.weight_bits),
            )
            for index in range(self.products)
        }
        products = multiply_each(
            m, platform, operands, logic=self.array.logic, packing=self.array.packing
        )
        for index, product in enumerate(products):
            m.d.comb += accumulator.terms[index].eq(product)
        m.d.comb += accumulator.valid.eq(follow(m, valid, "valid", LATENCY, reset=True))
        connect(m, accumulator.o, flipped(self.o))
        return m


def depthwise_array(products: int, bits: int, logic: int, packing: Packing) -> MultiplierArray:
    """Return the array of a depthwise unit: no two products have an operand in common."""
    independent = packing is Packing.INDEPENDENT
    return MultiplierArray.of(products, 1, bits, logic, packing if independent else Packing.NONE)


def depthwise_logic(array: MultiplierArray, roms: Mapping[RomSizes, int], pe: int) -> Logic:
    """Return the logic of a ``Depthwise``, without its accumulators."""
    return Logic(register=7, test=21 + pe) + array_logic(roms, array, 8 * pe)


class Pool(Cell):
    """Sum or maximum of every channel over ``taps`` beats.

    Takes the window generator's ``channelwise`` order. For a sum, padding must be 0, for a maximum
    -128.

    Members:
        i: In, ``pe`` times int8: one tap of ``pe`` channels.
        o: Out, ``lanes`` times int ``out_bits``: 8 for a maximum, the width of the sum for a sum.

    Initiation interval 1. No multipliers, no memory.
    """

    def __init__(self, kind: Literal["sum", "max"], *, taps: int, pe: int) -> None:
        bits = 8 if kind == "max" else signed_bits(-128 * taps, 127 * taps)
        self.taps = taps
        self.pe = pe
        self.accumulator = Accumulator(
            kind, pe=pe, group=taps, term_bits=8, ranges=Ranges(bits, 0, bits), delay=1
        )
        self.lanes = self.accumulator.lanes
        self.out_bits = bits
        self.latency = 1 + self.accumulator.latency
        self.drain = self.accumulator.drain
        super().__init__({"i": In(stream_of(pe)), "o": Out(stream_of(self.lanes, bits))})

    @cached_property
    def logic(self) -> Logic:
        """A register before the accumulators."""
        return Logic(register=8 * self.pe + 1, test=6) + self.accumulator.logic

    def elaborate(self, platform: object) -> Module:
        """Feed the input values to the accumulators directly."""
        m = Module()
        m.submodules.accumulator = accumulator = self.accumulator
        m.d.comb += [
            self.i.ready.eq(accumulator.open),
            accumulator.offered.eq(self.i.valid),
            accumulator.valid.eq(follow(m, self.i.valid & self.i.ready, "valid", reset=True)),
            Cat(*(accumulator.terms[i] for i in range(self.pe))).eq(
                follow(m, raw(self.i), "codes")
            ),
        ]
        connect(m, accumulator.o, flipped(self.o))
        return m


class GlobalPool(Cell):
    """Sum or maximum of every channel over a whole frame, without a line buffer.

    Members:
        i: In, ``lanes`` times int8: a frame of ``pixels`` pixels.
        o: Out, ``lanes`` times int ``out_bits``: one pixel.

    Latency 2, initiation interval 1. No multipliers; one running value for each channel.

    Args:
        kind: ``sum`` or ``max``.
        pixels: Pixels of a frame.
        channels: Channels of a pixel.
        lanes: Channels of a beat; divides ``channels``.
    """

    latency = 2

    def __init__(
        self, kind: Literal["sum", "max"], *, pixels: int, channels: int, lanes: int
    ) -> None:
        require_divisor(lanes, channels)
        self.kind = kind
        self.pixels = pixels
        self.lanes = lanes
        self.blocks = channels // lanes
        self.out_bits = 8 if kind == "max" else signed_bits(-128 * pixels, 127 * pixels)
        self.memory_bits = channels * self.out_bits
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes, self.out_bits))})

    @cached_property
    def logic(self) -> Logic:
        """Running values, in registers or a memory, and the counters of blocks and pixels."""
        bits = self.lanes * self.out_bits
        parts = [Logic(register=8 * self.lanes + 2 * bits + 4, test=20)]
        if self.kind == "max":
            parts.append(Logic(compare=bits, mux=2 * bits))
        else:
            parts.append(Logic(add=bits, mux=bits))
        if self.blocks > 1:
            ram = Ram(bits, self.blocks, read_only=False, synchronous=False, registered=True)
            index_bits = (self.blocks - 1).bit_length()
            parts += [counter(self.blocks), Logic(register=index_bits, memories=(ram,))]
        return total([*parts, counter(self.pixels)])

    def elaborate(self, platform: object) -> Module:
        """Read the running values of a block; a cycle later update or output them."""
        m = Module()
        read_valid = Signal()
        enable = Signal()
        accepted = Signal(name="taken")
        ends = Signal()
        m.d.comb += [
            enable.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(enable),
            accepted.eq(enable & self.i.valid),
        ]
        block, block_last = _count(m, accepted, self.blocks, "block")
        pixel, pixel_last = _count(m, accepted & block_last, self.pixels, "pixel")
        with m.If(enable):
            m.d.sync += [
                read_valid.eq(self.i.valid),
                ends.eq(pixel_last),
                self.o.valid.eq(read_valid & ends),
            ]
        begins = register(m, enable, pixel == 0, "begins")
        codes = register(m, enable, raw(self.i), "codes")
        updated = Signal(Lanes(self.lanes, self.out_bits))
        old = self._running(m, block, enable, enable & read_valid, updated)
        for lane in range(self.lanes):
            code = codes[8 * lane : 8 * lane + 8].as_signed()
            new = Mux(code > old[lane], code, old[lane]) if self.kind == "max" else code + old[lane]
            m.d.comb += updated[lane].eq(Mux(begins, code, new))
        with m.If(enable):
            m.d.sync += raw(self.o).eq(Value.cast(updated))
        return m

    def _running(
        self, m: Module, block: Value, enable: Value, write: Value, updated: Value
    ) -> Value:
        """Return the running values of the previous cycle's block; write the updated ones."""
        shape = Lanes(self.lanes, self.out_bits)
        old = Signal(shape, name="old")
        if self.blocks == 1:
            # A value is read in the cycle after its write: too soon for a memory and a register.
            with m.If(write):
                m.d.sync += old.eq(updated)
            return old
        running = Memory(shape=shape, depth=self.blocks, init=[])
        m.submodules.running = running
        into = running.write_port()
        out_of = running.read_port(domain="comb")
        with m.If(enable):
            m.d.sync += [old.eq(out_of.data), into.addr.eq(block)]
        m.d.comb += [out_of.addr.eq(block), into.en.eq(write), into.data.eq(updated)]
        return old


def _count(m: Module, step: Value, rounds: int, name: str) -> tuple[Value, Value]:
    """Return a counter that advances with ``step`` and wraps, and whether it is at its end."""
    if rounds == 1:
        return Const(0), Const(1)
    counter = Signal(range(rounds), name=name)
    last = counter == rounds - 1
    with m.If(step):
        m.d.sync += counter.eq(Mux(last, 0, counter + 1))
    return counter, last
