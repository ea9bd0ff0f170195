"""Expressions: Amaranth's integer arithmetic in SystemVerilog's arithmetic of bit vectors.

Amaranth's operators are exact: a result is as wide as it can get. SystemVerilog computes at the
width of the widest operand of an expression, and as unsigned as soon as one operand is. So every
operand is printed at the required width of the result, by a cast where it has another: at equal
widths the bits of sums, differences, products and bitwise operators do not depend on signs, and
results that are truncated anyway are computed without the dropped bits.

Source:
    IEEE 1800-2017, 11.6 (bit lengths), 11.8 (signs).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from amaranth.hdl import Cat, Const, Signal, Value
from amaranth.hdl._ast import Concat, Operator, Part, Shape, Slice, SwitchValue
from amaranth.sim._pyeval import eval_value

from rlx_fpga.rtl.values import reachable, sliced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from amaranth.hdl import Signal as SignalType

_WIRES: Final = {
    "+": "sum", "-": "difference", "*": "product", "<<": "shifted", ">>": "shifted", "?": "chosen",
}  # fmt: skip
"""Names of wires, by the operator of their value."""

_CAST: Final = re.compile(r"\d+'\(")

_MAX_DECIMAL_BITS: Final = 20
"""Bits up to which literals are decimal."""

_COMPARISONS: Final = ("==", "!=", "<", ">", "<=", ">=")
_RINGS: Final = ("+", "-", "*", "&", "|", "^")
_OF_NOTHING: Final = {"b": 0, "r|": 0, "r&": 1, "r^": 0}
"""Reductions of a value without bits."""

_BITS: Final = ("1'b0", "1'b1")

_NEUTRAL: Final = {"&": "1'b1", "|": "1'b0"}
"""Neutral bits, by operator."""

_REDUCTIONS: Final = {"r|": "|", "r&": "&", "r^": "^"}


@dataclass(frozen=True, slots=True)
class PrintedExpression:
    """A printed expression.

    Attributes:
        text: The expression.
        signed: Whether it is signed in SystemVerilog.
        operator: Its outermost operator; empty for names, literals, casts and the like, which do
            not need parentheses.
    """

    text: str
    signed: bool = False
    operator: str = ""

    @property
    def atom(self) -> str:
        """The text, in parentheses if an operator next to it needs them."""
        return f"({self.text})" if self.operator else self.text

    @property
    def operand(self) -> str:
        """The text as an operand of a binary operator, without parentheses for a complement."""
        return self.text if self.operator == "~" else self.atom

    @property
    def under(self) -> str:
        """The text under a unary operator; Yosys parses ``-2'(x)`` as a cast to -2 bits."""
        return f"({self.text})" if self.operator or _CAST.match(self.text) else self.text

    @property
    def self_determined(self) -> str:
        """The text in a form independent of its context; unsigned if it has an operator."""
        return f"{{{self.text}}}" if self.operator else self.text

    def beside(self, operator: str) -> str:
        """The text as the left operand of ``operator``."""
        return self.text if self.operator == operator else self.operand


