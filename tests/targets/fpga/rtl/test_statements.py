"""Printed statements do what Amaranth's do: conditions, patterns, parts of targets."""

from __future__ import annotations

import random

import pytest
from amaranth import Cat, Module, Signal
from amaranth.hdl import Fragment, signed, unsigned
from targets.fpga.rtl.evaluation import Session, draw

from rlx_fpga.rtl.expressions import Expressions
from rlx_fpga.rtl.statements import Statements

TESTS = {"s": unsigned(3), "t": unsigned(1), "u": unsigned(4)}
TARGETS = {"x": unsigned(4), "y": signed(3), "z": unsigned(1)}


class Program:
    """Random conditions and assignments of numbers, for Amaranth and executed in Python."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.signals = {n: Signal(shape, name=n) for n, shape in {**TESTS, **TARGETS}.items()}
        self.body = [one for _ in range(3) for one in self.block(3)]

    def block(self, depth):
        found = []
        for _ in range(self.pick.choice([0, 1, 1, 2])):
            kinds = ["assign", "if", "switch", "switch"] if depth else ["assign"]
            found.append(getattr(self, f"draw_{self.pick.choice(kinds)}")(depth))
        return found

    def draw_assign(self, _depth):
        """Draw bits ``start`` to ``stop`` of each of one or two targets, and a number for all."""
        parts = []
        for name in self.pick.sample(list(TARGETS), self.pick.choice([1, 1, 2])):
            start = self.pick.randrange(TARGETS[name].width)
            parts.append((name, start, self.pick.randint(start + 1, TARGETS[name].width)))
        return "assign", parts, self.pick.getrandbits(sum(stop - start for _, start, stop in parts))

    def draw_if(self, depth):
        arms = [(self.condition(), self.block(depth - 1)) for _ in range(self.pick.randint(1, 3))]
        return "if", arms, self.block(depth - 1)

    def condition(self):
        """Draw a bit of a signal, or that it is not zero."""
        name = self.pick.choice(list(TESTS))
        return name, self.pick.choice([None, self.pick.randrange(TESTS[name].width)])

    def draw_switch(self, depth):
        name = self.pick.choice(list(TESTS))
        arms = [
            (self.patterns(TESTS[name].width), self.block(depth - 1))
            for _ in range(self.pick.randint(1, 5))
        ]
        return "switch", name, arms

    def patterns(self, width):
        """Draw patterns; rarely none, which never match, or None, which is the default."""
        count = self.pick.choice([None, 0, 1, 1, 1, 1, 2, 3])
        digits = self.pick.choice(["01", "01-", "1-"])
        if count is None:
            return None
        return ["".join(self.pick.choices(digits, k=width)) for _ in range(count)]

    def build(self, m, body):
        for kind, *rest in body:
            getattr(self, f"build_{kind}")(m, *rest)

    def build_assign(self, m, parts, number):
        target = Cat(self.signals[name][start:stop] for name, start, stop in parts)
        m.d.comb += (target if len(parts) > 1 else target.parts[0]).eq(number)

    def build_if(self, m, arms, otherwise):
        for place, ((name, bit), body) in enumerate(arms):
            value = self.signals[name]
            test = value.bool() if bit is None else value[bit]
            with m.Elif(test) if place else m.If(test):
                self.build(m, body)
        with m.Else():
            self.build(m, otherwise)

    def build_switch(self, m, name, arms):
        with m.Switch(self.signals[name]):
            for patterns, body in arms:
                with m.Default() if patterns is None else m.Case(*patterns):
                    self.build(m, body)
                if patterns is None:
                    return

    def run(self, state, body):
        """Execute ``body`` on ``state``, the bits of each signal."""
        for kind, *rest in body:
            if kind == "assign":
                parts, number = rest
                for name, start, stop in parts:
                    mask = ((1 << stop - start) - 1) << start
                    state[name] = state[name] & ~mask | (number << start) & mask
                    number >>= stop - start
            elif kind == "if":
                arms, otherwise = rest
                holds = (b for (n, k), b in arms if (state[n] if k is None else state[n] >> k & 1))
                self.run(state, next(holds, otherwise))
            else:
                name, arms = rest
                digits = f"{state[name]:0{TESTS[name].width}b}"
                self.run(state, next((b for p, b in arms if p is None or fits(digits, p)), []))


def fits(digits, patterns):
    return any(all(p in ("-", d) for p, d in zip(one, digits, strict=True)) for one in patterns)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    program = Program(seed)
    m = Module()
    program.build(m, program.body)
    session = Session(program.signals)
    expressions = Expressions(session.names.of, session.names.free)
    block = Statements(expressions, session.names.of, "=")
    statements = Fragment.get(m, None).statements.get("comb", ())
    text = "\n".join(["begin", *block.lines(statements), "end"])
    assert not expressions.wires
    for _ in range(8):
        shapes = {**TESTS, **TARGETS}
        state = {n: draw(program.pick, unsigned(shape.width)) for n, shape in shapes.items()}
        for name, bits in state.items():
            session.run(f"{name} = {shapes[name].width}'d{bits};")
        session.run(text)
        program.run(state, program.body)
        assert {name: session.bits(name)[0] for name in state} == state, text
