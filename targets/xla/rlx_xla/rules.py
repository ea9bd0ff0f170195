"""Tables of the ops that the backend lowers.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Array

    Traced: TypeAlias = Any  # an array of JAX, whose types are not checked
    Lowering: TypeAlias = Callable[..., "Traced | tuple[Traced, ...]"]
    Preparation: TypeAlias = Callable[..., Mapping[str, Array]]

RULES: RuleTable[Lowering] = RuleTable("backend xla")
"""Lowerings, called as ``rule(node, trace, *operands)`` while a graph is traced.

Operands and results are arrays of JAX. Values of 4 and 2 bits are held as int8.
"""

PREPARED: dict[type[Any], Preparation] = {}
"""For ops with constant operands that are rearranged once: ``prepare(node, as_floats=...)``.

It returns arrays by name, which are kept on the device in place of the operands, or nothing if the
operands are not constant. The rule finds them by ``trace.prepared(node)``. With ``as_floats``
integers whose products and sums are exact in float32 may be floats: processors are faster so.
"""