class Expressions:
    """Prints the values that a module reads.

    A slice of a result needs a wire for the result, ``shifted[7:2]``: SystemVerilog cannot index an
    expression, and Yosys treats a cast to fewer bits as if it were as wide as its operand.

    Args:
        name: Returns the name of a signal.
        free: Returns a new name that resembles another.

    Attributes:
        wires: Width and value of each wire, by name, in the order of their dependencies.
        states: Width and number of each named state of a state machine, by name.
    """

    def __init__(self, name: Callable[[SignalType], str], free: Callable[[str], str]) -> None:
        self._name = name
        self._free = free
        self.wires: dict[str, tuple[int, str]] = {}
        self._known: dict[tuple[int, str], str] = {}
        self.states: dict[str, tuple[int, int]] = {}
        self._state_names: dict[tuple[int, int], str] = {}

    def constant(self, signal: SignalType, number: int) -> str:
        """Return a possible value of ``signal``, by the name of the state if it is a state."""
        state = self._state(signal, number)
        if state is not None:
            return state
        return _literal(number, len(signal), signal.shape().signed).text

    def _state(self, value: Value, number: int) -> str | None:
        """Return the name of a state; None if ``value`` is not that of a state machine."""
        if not (isinstance(value, Signal) and callable(value.decoder)):
            return None
        key = id(value), number
        if key not in self._state_names:
            # Amaranth decodes the state 2, called RUN, as "RUN/2".
            name = self._free(value.decoder(number).rpartition("/")[0])
            self._state_names[key] = name
            self.states[name] = len(value), number
        return self._state_names[key]

    def label(self, test: Value, pattern: str) -> str:
        """Return a pattern of a case statement."""
        if "-" in pattern:
            return f"{len(test)}'b{pattern.replace('-', '?')}"
        return self._state(test, int(pattern, 2)) or f"{len(test)}'d{int(pattern, 2)}"

    def exact(self, value: Value) -> PrintedExpression:
        """Return ``value`` at its own width."""
        return self.fitted(value, len(value))

    def condition(self, value: Value) -> str:
        """Return whether ``value`` is not zero, as a condition in parentheses."""
        return self._bool(value).text

    def fitted(self, value: Value, width: int) -> PrintedExpression:  # noqa: C901, PLR0911 - a kind each
        """Return ``value`` extended by its sign, or cut off, to exactly ``width`` bits."""
        match value:
            case _ if not len(value):
                return _literal(0, max(width, 1), signed=False)
            case Operator() | Slice() if _is_constant(value):
                return _literal(eval_value(None, value), width, value.shape().signed)
            case Const():
                return _literal(value.value, width, value.shape().signed)
            case Signal():
                return self._signal(value, width)
            case Operator():
                return self._operator(value, width)
            case Slice():
                return self._slice(value, width)
            case Part():
                return self._resized(self._part(value), len(value), width, signed=False)
            case SwitchValue():
                return self._choice(value, width)
            case Concat():
                return self._concat(value, width)
        msg = f"no SystemVerilog for {type(value).__name__}"
        raise TypeError(msg)

    def _wire(self, text: PrintedExpression, width: int) -> str:
        """Return a wire with the bits of ``text``; the same one for the same text."""
        key = width, text.text
        if key not in self._known:
            self._known[key] = self._free(_WIRES.get(text.operator, "value"))
            self.wires[self._known[key]] = key
        return self._known[key]

    def _resized(
        self, text: PrintedExpression, from_width: int, width: int, *, signed: bool
    ) -> PrintedExpression:
        """Return a number of ``from_width`` bits, signed or not, in ``width`` bits."""
        if width < from_width:
            return PrintedExpression(f"{self._wire(text, from_width)}{_range(0, width)}")
        return _extended(text, from_width, width, signed=signed)

    def _signal(self, signal: SignalType, width: int) -> PrintedExpression:
        name, shape = self._name(signal), signal.shape()
        if width < shape.width:
            return PrintedExpression(f"{name}{_range(0, width)}")
        return self._resized(
            PrintedExpression(name, shape.signed), shape.width, width, signed=shape.signed
        )

    def _operator(self, value: Operator, width: int) -> PrintedExpression:
        operands, operator = value.operands, value.operator
        shape = value.shape()
        if operator in ("u", "s"):
            return self._reinterpreted(value, width)
        if operator in _RINGS and len(operands) == 2:
            left, right = (self.fitted(operand, width) for operand in operands)
            return _ring(left, operator, right, width)
        if operator == "-":
            inner = self.fitted(operands[0], width)
            return PrintedExpression(f"-{inner.under}", inner.signed, "neg")
        if operator == "~" and width <= shape.width:
            inner = self.fitted(operands[0], width)
            return PrintedExpression(f"~{inner.under}", inner.signed, "~")
        if operator == "<<":
            inner = self.fitted(operands[0], width)
            return PrintedExpression(
                f"{inner.atom} << {self.exact(operands[1]).atom}", inner.signed, "<<"
            )
        return self._resized(self._at_own_width(value), shape.width, width, signed=shape.signed)

    def _at_own_width(self, value: Operator) -> PrintedExpression:
        """Return an operator whose result cannot be computed at another width."""
        operands, operator = value.operands, value.operator
        if operator in _OF_NOTHING and not len(operands[0]):
            return PrintedExpression(f"1'b{_OF_NOTHING[operator]}")
        if operator in _REDUCTIONS:
            inner = self.exact(operands[0])
            return PrintedExpression(f"{_REDUCTIONS[operator]}{_grouped(inner)}", operator="reduce")
        if operator in _COMPARISONS:
            return self._comparison(operator, *operands)
        printers: dict[str, Callable[[], PrintedExpression]] = {
            "~": lambda: self._operator(value, len(value)),
            "b": lambda: self._bool(operands[0]),
            ">>": lambda: self._shifted_right(*operands),
            "//": lambda: self._quotient(value),
            "%": lambda: self._quotient(value),
        }
        return printers[operator]()

    def _reinterpreted(self, value: Operator, width: int) -> PrintedExpression:
        """Return the bits of an operand with another sign."""
        inner, signed = value.operands[0], value.operator == "s"
        if width <= len(inner):
            return self.fitted(inner, width)
        return self._resized(self.exact(inner), len(inner), width, signed=signed)

    def _comparison(self, operator: str, first: Value, second: Value) -> PrintedExpression:
        shape = _common((first, second))
        left, right = (self.fitted(value, shape.width) for value in (first, second))
        if operator not in ("==", "!="):
            left, right = (_with_sign(text, signed=shape.signed) for text in (left, right))
        return PrintedExpression(f"{left.operand} {operator} {right.operand}", operator=operator)

    def _shifted_right(self, value: Value, by: Value) -> PrintedExpression:
        inner, amount = self.exact(value), self.exact(by).atom
        if not len(by):
            return inner
        if not value.shape().signed:
            return PrintedExpression(f"{inner.atom} >> {amount}", inner.signed, ">>")
        # With an unsigned operand a shift would lose its sign: $signed isolates it.
        text = f"$signed({_with_sign(inner, signed=True).atom} >>> {amount})"
        return PrintedExpression(text, signed=True)

    def _quotient(self, value: Operator) -> PrintedExpression:
        """Return a quotient or remainder of unsigned values."""
        dividend, divisor = value.operands
        shape = _common((dividend, divisor))
        assert not shape.signed, "expected an unsigned division, got a signed one"
        assert isinstance(divisor, Const), f"expected a constant divisor, got {divisor!r}"
        assert divisor.value, "expected a divisor other than zero"
        left, right = (
            _with_sign(self.fitted(v, shape.width), signed=False) for v in (dividend, divisor)
        )
        symbol = "/" if value.operator == "//" else "%"
        text = PrintedExpression(f"{left.atom} {symbol} {right.atom}", operator=symbol)
        return self._resized(text, shape.width, len(value), signed=False)

    def _bool(self, value: Value) -> PrintedExpression:
        if isinstance(value, Operator) and value.operator == "b":
            return self._bool(value.operands[0])
        inner = self.exact(value)
        if len(value) == 1:
            return inner
        return PrintedExpression(
            f"{inner.atom} != {_literal(0, len(value), signed=False).text}", operator="!="
        )

    def _slice(self, value: Slice, width: int) -> PrintedExpression:
        inner, start, stop = sliced(value)
        length = stop - start
        if isinstance(inner, Signal):
            name = self._name(inner)
            if length == len(inner):
                text = PrintedExpression(name, inner.shape().signed)
            else:
                text = PrintedExpression(f"{name}{_range(start, min(stop, start + width))}")
                length = min(length, width)
            return self._resized(text, length, width, signed=False)
        if isinstance(inner, Concat):
            return self.fitted(Cat(*_bits_of(inner, start, stop)), width)
        if start == 0:
            if width <= stop:
                return self.fitted(inner, width)
            return self._resized(self.fitted(inner, stop), stop, width, signed=False)
        name = self._wire(self.exact(inner), len(inner))
        length = min(length, width)
        text = PrintedExpression(f"{name}{_range(start, start + length)}")
        return self._resized(text, length, width, signed=False)

    def _part(self, value: Part) -> PrintedExpression:
        """Return a part at an offset; bits beyond the end are zero."""
        inner, offset, stride = value.value, value.offset, value.stride
        last = ((1 << len(offset)) - 1) * stride + value.width
        if isinstance(inner, Signal) and last <= len(inner):
            at = self._scaled(offset, stride, max(1, (len(inner) - 1).bit_length()))
            name = self._name(inner)
            if value.width == 1:
                return PrintedExpression(f"{name}[{at.text}]")
            return PrintedExpression(f"{name}[{at.text} +: {value.width}]")
        at = self._scaled(offset, stride, len(offset) + (stride - 1).bit_length())
        # Amaranth's simulator and its netlist fill the bits beyond a signed value differently.
        assert not inner.shape().signed, "expected an unsigned value for a part at an offset"
        whole = self.fitted(inner, max(len(inner), value.width))
        shifted = PrintedExpression(f"{whole.atom} >> {at.atom}", operator=">>")
        return self._resized(shifted, max(len(inner), value.width), value.width, signed=False)

    def _scaled(self, offset: Value, stride: int, width: int) -> PrintedExpression:
        """Return ``offset * stride`` in ``width`` bits."""
        return self.fitted(offset * stride if stride > 1 else offset, width)

    def _choice(self, value: SwitchValue, width: int) -> PrintedExpression:
        """Return a value chosen by another, as a chain of conditional operators."""
        cases = list(reachable(value.cases))
        default = PrintedExpression(_literal(0, width, signed=False).text)
        if cases[-1][0] is None:
            default = self.fitted(cases[-1][1], width)
            cases = cases[:-1]
        first = cases[0] if cases else None
        # Mux: Amaranth writes it as "zero selects the other".
        if len(cases) == 1 and first and first[0] == ("0" * len(value.test),):
            test = self._bool(value.test)
            text = self.fitted(first[1], width)
            return _conditional(test.atom, default, text)
        choice = default
        for patterns, element in reversed(cases):
            assert patterns is not None, "a default is the last case"
            test_text = self.matches(value.test, patterns)
            choice = _conditional(test_text, self.fitted(element, width), choice)
        return choice

    def matches(self, test: Value, patterns: Sequence[str]) -> str:
        """Return whether ``test`` has one of the patterns, as an operand."""
        parts = [self._match(test, pattern) for pattern in patterns]
        if len(parts) == 1:
            return parts[0].atom
        return f"({' || '.join(part.atom for part in parts)})"

    def _match(self, test: Value, pattern: str) -> PrintedExpression:
        width = len(test)
        if "-" not in pattern:
            state = self._state(test, int(pattern, 2))
            if state is not None:
                return PrintedExpression(f"{self.exact(test).text} == {state}", operator="==")
            if width == 1:
                inner = self.exact(test)
                return (
                    inner if pattern == "1" else PrintedExpression(f"!{inner.under}", operator="!")
                )
            number = _literal(int(pattern, 2), width, signed=False)
            return PrintedExpression(f"{self.exact(test).atom} == {number.text}", operator="==")
        cared = [place for place, bit in enumerate(reversed(pattern)) if bit != "-"]
        if not cared:
            return PrintedExpression("1'b1")
        bits = Cat(*(test[place] for place in cared))
        digits = "".join(pattern[-1 - place] for place in reversed(cared))
        return self._match(bits if len(cared) > 1 else _bit(test, cared[0]), digits)

    def _concat(self, value: Concat, width: int) -> PrintedExpression:
        parts = [part for part in value.parts if len(part)]
        if width < len(value):
            parts = [part for part in _bits_of(value, 0, width) if len(part)]
        if not parts:
            return _literal(0, width, signed=False)
        if len(parts) == 1:
            inner = self.exact(parts[0])
            return self._resized(inner, len(parts[0]), width, signed=False)
        text = _joined([self.exact(part).text for part in reversed(parts)])
        return self._resized(text, sum(map(len, parts)), width, signed=False)


