"""Names of an emitted network in C.

Every name begins with the prefix: two networks may be one translation unit. Templates
write functions that are local to their file without it; :func:`with_prefix` prepends it. No
such name may end like one that other files see; a test checks that.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rlx.support.text.names import mangle

if TYPE_CHECKING:
    from rlx.ir import Value
    from rlx_c.layer import ConstantTable, Kernel
    from rlx_c.program import LayerStep, LoweredProgram

_LOCAL: Final = re.compile(r"^(?:\w+_(?:INLINE|KERNEL)|static)\b[^;({]*?(\w+)\(", re.MULTILINE)
"""Start of the definition of a function that is local to its file."""


def with_prefix(text: str, prefix: str) -> str:
    """Return C code with ``<prefix>_`` before each function that is local to it.

    Names without a parenthesis after them, such as a layer's in a comment, are unchanged.
    """
    names = "|".join(sorted(set(_LOCAL.findall(text))))
    return re.sub(rf"\b(?:{names})(?=\()", rf"{prefix}_\g<0>", text) if names else text


class Symbols:
    """Names of the functions and tables that one program defines.

    A table is named after its role and the first layer that has it. A function is named after its
    computation, with a number: layers share it.
    """

    def __init__(self, prefix: str, program: LoweredProgram) -> None:
        self.prefix = prefix
        self._program = program
        self._tables: dict[tuple[object, ...], str] = {}
        reserved: set[str] = set()
        for content, (table, named) in program.tables.items():
            name = f"{table.role} {program.steps[named.index].name}"
            symbol = mangle(name, prefix=prefix, reserved=reserved)
            reserved.add(symbol)
            self._tables[content] = symbol

    def kernel(self, kernel: Kernel) -> str:
        """Return the name of a function, which is local to its file, without the prefix."""
        return f"{kernel.kind}_{self._program.kernels[kernel].index}"

    def table(self, table: ConstantTable) -> str:
        """Return the symbol of a layer's table."""
        return self._tables[table.content]

    def constant(self, value: Value) -> str:
        """Return the symbol of a constant operand."""
        return f"{self.prefix}_constant_{self._program.constants[value]}"

    def arguments(self, step: LayerStep) -> list[str]:
        """Return the scalar arguments of a layer's call."""
        return [str(argument) for argument in step.layer.arguments]
