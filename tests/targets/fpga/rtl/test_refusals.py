"""Refusals of what cannot be printed as SystemVerilog: it never disappears."""

import pytest
from amaranth import Cat, Module, Print, Signal
from amaranth.hdl._ast import Initial
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of
from support.messages import raises


class Design(Component):
    """A design with one statement."""

    def __init__(self, add):
        self.add = add
        super().__init__({"a": In(4), "b": In(2), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        self.add(m, self)
        return m


def writes_a_chosen_bit(m, ports):
    m.d.comb += ports.o.bit_select(ports.b, 1).eq(ports.a)


def writes_a_part_of_two_signals(m, ports):
    m.d.comb += Cat(ports.o, Signal(3))[2:6].eq(ports.a)


def prints_in_every_cycle(m, ports):
    m.d.sync += [ports.o.eq(ports.a), Print(ports.a)]


def reads_the_first_cycle(m, ports):
    m.d.sync += ports.o.eq(Initial())


CASES = {
    writes_a_chosen_bit: r"^no SystemVerilog for the target Part$",
    writes_a_part_of_two_signals: r"^no SystemVerilog for a slice of Concat as a target$",
    prints_in_every_cycle: r"^no SystemVerilog for the statement Print$",
    reads_the_first_cycle: r"^no SystemVerilog for Initial$",
}


@pytest.mark.parametrize("add", CASES, ids=lambda add: add.__name__)
def test_what_has_no_form_is_refused(add):
    with raises(TypeError):
        sources_of(Design(add), Interface("net", (), ()))
