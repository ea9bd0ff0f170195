"""Properties of every use of an op, declared on its class and read by passes and targets.

Tests: tests/unit/ops/test_traits.py
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Along(enum.Enum):
    """The dimensions of its first operand that an op combines; it treats the others one by one."""

    IMAGE = "all but the first"
    LAST = "the last"
    AXIS = "the one that its attribute axis names"
    AXES = "those that its attribute axes names"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Properties that hold for all attributes and operands of an op.

    Tests compare each of them with ``evaluate`` on random cases. An op that claims less than is
    true stays correct and loses optimizations.

    Attributes:
        elementwise: Each element of the result depends on the corresponding element of each
            operand only; shapes broadcast as in NumPy. Code that runs from front to back may
            therefore write the result over an operand of the same type.
        channelwise: If the operands and the result have the same channels (indices of the last
            axis), channel ``c`` of the result depends on channel ``c`` of each operand only, and
            the same attributes serve fewer channels. Every elementwise op is.
        monotone: For elementwise ops: with all other elements fixed, the result never falls, or
            never rises, as one element of an operand grows.
        clamps: The last step clamps the result to the attributes ``low`` and ``high``.
        moves_only: Every element of the result is an element of an operand.
        along: Dimensions that are combined; None for elementwise ops, and where none of the
            choices says it.
    """

    elementwise: bool = False
    channelwise: bool = False
    monotone: bool = False
    clamps: bool = False
    moves_only: bool = False
    along: Along | None = None

    def __post_init__(self) -> None:
        """Let every elementwise op be channelwise."""
        if self.elementwise:
            object.__setattr__(self, "channelwise", True)


UNSTATED: Final = Traits()
"""The traits of an op class that declares none: nothing is known of it."""