def _ring(
    left: PrintedExpression, operator: str, right: PrintedExpression, width: int
) -> PrintedExpression:
    """Return an operator of two operands of equal width, which is that of the result."""
    if width == 1 and operator in _NEUTRAL:
        for one, other in ((left, right), (right, left)):
            if one.text == _NEUTRAL[operator]:
                return other
    return PrintedExpression(_sum(left, operator, right), left.signed and right.signed, operator)


def _conditional(
    test: str, first: PrintedExpression, second: PrintedExpression
) -> PrintedExpression:
    """Return ``first`` if the test is true, else ``second``, which may be a choice too."""
    if first == second or test in _BITS:
        return second if test == _BITS[0] else first
    return PrintedExpression(
        f"{test} ? {first.atom} : {second.beside('?')}", first.signed and second.signed, "?"
    )


def _is_constant(value: Value) -> bool:
    """Whether ``value`` is without signals. Yosys computes some casts of such values too widely."""
    match value:
        case Const():
            return True
        case Operator():
            return all(_is_constant(operand) for operand in value.operands)
        case Slice():
            return _is_constant(value.value)
    return False


def _sum(left: PrintedExpression, operator: str, right: PrintedExpression) -> str:
    """Return a sum, or the like, of two operands."""
    if operator == "+" and right.text.startswith("-") and not right.operator:
        operator, right = "-", PrintedExpression(right.text[1:])
    first = left.operand if operator == "-" else left.beside(operator)
    return f"{first} {operator} {right.operand}"


