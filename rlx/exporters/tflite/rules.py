"""Operators of ``.tflite`` that compute what a ``q.*`` op computes, one function for each op.

A rule derives scales, bounds and tables as TensorFlow Lite Micro does, by the functions that the
importer uses, and refuses an op whose integers are others: an exported file gives the same bits.

Versions of operators are those that the schema gives to int8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.exporters.tflite.call import Call
    from rlx.ir import Op

Rule: TypeAlias = "Callable[[Call], None]"
RULES: Final[dict[type[Op], Rule]] = {}
"""The rule of each op that can be exported."""


def rule(*ops: type[Op]) -> Callable[[Rule], Rule]:
    """Register a function as the rule of ops."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register
