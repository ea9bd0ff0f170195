"""Constants of an emitted network, as the templates see them.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx_c.layer import ConstantTable
from rlx_c.ports import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Value
    from rlx_c.program import LoweredProgram
    from rlx_c.symbols import Symbols


_MAX_USERS: Final = 3
"""Layers that a comment names."""


def tables_of(program: LoweredProgram, symbols: Symbols) -> list[dict[str, Any]]:
    """Return the values that the templates print of each table of a program."""
    tables = [
        (symbols.table(table), table, users_text(named.users, program))
        for table, named in program.tables.values()
    ]
    constants = [
        (symbols.constant(value), _table(value), "An operand") for value in program.constants
    ]
    return [_row(symbols.prefix, *table) for table in (*tables, *constants)]


def users_text(steps: Sequence[int], program: LoweredProgram) -> str:
    """Return the layers of ``steps`` for a comment, at most three by name."""
    names = [program.steps[step].name for step in steps[:_MAX_USERS]]
    more = f" and {len(steps) - _MAX_USERS} more" if len(steps) > _MAX_USERS else ""
    return f"Layer{'s' if len(steps) > 1 else ''} {', '.join(names)}{more}"


def _row(prefix: str, symbol: str, table: ConstantTable, users: str) -> dict[str, Any]:
    channel = table.element == "channel"
    return {
        "symbol": symbol,
        "type": f"{prefix}_channel" if channel else table.element,
        "channel": channel,
        "length": len(table.data),
        "note": table.note,
        "users": users,
        "data": table.data,
    }


def _table(value: Value) -> ConstantTable:
    """Return the table of a constant operand."""
    data = value.constant
    if data is None:
        raise AssertionError(f"expected a constant, got {value.node.label}")
    # Weights of fewer bits are stored a byte each where they are an operand.
    element = C_TYPES.get(value.type.dtype, "int8_t")
    content = np.asarray(data).reshape(-1)
    return ConstantTable("constant", element, content, f"constant {value.type}")
