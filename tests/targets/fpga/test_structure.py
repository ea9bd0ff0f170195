"""Counts of logic, on components that are small enough to count by hand."""

from itertools import pairwise

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.cells.fifo import SkidBuffer
from rlx_fpga.cells.table import Table
from rlx_fpga.memories import Ram
from rlx_fpga.structure import structure_of


class Sample(Component):
    """A sum, a count, a choice, a chain of registers and a read-only memory."""

    a: In(8)
    b: In(8)
    o: Out(10)
    late: Out(1)
    word: Out(8)

    def elaborate(self, platform):
        m = Module()
        total, count, unused = Signal(9), Signal(4), Signal(16)
        chain = [Signal(name=f"chain{n}", reset_less=True) for n in range(4)]
        m.d.sync += [total.eq(self.a + self.b), count.eq(count + 1), unused.eq(self.a * self.b)]
        m.d.sync += [after.eq(before) for before, after in pairwise([self.a[0], *chain])]
        m.d.comb += [self.o.eq(Mux(self.a[0], total, self.b)), self.late.eq(chain[-1])]
        m.submodules.table = table = Memory(shape=unsigned(8), depth=4, init=[1, 3, 5, 7])
        port = table.read_port()
        m.d.comb += [port.addr.eq(count), self.word.eq(port.data)]
        return m


def test_every_kind_is_counted_in_bits():
    found = structure_of(Sample())
    bits = found[""].bits
    assert (bits["add"], bits["count"], bits["multiply"]) == (9, 2, 0)
    # The sum, the two bits of the counter that the memory reads, and the chain.
    assert (bits["register"], bits["chained"]) == (9 + 2 + 4, 4)
    # The ninth bit of the sum is chosen against a constant.
    assert (bits["choose"], bits["gate"]) == (8, 1)
    # The lowest bit of the memory is always 1, the highest five are 0.
    assert [ram for part in found.values() for ram in part.rams] == [
        Ram(2, 4, read_only=True, synchronous=True, distinct=2)
    ]


def test_registers_that_hold_take_no_logic_for_it():
    bits = structure_of(SkidBuffer(3, 8))[""].bits
    assert bits["register"] == 2 * 24 + 2
    # What goes into the front: the back or the input.
    assert bits["choose"] >= 24
    assert bits["add"] == bits["shift"] == 0


def test_words_below_zero_have_as_many_bits_as_others():
    table = Table(1, [-3, 5] * 128)
    (ram,) = [ram for part in structure_of(table).values() for ram in part.rams]
    # -3 is 11111101, 5 is 00000101: five bits differ.
    assert (ram.width, ram.depth) == (5, 256)