def _joined(parts: Sequence[str]) -> PrintedExpression:
    """Return a concatenation; equal parts next to each other are repeated."""
    runs = [(text, len(list(run))) for text, run in groupby(parts)]
    texts = [f"{{{count}{{{text}}}}}" if count > 1 else text for text, count in runs]
    if len(texts) == 1 and runs[0][1] > 1:
        return PrintedExpression(texts[0])
    return PrintedExpression(f"{{{', '.join(texts)}}}")


def _bits_of(value: Concat, start: int, stop: int) -> list[Value]:
    """Return the parts of a concatenation that have its bits from ``start`` to ``stop``."""
    found, place = [], 0
    for part in value.parts:
        first, last = max(start - place, 0), min(stop - place, len(part))
        if first < last:
            found.append(part if last - first == len(part) else part[first:last])
        place += len(part)
    return found


def _bit(value: Value, index: int) -> Value:
    """Return a bit; a condition if ``value`` is a concatenation of conditions."""
    if isinstance(value, Concat):
        (bit,) = _bits_of(value, index, index + 1)
        return bit
    return value[index]


def _common(values: Sequence[Value]) -> Shape:
    """Return the shape that holds all ``values``."""
    return Shape._unify(tuple(value.shape() for value in values))


def _literal(number: int, width: int, signed: bool) -> PrintedExpression:
    """Return a literal of the lowest ``width`` bits of an integer."""
    bits = number & ((1 << width) - 1)
    if signed and number < 0 and width > 1 and bits >> (width - 1):
        return PrintedExpression(f"-{width}'sd{(1 << width) - bits}", signed=True)
    if width == 1:
        return PrintedExpression(f"1'b{bits}")
    mark = "s" if signed and bits >> (width - 1) == 0 else ""
    if width <= _MAX_DECIMAL_BITS or bits < 1 << _MAX_DECIMAL_BITS:
        return PrintedExpression(f"{width}'{mark}d{bits}", bool(mark))
    return PrintedExpression(f"{width}'{mark}h{bits:0{-(-width // 4)}x}", bool(mark))


