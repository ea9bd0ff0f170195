"""Integer steps with exact ranges: the representation of a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rlx_fpga.cells.rom import signed_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.rom import Integers

Kind = Literal[
    "input", "constant", "sum", "offset", "choice", "right", "clamp", "max", "pick", "table"
]

FREE = frozenset({"input", "constant", "right"})
"""Kinds that are wires only."""


@dataclass(frozen=True, slots=True)
class NetlistStep:
    """One integer of a netlist.

    The meaning of ``numbers`` depends on the kind; ``a``, ``b`` are the operands:

    - ``input``: place in the layer's operands;
    - ``constant``: the value;
    - ``sum``: shifts of a and b, and 1 to subtract: ``(a << p) + (b << q)`` or ``- (b << q)``;
    - ``offset``: shift, 1 to negate, constant: ``c + (a << p)`` or ``c - (a << p)``;
    - ``choice``: two constants: ``a + c``, with the second one if b is negative;
    - ``right``: ``a >> n``, rounding down;
    - ``clamp``: minimum and maximum result;
    - ``max``: the maximum of a and b;
    - ``pick``: of two more operands the second one if b is greater than a, else the first;
    - ``table``: 256 entries, that of -128 first.

    Attributes:
        kind: Operation.
        operands: Indices of the operands in the netlist, all before this one.
        numbers: Constants.
        low: Minimum value that it can have.
        high: Maximum value.
    """

    kind: Kind
    operands: tuple[int, ...]
    numbers: tuple[int, ...]
    low: int
    high: int

    @property
    def width(self) -> int:
        """Bits of the integer in two's complement."""
        return signed_bits(self.low, self.high)


class Netlist:
    """Steps in topological order; equal steps are merged."""

    def __init__(self) -> None:
        self.steps: list[NetlistStep] = []
        self._known: dict[tuple[Kind, tuple[int, ...], tuple[int, ...]], int] = {}

    @property
    def adders(self) -> int:
        """Steps that add."""
        return sum(step.kind in ("sum", "offset", "choice") for step in self.steps)

    @property
    def adder_bits(self) -> int:
        """Bits of all additions that need a carry: about one LUT each."""
        return sum(self.carry_bits(step) for step in self.steps)

    def input(self, index: int) -> int:
        """Append an int8 operand."""
        return self._append("input", (), (index,), -128, 127)

    def constant(self, value: int) -> int:
        """Append a constant."""
        return self._append("constant", (), (value,), value, value)

    def sum(self, a: int, b: int, shifts: tuple[int, int], *, negative: bool) -> int:
        """Append ``(a << p) + (b << q)``, or the difference."""
        p, q = shifts
        x, y = self.steps[a], self.steps[b]
        y_low, y_high = (-y.high, -y.low) if negative else (y.low, y.high)
        low, high = (x.low << p) + (y_low << q), (x.high << p) + (y_high << q)
        return self._append("sum", (a, b), (p, q, int(negative)), low, high)

    def offset(self, a: int, shift: int, constant: int, *, negative: bool) -> int:
        """Append ``c + (a << p)``, or ``c - (a << p)``."""
        x = self.steps[a]
        ends = (-(x.high << shift), -(x.low << shift)) if negative else (x.low << shift,
                                                                       x.high << shift)  # fmt: skip
        low, high = constant + ends[0], constant + ends[1]
        return self._append("offset", (a,), (shift, int(negative), constant), low, high)

    def choice(self, a: int, b: int, constants: tuple[int, int]) -> int:
        """Append ``a + c``, with the first constant if b is not negative, else the second."""
        x = self.steps[a]
        low, high = x.low + min(constants), x.high + max(constants)
        return self._append("choice", (a, b), constants, low, high)

    def right(self, a: int, shift: int) -> int:
        """Append ``a >> n``."""
        x = self.steps[a]
        return self._append("right", (a,), (shift,), x.low >> shift, x.high >> shift)

    def clamp(self, a: int, low: int, high: int) -> int:
        """Append a clamped to ``low`` .. ``high``; a itself if it is always within."""
        x = self.steps[a]
        if low <= x.low and x.high <= high:
            return a
        ends = [min(max(end, low), high) for end in (x.low, x.high)]
        return self._append("clamp", (a,), (low, high), *ends)

    def maximum(self, a: int, b: int) -> int:
        """Append the maximum of two steps."""
        x, y = self.steps[a], self.steps[b]
        return self._append("max", (a, b), (), max(x.low, y.low), max(x.high, y.high))

    def pick(self, a: int, b: int, first: int, second: int) -> int:
        """Append ``second`` if b is greater than a, else ``first``."""
        x, y = self.steps[first], self.steps[second]
        low, high = min(x.low, y.low), max(x.high, y.high)
        return self._append("pick", (a, b, first, second), (), low, high)

    def table(self, a: int, entries: Sequence[int]) -> int:
        """Append ``entries[a + 128]``."""
        x = self.steps[a]
        used = entries[x.low + 128 : x.high + 129]
        return self._append("table", (a,), tuple(entries), min(used), max(used))

    def evaluate(self, inputs: Integers) -> list[Integers]:
        """Return the values of all steps for ``inputs`` [operands, ...]: the exact reference."""
        values: list[Integers] = []
        for step in self.steps:
            values.append(_value(step, [values[o] for o in step.operands], inputs))
        return values

    def _append(
        self, kind: Kind, operands: tuple[int, ...], numbers: tuple[int, ...], low: int, high: int
    ) -> int:
        key = (kind, operands, numbers)
        if key not in self._known:
            self._known[key] = len(self.steps)
            self.steps.append(NetlistStep(kind, operands, numbers, low, high))
        return self._known[key]

    def carry_bits(self, step: NetlistStep) -> int:
        """Return the bits of an addition without those of an operand that pass through."""
        if step.kind == "offset":
            shift, negative, constant = step.numbers
            zeros = (constant & -constant).bit_length() - 1 if constant else step.width
            return step.width - min(step.width, zeros if not negative else shift)
        if step.kind == "choice":
            return step.width
        if step.kind != "sum":
            return 0
        p, q, negative = step.numbers
        return step.width - (max(p, q) if not negative else q)


def _value(step: NetlistStep, operands: list[Integers], inputs: Integers) -> Integers:
    """Return the value of one step."""
    numbers = step.numbers
    if step.kind == "input":
        operand: Integers = inputs[numbers[0]].astype(np.int64)
        return operand
    if step.kind == "constant":
        return np.full(inputs.shape[1:], numbers[0], np.int64)
    if step.kind == "sum":
        return (operands[0] << numbers[0]) + (1 - 2 * numbers[2]) * (operands[1] << numbers[1])
    if step.kind == "offset":
        return numbers[2] + (1 - 2 * numbers[1]) * (operands[0] << numbers[0])
    return _selected(step, operands)


def _selected(step: NetlistStep, operands: list[Integers]) -> Integers:
    """Return the value of a step that chooses or drops."""
    if step.kind == "choice":
        return operands[0] + np.where(operands[1] < 0, step.numbers[1], step.numbers[0])
    if step.kind == "right":
        return operands[0] >> step.numbers[0]
    if step.kind == "clamp":
        return np.clip(operands[0], step.numbers[0], step.numbers[1])
    if step.kind == "max":
        largest: Integers = np.maximum(operands[0], operands[1])
        return largest
    if step.kind == "pick":
        a, b, first, second = operands
        return np.where(b > a, second, first)
    return np.array(step.numbers, np.int64)[operands[0] + 128]
