"""Parts of values, and cases that can match."""

from __future__ import annotations

from amaranth import Cat, Signal
from amaranth.hdl import signed

from rlx_fpga.rtl.values import reachable, signals_of, sliced

A, B, C = Signal(8), Signal(signed(8)), Signal(3)


def test_slices_of_slices_are_parts_of_the_signal():
    assert sliced(A) == (A, 0, 8)
    assert sliced(A[2:7][1:4]) == (A, 3, 6)
    assert sliced(B.as_unsigned()[2:7].as_signed()[3:]) == (B, 5, 7)
    inner = A + 1
    assert sliced(inner[1:5][2:]) == (inner, 3, 5)


def test_cases_end_with_the_first_that_always_matches():
    cases = [((), "never"), (("01-",), "some"), (("1--", "---"), "all"), (None, "default")]
    assert list(reachable(cases)) == [(("01-",), "some"), (None, "all")]
    assert list(reachable(cases[:2])) == [(("01-",), "some")]
    assert list(reachable(cases[3:] + cases[1:2])) == [(None, "default")]


def test_signals_are_found_in_every_kind_of_value():
    for value in (A + B, Cat(A, B), (A ^ B)[1:], A.bit_select(B.as_unsigned(), 2), ~(A & B)):
        assert {id(signal) for signal in signals_of(value)} == {id(A), id(B)}
    assert not list(signals_of(Cat()))
