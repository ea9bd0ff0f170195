"""Printed expressions have the bits of Amaranth's exact integers, at any width asked for.

``test_equality`` proves whole modules with Yosys; here each text stands alone, so that its width
and its value as an operand of something wider are seen too.
"""

from __future__ import annotations

import random
import re

import pytest
from amaranth import Array, Cat, Const, Mux, Signal
from amaranth.hdl import Value, signed, unsigned
from amaranth.hdl._ast import SwitchValue
from amaranth.sim._pyeval import eval_value
from targets.fpga.rtl.evaluation import Session, draw
from targets.fpga.rtl.test_equality import INPUTS, Values

from rlx_fpga.rtl.expressions import Expressions
from support.messages import raises

A, B, C, D, E, F = (Signal(shape, name=name) for name, shape in INPUTS.items())
SIGNALS = {signal.name: signal for signal in (A, B, C, D, E, F)}


class State:
    """Values of signals, as Amaranth's simulator holds them."""

    def __init__(self, numbers):
        self.numbers = numbers

    def get_signal(self, signal):
        return signal.name

    @property
    def slots(self):
        return {name: type("Slot", (), {"next": n, "curr": n}) for name, n in self.numbers.items()}


class Printer:
    """Prints values of ``SIGNALS`` and evaluates them in both languages."""

    def __init__(self):
        self.session = Session(SIGNALS)
        self.expressions = Expressions(self.session.names.of, self.session.names.free)
        self.declared = set()

    def declare_wires(self):
        """Make variables of the wires that are new; they get their values in :meth:`set`."""
        for name, (width, _) in self.expressions.wires.items():
            if name not in self.declared:
                self.declared.add(name)
                self.session.run(f"logic [{width - 1}:0] {name};")

    def set(self, numbers):
        for name, number in numbers.items():
            width = len(SIGNALS[name])
            self.session.run(f"{name} = {width}'h{number & ((1 << width) - 1):x};")
        for name, (_, text) in self.expressions.wires.items():
            self.session.run(f"{name} = {text};")


def assert_exact(value, widths, pick, rounds=4):
    """Check the text of ``value`` at some widths, for random values of the signals."""
    printer = Printer()
    texts = {width: printer.expressions.fitted(value, width) for width in widths}
    printer.declare_wires()
    for _ in range(rounds):
        numbers = {name: draw(pick, signal.shape()) for name, signal in SIGNALS.items()}
        printer.set(numbers)
        exact = eval_value(State(numbers), value)
        for width, text in texts.items():
            found = printer.session.bits(text.text)
            assert found == (exact & ((1 << width) - 1), width), (text.text, numbers)
            assert printer.session.is_signed(text.text) == text.signed, text.text


@pytest.mark.parametrize("seed", range(12))
def test_random_values(seed):
    values = Values(seed, list(SIGNALS.values()))
    for _ in range(8):
        value = values.value(3)
        widths = {len(value), 1, values.random.randint(1, len(value)), len(value) + 3}
        assert_exact(value, widths, values.random)


