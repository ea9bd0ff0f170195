"""Printed SystemVerilog is Amaranth's own netlist, proved by Yosys for random designs.

Yosys is given both and proves that their outputs are the same, for every sequence of inputs of
``STEPS`` cycles from the start.
"""

from __future__ import annotations

import random

import pytest
from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.back import rtlil
from amaranth.hdl import Value, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx.support.errors import SimulationError
from rlx.support.process import run
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import ports_of, sources_of
from rlx_fpga.packaging.synthesis import find_yosys

pytestmark = pytest.mark.synth

STEPS = 3
INPUTS = {
    "a": unsigned(1), "b": signed(1), "c": unsigned(3), "d": signed(3), "e": unsigned(5),
    "f": signed(4),
}  # fmt: skip
OUTPUTS = 8
MAX_BITS = 9


def prove_equal(design, folder):
    """Prove that the printed design is Amaranth's netlist of it."""
    sources = sources_of(design(), Interface("net", (), ()))
    (folder / "gate.sv").write_text("".join((*sources.modules.values(), sources.core)))
    component = design()
    gold = rtlil.convert(component, name="gold", ports=ports_of(component))
    (folder / "gold.il").write_text(gold)
    script = (
        "read_rtlil gold.il; read_verilog -sv gate.sv; rename net_core gate;"
        " proc; memory -nomap; memory_map; opt_clean;"
        " miter -equiv -flatten -make_outputs -ignore_gold_x gold gate both;"
        " hierarchy -top both; async2sync; opt -full;"
        f" sat -verify -seq {STEPS} -prove trigger 0 both"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=120)


class Values:
    """Makes random values of some signals."""

    def __init__(self, seed, leaves):
        self.random = random.Random(seed)
        self.leaves = leaves

    def value(self, depth):
        """Return a value of at most ``MAX_BITS`` bits: ``depth`` operators on top of each other."""
        pick = self.random
        if depth == 0 or pick.random() < 0.1:
            return self.leaf()
        while True:
            value = self.operator(depth)
            # Printing evaluates values without signals, where they are not chosen by others.
            if 0 < len(value) <= MAX_BITS and value._rhs_signals():
                return value

    def leaf(self):
        pick = self.random
        if pick.random() < 0.25:
            shape = pick.choice([unsigned, signed])(pick.randint(1, 6))
            low = -(1 << shape.width - 1) if shape.signed else 0
            return Const(pick.randint(low, low + (1 << shape.width) - 1), shape)
        return pick.choice(self.leaves)

    def operator(self, depth):
        pick = self.random
        x, y, z = (self.value(depth - 1) for _ in range(3))
        kind = pick.choice([
            "+", "+", "-", "-", "*", "&", "|", "^", "~", "neg", "==", "!=", "<", "<=", ">", ">=",
            ">>", "<<", "mux", "mux", "cat", "slice", "any", "all", "xor", "bool", "abs", "signed",
            "unsigned", "bit_select", "word_select", "array", "//", "%", "same",
        ])  # fmt: skip
        binary = {
            "+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "&": lambda: x & y,
            "|": lambda: x | y, "^": lambda: x ^ y, "==": lambda: x == y, "!=": lambda: x != y,
            "<": lambda: x < y, "<=": lambda: x <= y, ">": lambda: x > y, ">=": lambda: x >= y,
            ">>": lambda: x >> y.as_unsigned()[:3], "<<": lambda: x << y.as_unsigned()[:2],
            "//": lambda: x.as_unsigned() // pick.randint(1, 9),
            "%": lambda: x.as_unsigned() % pick.randint(1, 9),
        }  # fmt: skip
        others = {
            "~": lambda: ~x, "neg": lambda: -x, "mux": lambda: Mux(z, x, y),
            "cat": lambda: Cat(x, y, z), "slice": lambda: self.slice(x), "any": x.any,
            "all": x.all, "xor": x.xor, "bool": x.bool, "abs": lambda: abs(x),
            "signed": x.as_signed, "unsigned": x.as_unsigned,
            "bit_select": lambda: x.as_unsigned().bit_select(y.as_unsigned(), 1),
            "word_select": lambda: x.as_unsigned().word_select(
                y.as_unsigned()[:2], pick.randint(1, 3)
            ),
            "array": lambda: Array([x, y, z, x + 1, y - 1])[z.as_unsigned()[:3]],
            "same": lambda: Cat(z[0], z[0], z[0], x),
        }  # fmt: skip
        return Value.cast({**binary, **others}[kind]())

    def slice(self, value):
        start = self.random.randrange(len(value))
        return value[start : self.random.randint(start + 1, len(value))]