def _range(start: int, stop: int) -> str:
    """Return the index of bits ``start`` to ``stop - 1``."""
    return f"[{start}]" if stop - start == 1 else f"[{stop - 1}:{start}]"


def _with_sign(text: PrintedExpression, *, signed: bool) -> PrintedExpression:
    """Return the same bits as a signed or unsigned expression."""
    if text.signed == signed:
        return text
    inner = text.text if not text.operator else text.self_determined
    return PrintedExpression(f"{'$signed' if signed else '$unsigned'}({inner})", signed)


def _extended(
    text: PrintedExpression, from_width: int, width: int, *, signed: bool
) -> PrintedExpression:
    """Return an integer of ``from_width`` bits, extended to ``width`` bits by its sign or zeros."""
    if width == from_width:
        return text
    # Tools differ in the width at which they compute a cast's operand, but not a concatenation's.
    inner = _with_sign(
        PrintedExpression(text.self_determined) if text.operator else text, signed=signed
    )
    return PrintedExpression(f"{width}'({inner.text})", signed)


def _grouped(text: PrintedExpression) -> str:
    """Return an operand of a reduction: some tools do not accept casts there."""
    plain = text.text.replace("_", "").replace("[", "").replace("]", "").replace(":", "")
    return text.text if plain.isalnum() else f"({text.text})"
