"""The time-multiplexed engine: sequencer, array, requantizer, memories, and stream ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from amaranth import Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from rlx.ops.numerics.exponential import softmax_table
from rlx.ops.q import QSoftmax
from rlx_fpga.architectures.engine.array import MultiplierArray
from rlx_fpga.architectures.engine.loader import Loader
from rlx_fpga.architectures.engine.program import Feed
from rlx_fpga.architectures.engine.scale import LATENCY as SCALE_LATENCY
from rlx_fpga.architectures.engine.scale import AnyRounding, Requantizer
from rlx_fpga.architectures.engine.sequencer import Sequencer
from rlx_fpga.architectures.interface import port_names
from rlx_fpga.cells.argmax import Argmax
from rlx_fpga.cells.fifo import SkidBuffer
from rlx_fpga.cells.one_port import ByteRam, large_blocks
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.rom import varying_bits
from rlx_fpga.cells.sizes import depth_of
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.cells.streams import raw, stream_of
from rlx_fpga.cost.costs import resources_of
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from amaranth.hdl import Value as Wire

    from rlx.ir import Node
    from rlx_fpga.architectures.engine.program import EngineProgram
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.cost.costs import Resources


class Engine(Component):
    """One array for all layers: inputs are stored, the program runs, outputs are sent.

    Members:
        i (or i0, i1, ...): In: the graph's inputs, int8, one element a beat.
        o (or o0, o1, ...): Out: its outputs, likewise; int32 for an index.

        w: In: weights and scaling constants, if they are streamed; a byte for each lane.

    Several inputs are read one after the other, and so are outputs.

    Args:
        code: The program.
        large: Use SPRAM for memories that need only one port: of streamed weights, and of
            activations if ``code.one_port``.

    Attributes:
        code: The program.
        large: SPRAM is used.
    """

    _MustUse__silence = True

    def __init__(self, code: EngineProgram, *, large: bool = False) -> None:
        self.code, self.large = code, large
        graph = code.graph
        self.input_names = port_names("i", len(graph.inputs))
        self.output_names = port_names("o", len(graph.outputs))
        self.finishes = [None if n is None else _cell(n) for n in code.finishes]
        self.sequencer = Sequencer(code)
        self.array = MultiplierArray(code, self.sequencer, large=large)
        self.loader = None if code.feed is Feed.BUILT_IN else Loader(code)
        self.scale = AnyRounding() if code.rounds_once else Requantizer()
        outputs = zip(self.output_names, graph.outputs, strict=True)
        super().__init__({
            **{name: In(stream_of(1)) for name in self.input_names},
            **{name: Out(stream_of(1, value.type.dtype.bits)) for name, value in outputs},
            **({} if self.loader is None else {"w": In(stream_of(code.lanes))}),
        })  # fmt: skip

    @property
    def parts(self) -> dict[str, int]:
        """Multipliers of each part, by the name of its module."""
        finishes = zip(self.output_names, self.finishes, strict=True)
        return {
            "array": self.array.multipliers,
            "scale": self.scale.multipliers,
            **{f"{name}_finish": cell.multipliers for name, cell in finishes if cell is not None},
        }

    @property
    def multipliers(self) -> int:
        """DSP slices."""
        return sum(self.parts.values())

    @property
    def large_memories(self) -> int:
        """Number of SPRAMs."""
        if not self.large:
            return 0
        code = self.code
        weights = 0 if self.loader is None else large_blocks(8 * code.lanes, code.weight_depth)
        activations = large_blocks(16, -(-code.memory // 2)) if code.one_port else 0
        return weights + activations

    @cached_property
    def logic(self) -> Logic:
        """Everything but the array's sums: shift register of results, ports, memories, parts."""
        own = Logic(32 * self.code.lanes + 100, 80, 0, 175, 32 * self.code.lanes + 60)
        cells = [cell for cell in self.finishes if cell is not None]
        cells += [SkidBuffer(1) for _ in self.output_names]
        parts = [own, self.sequencer.logic, self.array.logic, self.scale.logic]
        parts += [] if self.loader is None else [self.loader.logic]
        return total([*parts, *(cell.logic for cell in cells), self._memory_logic()])

    def _memory_logic(self) -> Logic:
        """Return the memories of activations and of scaling constants."""
        code = self.code
        fields, depth = code.constants, depth_of(code.scale_depth)
        built_in = self.loader is None
        varying = varying_bits(fields.words, fields.width) if built_in else fields.width
        scales = Ram(varying, depth, read_only=built_in, synchronous=True, distinct=varying)
        if code.one_port:
            return Logic(memories=(scales,)) + ByteRam(code.memory, large=self.large).logic
        activations = Ram(8, depth_of(code.memory), read_only=False, synchronous=True)
        return Logic(memories=(scales, activations))

    def cost(self, family: str) -> Resources:
        """Return the predicted cells of the device family ``family``."""
        return resources_of(self.logic + self.array.sums(family), family, self.multipliers)

    def elaborate(self, platform: object) -> Module:
        """Connect all parts; one state for each stream, one for the program."""
        m = Module()
        m.submodules.sequencer, m.submodules.array = self.sequencer, self.array
        m.submodules.scale = self.scale
        bits = self.sequencer.address_bits
        self.position = Signal(bits, init=self.code.inputs[0])
        loading = Signal()
        storing = Signal()
        read = Signal(bits, name="read_address")
        m.d.comb += read.eq(Mux(storing, self.position, self.sequencer.address))
        self._connect(m)
        result, address, code = self._results(m)
        write = Signal(bits, name="write_address")
        m.d.comb += [
            write.eq(Mux(loading, self.position, address)),
            self.sequencer.hold.eq(result if self.code.one_port else 0),
        ]
        self._memory(m, read, result | loading, write, code)
        m.d.comb += self.array.code.eq(self.stored)
        self._control(m, loading, storing)
        return m

    def _memory(self, m: Module, read: Wire, writes: Wire, write: Wire, code: Wire) -> None:
        """Build the activation memory: a read and a write in a cycle, or one of both."""
        self.stored = Signal(signed(8))
        if self.code.one_port:
            m.submodules.memory = paired = ByteRam(self.code.memory, large=self.large)
            m.d.comb += [
                paired.address.eq(Mux(writes, write, read)), paired.write.eq(writes),
                paired.code.eq(code), self.stored.eq(paired.data),
            ]  # fmt: skip
            return
        m.submodules.memory = memory = Memory(
            shape=signed(8), depth=depth_of(self.code.memory), init=[]
        )
        writer = memory.write_port()
        reader = memory.read_port()
        m.d.comb += [
            writer.en.eq(writes), writer.addr.eq(write), writer.data.eq(code),
            reader.addr.eq(read), reader.en.eq(1), self.stored.eq(reader.data),
        ]  # fmt: skip

    def _connect(self, m: Module) -> None:
        """Connect sequencer and array."""
        array, sequencer = self.array, self.sequencer
        for name in ("step", "in_image", "first", "last", "second", "word", "part"):
            m.d.comb += getattr(array, name).eq(getattr(sequencer, name))
        for name in ("mode", "padding", "tables"):
            m.d.comb += getattr(array, name).eq(self._get(name))

    def _get(self, name: str) -> Wire:
        return self.sequencer.fields.get(self.sequencer.instruction, name)

    def _results(self, m: Module) -> tuple[Wire, Wire, Wire]:
        """Shift results out of the array; return write enable, address and int8 value."""
        lanes, total_bits = self.code.lanes, 32 * self.code.lanes
        totals = Signal(total_bits, reset_less=True, name="held")
        left = Signal(range(lanes + 1))
        block = Signal(self.sequencer.fields.size("last_block"))
        last_block = block == self._get("last_block")
        with m.If(self.array.done):
            m.d.sync += [
                totals.eq(self.array.totals),
                left.eq(Mux(last_block, self._get("last_lanes"), self._get("lanes"))),
                block.eq(Mux(last_block, 0, block + 1)),
            ]
        with m.Elif(left != 0):
            m.d.sync += [totals.eq(totals[32:]), left.eq(left - 1)]
        pixel_ends = Signal()
        with m.If(self.array.done):
            m.d.sync += pixel_ends.eq(last_block)
        giving = left != 0
        ends = giving & (left == 1) & pixel_ends
        constant = self._constants(m, giving, ends)
        total = Signal(signed(32), reset_less=True)
        m.d.sync += total.eq(totals[:32])
        m.d.comb += [self.scale.total.eq(total)]
        m.d.comb += [getattr(self.scale, n).eq(constant[n])
                     for n in ("bias", "multiplier", "left", "right")]  # fmt: skip
        m.d.comb += [getattr(self.scale, n).eq(self._get(n)) for n in self.scale.fixed]
        valid: Wire = giving
        for cycle in range(1 + SCALE_LATENCY):
            later = Signal(name=f"result_{cycle + 1}")
            m.d.sync += later.eq(valid)
            valid = later
        address = Signal(self.sequencer.address_bits, name="result_address")
        step = self._step(m, ends)
        with m.If(self.sequencer.begins):
            m.d.sync += address.eq(self._get("target"))
        with m.Elif(valid):
            m.d.sync += address.eq(address + step)
        code = Signal(signed(8), name="written")
        m.d.comb += code.eq(self.scale.code)
        return valid, address, self._loaded(m, code)

    def _step(self, m: Module, ends: Wire) -> Wire:
        """Return the distance to the next result: more than 1 only at the end of a pixel."""
        if not self.code.skips:
            return Const(1)
        late = follow(m, ends, "pixel_ended", 1 + SCALE_LATENCY, reset=True)
        return Mux(late, self._get("result_step"), 1)

    def _constants(self, m: Module, step: Wire, again: Wire) -> dict[str, Wire]:
        """Return the constants of the result that left the array a cycle ago."""
        fields, depth = self.code.constants, self.code.scale_depth
        built_in = fields.words if self.loader is None else []
        m.submodules.scales = memory = Memory(
            shape=unsigned(fields.width), depth=depth_of(depth), init=built_in
        )
        if self.loader is not None:
            writer = memory.write_port()
            loader = self.loader
            m.d.comb += [
                writer.en.eq(loader.scale_write), writer.addr.eq(loader.scale_place),
                writer.data.eq(loader.scale_code),
            ]  # fmt: skip
        port = memory.read_port()
        address = Signal(range(depth + 1), name="place")
        with m.If(self.sequencer.begins | again):
            m.d.sync += address.eq(self._get("constants"))
        with m.Elif(step & ~self._get("uniform")):
            m.d.sync += address.eq(address + 1)
        m.d.comb += [port.addr.eq(address), port.en.eq(1)]
        return {name: fields.get(port.data, name)
                for name in ("bias", "multiplier", "left", "right")}  # fmt: skip

    def _loaded(self, m: Module, code: Wire) -> Wire:
        """Return the value to write: a result, or an element of the input."""
        self.incoming = Signal(signed(8))
        self.is_incoming = Signal()
        chosen = Signal(signed(8), name="chosen")
        m.d.comb += chosen.eq(Mux(self.is_incoming, self.incoming, code))
        return chosen

    def _control(self, m: Module, loading: Signal, storing: Signal) -> None:
        """Store inputs, run, send outputs."""
        inputs = [v.type.size for v in self.code.graph.inputs]
        outputs = [v.type.size for v in self.code.stored]
        count = Signal(range(max(*inputs, *outputs) + 1))
        first = self.code.inputs[0]
        senders = [self._sender(m, index, name) for index, name in enumerate(self.output_names)]
        booted = None if self.loader is None else self._feed(m, self.loader)
        with m.FSM(init="LOAD0" if booted is None else "BOOT"):
            if booted is not None:
                with m.State("BOOT"), m.If(booted):
                    m.next = "LOAD0"
            for index, name in enumerate(self.input_names):
                with m.State(f"LOAD{index}"):
                    last = index + 1 == len(inputs)
                    after = (
                        ("RUN", 0) if last else (f"LOAD{index + 1}", self.code.inputs[index + 1])
                    )
                    self._load(m, getattr(self, name), count, inputs[index], after, loading)
            with m.State("RUN"):
                # The position of the first input is set when the last output has been sent.
                m.d.comb += self.sequencer.start.eq(count == 0)
                m.d.sync += count.eq(1)
                with m.If(self.sequencer.done):
                    m.d.sync += [count.eq(0), self.position.eq(self.code.outputs[0])]
                    m.next = "STORE0"
            for index in range(len(outputs)):
                with m.State(f"STORE{index}"):
                    after = ("LOAD0", first)
                    if index + 1 < len(outputs):
                        after = (f"STORE{index + 1}", self.code.outputs[index + 1])
                    self._store(m, senders[index], count, outputs[index], after, storing)

    def _feed(self, m: Module, loader: Loader) -> Wire | None:
        """Connect the loader; return its ``loaded`` if the engine waits for it after a reset."""
        m.submodules.loader, array = loader, self.array
        connect(m, flipped(self.w), loader.i)
        m.d.comb += [
            array.fill.eq(loader.write), array.fill_word.eq(loader.word),
            array.fill_code.eq(loader.code),
        ]  # fmt: skip
        if self.code.feed is Feed.STREAM:
            m.d.comb += [
                loader.start.eq(self.sequencer.begins), self.sequencer.filled.eq(loader.done),
                loader.last_scale.eq(self._get("last_scale")), loader.words.eq(self._get("words")),
            ]  # fmt: skip
            return None
        started = Signal()
        m.d.sync += started.eq(1)
        m.d.comb += [
            loader.start.eq(~started), loader.last_scale.eq(self.code.scale_depth - 1),
            loader.words.eq(self.code.weight_depth),
        ]  # fmt: skip
        loaded: Wire = loader.done
        return loaded

    def _load(
        self, m: Module, port: Any, count: Signal, size: int, after: tuple[str, int],  # noqa: ANN401
        loading: Signal,
    ) -> None:  # fmt: skip
        """Write one element of an input in each cycle."""
        m.d.comb += [
            port.ready.eq(1), loading.eq(port.valid), self.is_incoming.eq(1),
            self.incoming.eq(raw(port).as_signed()),
        ]  # fmt: skip
        with m.If(port.valid):
            m.d.sync += [count.eq(count + 1), self.position.eq(self.position + 1)]
            with m.If(count == size - 1):
                m.d.sync += [count.eq(0), self.position.eq(after[1])]
                m.next = after[0]

    def _store(
        self, m: Module, sender: tuple[Wire, Signal], count: Signal, size: int,
        after: tuple[str, int], storing: Signal,
    ) -> None:  # fmt: skip
        """Send one element in each cycle in which the buffer has space."""
        free, read = sender
        m.d.comb += storing.eq(1)
        with m.If(free & (count != size)):
            m.d.comb += read.eq(1)
            m.d.sync += [count.eq(count + 1), self.position.eq(self.position + 1)]
        with m.If(count == size):
            m.d.sync += [count.eq(0), self.position.eq(after[1])]
            m.next = after[0]

    def _sender(self, m: Module, index: int, name: str) -> tuple[Wire, Signal]:
        """Return whether another element may be read, and the flag that it is."""
        port, cell = getattr(self, name), self.finishes[index]
        # Two entries after the memory: a value that was read can always be stored.
        buffer = SkidBuffer(1)
        m.submodules[f"{name}_buffer"] = buffer
        read, arrived = Signal(name=f"{name}_read"), Signal(name=f"{name}_arrived")
        buffered = Signal(range(3), name=f"{name}_held")
        m.d.sync += arrived.eq(read)
        m.d.comb += [buffer.i.valid.eq(arrived), raw(buffer.i).eq(self.stored)]
        sent = buffer.o.valid & buffer.o.ready
        m.d.sync += buffered.eq(buffered + read - sent)
        if cell is None:
            connect(m, buffer.o, flipped(port))
        else:
            m.submodules[f"{name}_finish"] = cell
            connect(m, buffer.o, cell.i)
            connect(m, cell.o, flipped(port))
        return (buffered != 2) | sent, read


def _cell(node: Node) -> Cell:
    """Return the cell that computes an output on its way out."""
    count = node.operands[0].type.static_shape[-1]
    if isinstance(node.op, QSoftmax):
        table = softmax_table(node.op.multiplier, node.op.left_shift, node.op.diff_min)
        return Softmax(count, table.tolist())
    return Argmax(count)