class Design(Component):
    """Random values of the inputs; with ``registers``, of registers under random conditions too."""

    def __init__(self, seed, *, registers):
        self.seed, self.registers = seed, registers
        shapes = {f"o{k}": Out(unsigned(1 + k % 9)) for k in range(OUTPUTS)}
        super().__init__({**{name: In(shape) for name, shape in INPUTS.items()}, **shapes})

    def elaborate(self, platform):
        m = Module()
        leaves = [getattr(self, name) for name in INPUTS]
        values = Values(self.seed, leaves)
        targets = [getattr(self, f"o{k}") for k in range(OUTPUTS)]
        # An unused register, so that every design has a clock.
        ticks = Signal(2)
        m.d.sync += ticks.eq(ticks + 1)
        if not self.registers:
            m.d.comb += [target.eq(values.value(4)) for target in targets]
            return m
        held = [
            Signal(shape, name=f"held_{k}", init=k % 2, reset_less=k == 3)
            for k, shape in enumerate((unsigned(1), signed(3), unsigned(4), signed(5)))
        ]
        values.leaves = [*leaves, *held]
        self.conditions(m.d.sync, m, values, held, 3)
        self.conditions(m.d.comb, m, values, targets, 1)
        return m

    def conditions(self, domain, m, values, targets, depth):
        """Assign some targets, whole or in part, under conditions in each other."""
        pick = values.random
        for _ in range(3):
            target = pick.choice(targets)
            kind = pick.randrange(3)
            if kind == 0:
                domain += target.eq(values.value(2))
            elif kind == 1:
                domain += values.slice(target).eq(values.value(2))
            else:
                domain += Cat(pick.sample(targets, 2)).eq(values.value(2))
        if not depth:
            return
        with m.If(values.value(2).bool()):
            self.conditions(domain, m, values, targets, depth - 1)
        with m.Elif(values.value(2).bool()):
            self.conditions(domain, m, values, targets, depth - 2 if depth > 1 else 0)
        with m.Else():
            self.conditions(domain, m, values, targets, 0)
        with m.Switch(Cat(values.value(2), values.value(1))[:2]):
            for case in (0, 2, 1):
                with m.Case(case):
                    self.conditions(domain, m, values, targets, 0)


@pytest.mark.parametrize("seed", range(8))
def test_values(seed, tmp_path):
    prove_equal(lambda: Design(seed, registers=False), tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_statements(seed, tmp_path):
    prove_equal(lambda: Design(100 + seed, registers=True), tmp_path)


class Words(Component):
    """A memory with a write port of parts and a read port, transparent or not, or asynchronous."""

    def __init__(self, kind):
        self.kind = kind
        super().__init__({
            "write": In(2), "to": In(2), "code": In(4), "read": In(1), "at": In(2), "data": Out(4),
        })  # fmt: skip

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = memory = Memory(shape=4, depth=4, init=[3, 1, 4, 1])
        write = memory.write_port(granularity=4 if self.kind == "transparent" else 2)
        transparent = (write,) if self.kind == "transparent" else ()
        domain = "comb" if self.kind == "asynchronous" else "sync"
        read = memory.read_port(domain=domain, transparent_for=transparent)
        m.d.comb += [
            write.en.eq(self.write), write.addr.eq(self.to), write.data.eq(self.code),
            read.addr.eq(self.at),
        ]  # fmt: skip
        # What a port holds before its first read is undefined.
        seen = Signal()
        m.d.sync += seen.eq(seen | self.read)
        if domain == "sync":
            m.d.comb += [read.en.eq(self.read), self.data.eq(Mux(seen, read.data, 0))]
        else:
            m.d.comb += self.data.eq(read.data)
        return m


@pytest.mark.parametrize("kind", ["old word", "transparent", "asynchronous"])
def test_memories(kind, tmp_path):
    prove_equal(lambda: Words(kind), tmp_path)


def test_a_wrong_operator_is_found(tmp_path, monkeypatch):
    """The proof can fail."""
    from rlx_fpga.rtl import expressions

    right = expressions._sum
    monkeypatch.setattr(
        expressions, "_sum", lambda x, operator, y: right(x, {"-": "+"}.get(operator, operator), y)
    )
    with pytest.raises(SimulationError, match=r"failed with status 1"):
        prove_equal(lambda: Design(0, registers=False), tmp_path)
