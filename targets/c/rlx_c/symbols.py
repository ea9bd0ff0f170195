"""Names of an emitted network in C.

What other files see is called by the prefix, a role and a number; functions are local to their file
and have no prefix. No file-local name may end like a name with the prefix; a test checks that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.ir import Value
    from rlx_c.layer import ConstantTable, Kernel
    from rlx_c.program import LoweredProgram, Step


class Symbols:
    """Names of everything that one program defines."""

    def __init__(self, prefix: str, program: LoweredProgram) -> None:
        self.prefix = prefix
        self._program = program

    def kernel(self, kernel: Kernel) -> str:
        """Return the name of a function, which is local to its file."""
        return f"{kernel.kind}_{self._program.kernels[kernel].index}"

    def table(self, table: ConstantTable) -> str:
        """Return the symbol of a layer's table."""
        emitted, named = self._program.table_of(table)
        return f"{self.prefix}_{emitted.role}_{named.index}"

    def constant(self, value: Value) -> str:
        """Return the symbol of a constant operand."""
        return f"{self.prefix}_constant_{self._program.constants[value]}"


def layer_name(step: Step) -> str:
    """Return the name of a layer: what computes it, and its place.

    The function may be called after an earlier layer that shares it, see :meth:`Symbols.kernel`.
    """
    kernel = step.layer.kernel
    kind = step.node.op.name.partition(".")[2] if kernel is None else kernel.kind
    return f"{kind}_{step.index}"
