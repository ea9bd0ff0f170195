"""Liveness of signals: those that nobody reads are not printed; those that anybody reads are."""

from amaranth import Module, Signal
from amaranth.hdl import Assert
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of


class Part(Component):
    """Registers and wires of which only some matter."""

    i: In(4)
    o: Out(4)
    unread: Out(4)

    def elaborate(self, platform):
        del platform
        m = Module()
        kept, earlier, dropped, only_for_dropped, counter = (
            Signal(4, name=name)
            for name in ("kept", "earlier", "dropped", "only_for_dropped", "counter")
        )
        checked = Signal(4, name="checked")
        m.d.sync += [earlier.eq(self.i), kept.eq(earlier), counter.eq(counter + 1)]
        with m.If(kept == 3):
            m.d.comb += only_for_dropped.eq(self.i)
            m.d.sync += dropped.eq(only_for_dropped)
        m.d.comb += [self.o.eq(kept ^ 1), checked.eq(self.i & 5)]
        m.d.comb += Assert(checked != 2)
        return m


class Silent(Component):
    """A register that nobody reads, and nothing else."""

    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        del platform
        m = Module()
        m.d.sync += Signal(name="dropped").eq(self.i)
        m.d.comb += self.o.eq(~self.i)
        return m


class Stored(Component):
    """A memory whose ports are connected to signals that are seen nowhere else."""

    i: In(4)
    o: Out(4)

    def elaborate(self, platform):
        del platform
        m = Module()
        m.submodules.words = words = Memory(shape=4, depth=4, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [write.en.eq(1), write.data.eq(self.i), self.o.eq(read.data)]
        return m


def printed(component):
    return sources_of(component, Interface("net", (), ())).core


def test_signals_without_effect_are_left_out():
    text = printed(Part())
    for name in ("dropped", "only_for_dropped", "counter"):
        assert name not in text
    for name in ("earlier <= in;", "kept <= earlier;", "checked = in & 4'd5;", "unread"):
        assert name in text


def test_a_clock_without_registers_has_no_block():
    text = printed(Silent())
    assert "always_ff" not in text
    assert "assign out = ~in;" in text


def test_signals_of_memories_are_kept():
    text = printed(Stored())
    for name in ("words[words_write_address] <= in;", "out = words[words_read_address];"):
        assert name in text, text
