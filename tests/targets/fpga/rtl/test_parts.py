"""Signals of which only some bits are assigned: the others keep their initial value.

As in ``test_equality``, Yosys proves that what is printed is Amaranth's own netlist. A bit that is
left undriven is any value to Yosys, so that the proof fails.
"""

import re
import subprocess

import pytest
from amaranth import Cat, Instance, Module, Signal
from amaranth.hdl import signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from targets.fpga.harness import verilator
from targets.fpga.rtl.test_equality import INPUTS, Values, prove_equal

from rlx.support.errors import SimulationError
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of
from rlx_fpga.rtl import modules, processes
from support.messages import raises

pytestmark = pytest.mark.synth

WIDTHS = (1, 2, 3, 5, 8, 9)


def result_ports():
    """Return the ports of a design: inputs, and outputs of ``WIDTHS``."""
    outputs = {f"o{k}": Out(unsigned(width)) for k, width in enumerate(WIDTHS)}
    return {**{name: In(shape) for name, shape in INPUTS.items()}, **outputs}


class Parts(Component):
    """Random slices of signals with random initial values are assigned, by a derived class.

    The signals go to the outputs, so that each bit that is not assigned can be seen.
    """

    def __init__(self, seed):
        self.seed = seed
        super().__init__(result_ports())

    def elaborate(self, platform):
        m = Module()
        # Every design has a clock.
        ticks = Signal(2)
        m.d.sync += ticks.eq(ticks + 1)
        values = Values(self.seed, [getattr(self, name) for name in INPUTS])
        self.assign(m, values, values.random)
        return m

    def targets(self, m, pick, **options):
        """Return signals of ``WIDTHS``, signed or not, that are connected to the outputs."""
        found = []
        for k, width in enumerate(WIDTHS):
            shape = pick.choice([unsigned, signed])(width)
            low = -(1 << width - 1) if shape.signed else 0
            init = pick.randint(low, low + (1 << width) - 1)
            found.append(Signal(shape, name=f"part_{k}", init=init, **options))
            m.d.comb += getattr(self, f"o{k}").eq(found[-1])
        return found

    def assign(self, m, values, pick):
        raise NotImplementedError


def assign_some(domain, values, targets):
    """Assign a slice of some targets, and slices of two of them together."""
    pick = values.random
    for target in pick.sample(targets, 4):
        domain += values.slice(target).eq(values.value(2))
    first, second = pick.sample(targets, 2)
    domain += Cat(values.slice(first), values.slice(second)).eq(values.value(2))


class Combinational(Parts):
    """Slices in the combinational domain, without a condition and under some."""

    def assign(self, m, values, pick):
        targets = self.targets(m, pick)
        assign_some(m.d.comb, values, targets)
        with m.If(values.value(2).bool()):
            assign_some(m.d.comb, values, targets)
        with m.Switch(values.value(1)[:1]), m.Case(1):
            assign_some(m.d.comb, values, targets)


class OneSlice(Parts):
    """One slice of each signal, without any condition: what could be an ``assign`` alone."""

    def assign(self, m, values, pick):
        for target in self.targets(m, pick):
            m.d.comb += values.slice(target).eq(values.value(2))


class Clocked(Parts):
    """Slices of registers, reset or not."""

    def assign(self, m, values, pick):
        targets = self.targets(m, pick, reset_less=self.seed % 2 == 0)
        assign_some(m.d.sync, values, targets)
        with m.If(values.value(2).bool()):
            assign_some(m.d.sync, values, targets)


class Inner(Component):
    """A cell that assigns some bits of its outputs, one of them clocked."""

    def __init__(self, seed):
        self.seed = seed
        super().__init__({
            "x": In(unsigned(5), init=21), "y": In(signed(4), init=-3),
            "p": Out(unsigned(6), init=42), "q": Out(signed(5), init=-7), "r": Out(3, init=5),
        })  # fmt: skip

    def elaborate(self, platform):
        m = Module()
        values = Values(self.seed, [self.x, self.y])
        m.d.comb += values.slice(self.p).eq(values.value(2))
        m.d.sync += values.slice(self.q).eq(values.value(2))
        # Nothing assigns r.
        return m


