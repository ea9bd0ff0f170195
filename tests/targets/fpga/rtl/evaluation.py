"""Printed SystemVerilog, evaluated by slang, which keeps to the standard, without a simulator."""

from __future__ import annotations

from pyslang import ast

from rlx_fpga.rtl.naming import Names


class Session:
    """Evaluates text with variables.

    Args:
        signals: Amaranth's signals, by name, which become variables.
    """

    def __init__(self, signals):
        self.script = ast.ScriptSession()
        self.names = Names()
        for name, signal in signals.items():
            self.names.give(signal, name)
            sign = "signed " if signal.shape().signed else ""
            self.run(f"logic {sign}[{len(signal) - 1}:0] {name};")

    def run(self, text):
        """Execute a declaration or a statement."""
        self.script.eval(text)
        self._check(text)

    def bits(self, text):
        """Return the value of an expression, as unsigned, and its width."""
        found = self._value(text)
        return int(found) & ((1 << found.bitWidth) - 1), found.bitWidth

    def is_signed(self, text):
        """Return whether the standard takes an expression as signed."""
        return self._value(text).isSigned

    def _value(self, text):
        found = self.script.eval(text).value
        self._check(text)
        assert found is not None, f"slang cannot evaluate {text}"
        return found

    def _check(self, text):
        problems = [str(one.code) for one in self.script.getDiagnostics()]
        assert not problems, (problems, text)


def draw(pick, shape):
    """Return a random number of a shape: often the smallest, the largest, or next to zero."""
    low = -(1 << shape.width - 1) if shape.signed else 0
    high = low + (1 << shape.width) - 1
    special = [one for one in (low, high, 0, 1, -1) if low <= one <= high]
    return pick.choice(special) if pick.random() < 0.3 else pick.randint(low, high)
