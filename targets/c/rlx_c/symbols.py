"""Names of an emitted network in C.

Every name begins with the prefix: two networks may be one translation unit. Templates
write functions that are local to their file without it; :func:`with_prefix` prepends it. No
such name may end like one that other files see; a test checks that.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rlx.ir import Value
    from rlx_c.layer import ConstantTable, Kernel
    from rlx_c.program import LayerStep, LoweredProgram

_LOCAL: Final = re.compile(r"^(?:\w+_(?:INLINE|KERNEL)|static)\b[^;({]*?(\w+)\(", re.MULTILINE)
"""Start of the definition of a function that is local to its file."""


def with_prefix(text: str, prefix: str) -> str:
    """Return C code with ``<prefix>_`` before each function that is local to it.

    Layers are called like the functions that compute them: their names in comments and strings,
    which no parenthesis follows, stay as they are.
    """
    names = "|".join(sorted(set(_LOCAL.findall(text))))
    return re.sub(rf"\b(?:{names})(?=\()", rf"{prefix}_\g<0>", text) if names else text


class Symbols:
    """Names of everything that one program defines."""

    def __init__(self, prefix: str, program: LoweredProgram) -> None:
        self.prefix = prefix
        self._program = program

    def kernel(self, kernel: Kernel) -> str:
        """Return the name of a function, which is local to its file, without the prefix."""
        return f"{kernel.kind}_{self._program.kernels[kernel].index}"

    def table(self, table: ConstantTable) -> str:
        """Return the symbol of a layer's table."""
        emitted, named = self._program.table_of(table)
        return f"{self.prefix}_{emitted.role}_{named.index}"

    def constant(self, value: Value) -> str:
        """Return the symbol of a constant operand."""
        return f"{self.prefix}_constant_{self._program.constants[value]}"


def layer_name(step: LayerStep) -> str:
    """Return the name of a layer: what computes it, and its place.

    The function may be called after an earlier layer that shares it, see :meth:`Symbols.kernel`.
    """
    kernel = step.layer.kernel
    kind = step.node.op.name.partition(".")[2] if kernel is None else kernel.kind
    return f"{kind}_{step.index}"