class Ports(Parts):
    """Cells of whose inputs some bits are assigned, and which assign some bits of their outputs."""

    def assign(self, m, values, pick):
        targets = self.targets(m, pick)
        for k in range(2):
            m.submodules[f"cell{k}"] = cell = Inner(self.seed + k)
            m.d.comb += values.slice(cell.x).eq(values.value(2))
            if k:
                m.d.sync += values.slice(cell.y).eq(values.value(2))
            values.leaves = [*values.leaves, cell.p, cell.q, cell.r]
        for target in targets:
            m.d.comb += values.slice(target).eq(values.value(2))
        # An output of a cell goes straight to one of the design, whole and as a slice.
        m.d.comb += targets[4][1:7].eq(cell.p)
        m.d.comb += targets[3].eq(cell.q)


class ForeignOutput(Parts):
    """A foreign module that drives one bit of a signal."""

    def assign(self, m, values, pick):
        target = self.targets(m, pick)[4]
        m.submodules.foreign = Instance(
            "inverter", ("i", "a", values.value(1)[:1]), ("o", "y", target[3])
        )


class MemoryOutput(Parts):
    """A memory whose word is some bits of a signal."""

    def assign(self, m, values, pick):
        m.submodules.words = memory = Memory(shape=4, depth=4, init=[3, 1, 4, 1])
        port = memory.read_port(domain="comb")
        port.data = self.targets(m, pick)[5][2:6]
        m.d.comb += port.addr.eq(values.value(1))


class States(Component):
    """Two state machines; two of their states have one name, and one begins in its second."""

    def __init__(self):
        super().__init__({"go": In(1), "busy": Out(1), "both": Out(1)})

    def elaborate(self, platform):
        m = Module()
        with m.FSM(init="RUN"):
            with m.State("IDLE"), m.If(self.go):
                m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.busy.eq(1)
                m.next = "WAIT"
            with m.State("WAIT"), m.If(~self.go):
                m.next = "IDLE"
        with m.FSM(name="other"):
            with m.State("IDLE"), m.If(self.busy):
                m.next = "LAST"
            with m.State("LAST"):
                m.d.comb += self.both.eq(self.busy)
                m.next = "IDLE"
        return m


def test_states_have_names(tmp_path):
    text = sources_of(States(), Interface("net", (), ())).core
    for name, width, number in (("IDLE", 2, 0), ("RUN", 2, 1), ("WAIT", 2, 2), ("LAST", 1, 1)):
        assert f"localparam logic [{width - 1}:0] {name} = {width}'d{number};" in text
    assert "localparam logic [0:0] IDLE_2 = 1'd0;" in text
    assert not re.search(r"state (==|<=) \d", text)
    prove_equal(States, tmp_path)


KINDS = [Combinational, OneSlice, Clocked, Ports]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(6))
def test_other_bits_keep_their_initial_value(kind, seed, tmp_path):
    prove_equal(lambda: kind(seed), tmp_path)


@pytest.mark.parametrize("kind", [ForeignOutput, MemoryOutput], ids=lambda kind: kind.__name__)
def test_outputs_that_drive_some_bits_are_refused(kind):
    """The other bits would have no driver. No cell has such a signal: all connect whole ones."""
    with raises(TypeError):
        sources_of(kind(0), Interface("net", (), ()))


@pytest.mark.sim
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_bit_has_a_driver(kind, tmp_path):
    """Verilator, too, finds no bit without one."""
    sources = sources_of(kind(0), Interface("net", (), ()))
    path = tmp_path / "net_core.sv"
    path.write_text("".join((*sources.modules.values(), sources.core)))
    command, environment = verilator()
    options = ("--lint-only", "-Wno-fatal", "-Wwarn-UNDRIVEN", "--top-module", "net_core")
    done = subprocess.run(
        [*command, *options, str(path)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "UNDRIVEN" not in done.stderr


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_another_initial_value_is_found(kind, tmp_path, monkeypatch):
    """The proof can fail: zeros in place of the initial values."""
    monkeypatch.setattr(processes.Processes, "_initial", lambda _self, signal: f"{len(signal)}'d0")
    monkeypatch.setattr(modules._Printer, "_start", lambda _self, signal: f" = {len(signal)}'d0")
    with pytest.raises(SimulationError, match=r"failed with status 1"):
        prove_equal(lambda: kind(0), tmp_path)