EDGES = {
    "negative under minus": -(0 - D), "complement of a sum": ~(C + D), "minus of a cast": -(B & D),
    "difference of differences": D - (C - F), "difference of a sum": D - (C + F),
    "sum of sums": (D + F) + (C + B), "product of a sum": (D + F) * (C - B),
    "minus a literal": E + Const(-3, signed(4)), "mixed comparison": D < C,
    "shift of a sum": (D + F) >> C[:2], "shift of more than all": F >> E,
    "sum of a shift": (F >> C[:2]) + C, "by nothing": F >> Cat(),
    "cut from a sum": (D + F)[1:4], "top of a sum": (C + E)[-1], "low bits of a sum": (D + F)[:2],
    "unsigned and back": D.as_unsigned().as_signed() + E, "bits as a number": F.as_unsigned() - E,
    "slice as a number": E[1:4].as_signed() + F, "one bit as a number": E[2].as_signed() + E,
    "choice of signs": Mux(A, D, C) + F, "choice of negatives": Mux(C, D, F) >> 1,
    "choice in a choice": Mux(A, Mux(B, C, D), E), "three of one bit": Cat(C[1], C[1], C[1], D),
    "part beyond the end": E.bit_select(C, 4), "word beyond the end": E.word_select(C, 3),
    "word at the end": E[:4].word_select(C[:1], 2), "wider than all": C.bit_select(A, 3),
    "bit at an offset": F.as_unsigned().bit_select(C[:2], 1),
    "part of a sum": (C + E).bit_select(C, 2), "array": Array([C, D, E, F, -C])[C],
    "no cases": SwitchValue(C, [(("00-", "1--"), D), (("-11",), E)]),
    "one case": SwitchValue(C, [(("1-0",), F)]), "never": SwitchValue(C, [((), D), (None, F)]),
    "part of constants": Cat(C, Const(5, 4))[1:6], "all of nothing": Cat().all() + C,
    "any of nothing": Cat().any() + C, "quotient": E // 3 + (E % 3), "one part": Cat(D, Cat()) + C,
    "large": (E + 1) * 0x98765,
}  # fmt: skip
"""Values next to a rule of widths or signs."""


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    value = Value.cast(EDGES[name])
    widths = {1, 2, len(value) - 1 or 1, len(value), len(value) + 1, len(value) + 9}
    assert_exact(value, widths, random.Random(name), rounds=12)


@pytest.mark.parametrize("width", [1, 2, 19, 20, 21, 24, 33])
def test_literals(width):
    pick, printer = random.Random(width), Printer()
    for shape in (unsigned(width), signed(width)):
        for to in (1, width - 1 or 1, width, width + 1, width + 30):
            for number in {draw(pick, shape) for _ in range(12)}:
                text = printer.expressions.fitted(Const(number, shape), to).text
                assert printer.session.bits(text) == (number & ((1 << to) - 1), to), text
                # slang warns of a signed literal beyond its width; a bit has no sign.
                assert to > 1 or text in ("1'b0", "1'b1")
                # Large numbers are hexadecimal, with all their digits.
                digits = re.fullmatch(r"\d+'s?h(\w+)", text)
                assert digits is None or len(digits[1]) == -(-to // 4)
                assert digits or text[0] == "-" or number & ((1 << to) - 1) < 1 << 20


def agrees(number, pattern):
    return all(bit in ("-", wanted) for wanted, bit in zip(f"{number:03b}", pattern, strict=True))


def test_patterns():
    every = [f"{a}{b}{c}" for a in "01-" for b in "01-" for c in "01-"]
    pick = random.Random(5)
    pairs = [pick.sample(every, 2) for _ in range(12)]
    for test in (C, Cat(C[0], C[1], C[2]), (E + C)[:3]):
        printer = Printer()
        texts = [
            (p, printer.expressions.matches(test, p)) for p in [*([one] for one in every), *pairs]
        ]
        printer.declare_wires()
        for number in range(8):
            printer.set({"c": number, "e": 0})
            for patterns, text in texts:
                assert printer.session.bits(text)[0] == any(agrees(number, p) for p in patterns)


def test_what_is_cut_out_of_equal_results_is_one_wire():
    printer = Printer()
    for value in ((C + E)[1:3], (C + E)[4], (C - E)[2:4]):
        printer.expressions.exact(value)
    # A difference is negative in Amaranth, so that it is one bit wider.
    assert {name: width for name, (width, _) in printer.expressions.wires.items()} == {
        "sum": 6, "difference": 6,
    }  # fmt: skip


def test_casts_after_a_sign_are_in_parentheses():
    """Yosys reads ``-2'(x)`` as a cast to -2 bits."""
    printer = Printer()
    for value in (-(C + 0), ~Mux(A, C, E), -E.as_signed(), -D.as_unsigned(), ~(B & F)):
        for width in (1, 3, 6, 9):
            text = printer.expressions.fitted(Value.cast(value), width).text
            assert not re.search(r"[-~!]\d+'\(", text), text


@pytest.mark.parametrize(
    "value",
    [D // 2, E // (C + 1), E % 0,
     F.bit_select(C, 2)],
)  # fmt: skip
def test_what_differs_between_languages_is_refused(value):
    with raises(AssertionError):
        Printer().expressions.exact(value)
