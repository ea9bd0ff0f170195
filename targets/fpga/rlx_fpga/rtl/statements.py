"""Statements: assignments and conditions, as lines of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amaranth.hdl import Const, Signal
from amaranth.hdl._ast import Assign, Concat, Operator, Property, Slice, Switch, SwitchValue

from rlx_fpga.rtl.layout import indented
from rlx_fpga.rtl.values import reachable, sliced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from amaranth.hdl import Value
    from amaranth.hdl._ast import Statement

    from rlx_fpga.rtl.expressions import Expressions

_MAX_IF_ARMS: Final = 2
"""Conditions on the value of one signal: more of them are a case statement."""


_TRUE: Final = "1'b1"


class Statements:
    """Prints statements of one process.

    Args:
        expressions: Prints values.
        name: Returns the name of a signal.
        assigns: ``=`` or ``<=``.
    """

    def __init__(
        self, expressions: Expressions, name: Callable[[Signal], str], assigns: str
    ) -> None:
        self._expressions = expressions
        self._name = name
        self._assigns = assigns

    def lines(self, statements: Sequence[Statement]) -> list[str]:
        """Return the lines of ``statements``."""
        return [line for statement in statements for line in self._statement(statement)]

    def _statement(self, statement: Statement) -> list[str]:
        match statement:
            case Assign():
                return self._assignment(statement.lhs, statement.rhs)
            case Switch():
                return self._switch(statement)
            case Property():
                test = self._expressions.condition(statement.test)
                return [f"{statement.kind.value} ({test});"]
        msg = f"no SystemVerilog for the statement {type(statement).__name__}"
        raise TypeError(msg)

    def _assignment(self, target: Value, value: Value) -> list[str]:
        """Return an assignment; one for each case if the target depends on a value."""
        if not len(target):
            return []
        if isinstance(target, SwitchValue):
            arms = [
                (patterns, self._assignment(element, value)) for patterns, element in target.cases
            ]
            return self._arms(target.test, arms)
        if isinstance(target, Signal) and isinstance(value, Const):
            text = self._expressions.constant(target, value.value)
        else:
            text = self._expressions.fitted(value, len(target)).text
        return [f"{self.target(target)} {self._assigns} {text};"]

    def target(self, target: Value) -> str:
        """Return the text of an assignment's target."""
        match target:
            case Signal():
                return self._name(target)
            case Operator() if target.operator in ("u", "s"):
                return self.target(target.operands[0])
            case Concat():
                parts = [self.target(part) for part in reversed(target.parts) if len(part)]
                return f"{{{', '.join(parts)}}}"
            case Slice():
                return self._slice(target)
        msg = f"no SystemVerilog for the target {type(target).__name__}"
        raise TypeError(msg)

    def _slice(self, target: Slice) -> str:
        inner, start, stop = sliced(target)
        if not isinstance(inner, Signal):
            msg = f"no SystemVerilog for a slice of {type(inner).__name__} as a target"
            raise TypeError(msg)
        if stop - start == len(inner):
            return self._name(inner)
        index = f"{start}" if stop - start == 1 else f"{stop - 1}:{start}"
        return f"{self._name(inner)}[{index}]"

    def _switch(self, statement: Switch) -> list[str]:
        arms = [(patterns, self.lines(body)) for patterns, body, _ in statement.cases]
        return self._arms(statement.test, arms)

    def _arms(
        self, test: Value, arms: Sequence[tuple[Sequence[str] | None, list[str]]]
    ) -> list[str]:
        """Return ``arms``, each the lines for some patterns of ``test``."""
        reached = list(reachable(arms))
        while reached and not reached[-1][1]:
            reached.pop()
        if _are_different_numbers([patterns for patterns, _ in reached]):
            reached = [(patterns, body) for patterns, body in reached if body]
        if not reached:
            return []
        one_hot = all(p is None or _one_hot(p) for p, _ in reached)
        if one_hot or len(reached) <= _MAX_IF_ARMS:
            return self._conditions(test, reached)
        return self._case(test, reached)

    def _conditions(
        self, test: Value, arms: Sequence[tuple[Sequence[str] | None, list[str]]]
    ) -> list[str]:
        lines: list[str] = []
        for patterns, body in arms:
            text = _TRUE if patterns is None else self._expressions.matches(test, patterns)
            if text == _TRUE:
                if not lines:
                    return body
                return [*lines, "end else begin", *indented(body), "end"]
            lines.append(f"{'end else if' if lines else 'if'} ({_bare(text)}) begin")
            lines += indented(body)
        return [*lines, "end"]

    def _case(
        self, test: Value, arms: Sequence[tuple[Sequence[str] | None, list[str]]]
    ) -> list[str]:
        """Return a case statement, in which the first pattern that matches counts."""
        wild = any("-" in pattern for patterns, _ in arms for pattern in patterns or ())
        lines = [f"{'casez' if wild else 'case'} ({self._expressions.exact(test).text})"]
        for patterns, body in arms:
            label = (
                "default"
                if patterns is None
                else ", ".join(self._expressions.label(test, pattern) for pattern in patterns)
            )
            if len(body) == 1:
                lines.append(f"  {label}: {body[0]}")
            elif body:
                lines += [f"  {label}: begin", *indented(indented(body)), "  end"]
            else:
                lines.append(f"  {label}: ;")
        if arms[-1][0] is not None:
            lines.append("  default: ;")
        return [*lines, "endcase"]


def _one_hot(patterns: Sequence[str]) -> bool:
    """Whether ``patterns`` is the condition of an ``If`` or ``Elif``: one bit is high."""
    return len(patterns) == 1 and patterns[0].count("1") == 1 and "0" not in patterns[0]


def _are_different_numbers(cases: Sequence[Sequence[str] | None]) -> bool:
    """Whether at most one case matches, without a default."""
    patterns = [pattern for case in cases for pattern in case or ("-",)]
    return "-" not in "".join(patterns) and len(set(patterns)) == len(patterns)


def _bare(text: str) -> str:
    """Return ``text`` without parentheses around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and index < len(text) - 1:
            return text
    return text[1:-1]
