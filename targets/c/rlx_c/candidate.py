"""A way to compute a node, with its cost.

Tests: tests/targets/c/test_choice.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from rlx_c.layer import Kernel, LoweredLayer

CodeSizes: TypeAlias = "Callable[[Kernel], Mapping[Hashable, int]]"
"""Returns the bytes of machine code of each function that a kernel needs: its own, by the kernel,
and those that it shares with other kernels, by their names."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a node.

    Attributes:
        name: Name of the kernel and its variant, for reports.
        kernel: The function; layers that call it share its code.
        lower: Makes the layer.
        instructions: Estimate for the target processor.
        table_bytes: Weights and other constants of this layer in flash.
        scratch_bytes: Bytes of the arena while it runs.
        byte_weights: Number of weights in its first table if that stores a byte each, else 0.
        summary: Work of its kernel, a line of Markdown, equal for all variants; may be empty.
        tables: Equal for candidates whose tables are the same and are stored once; None: unknown.
    """

    name: str
    kernel: Kernel | None
    lower: Callable[[], LoweredLayer]
    instructions: int
    table_bytes: int
    scratch_bytes: int
    tables: Hashable = None
    byte_weights: int = 0
    summary: str = ""

    def parts(self, code_sizes: CodeSizes) -> dict[Hashable, int]:
        """Return the bytes in flash of each part that other layers may share."""
        own = {self.tables: self.table_bytes} if self.tables is not None else {}
        return own if self.kernel is None else {**own, **code_sizes(self.kernel)}

    def flash_bytes(self, code_sizes: CodeSizes) -> int:
        """Return the bytes of flash, shared or not."""
        code = {} if self.kernel is None else code_sizes(self.kernel)
        return self.table_bytes + sum(code.values())

    @staticmethod
    def of(layer: LoweredLayer, name: str) -> Candidate:
        """Return the candidate of a layer that is already lowered."""
        return Candidate(
            name,
            layer.kernel,
            lambda: layer,
            layer.instructions,
            sum(table.nbytes for table in layer.tables),
            layer.scratch_bytes,
            byte_weights=_byte_weights(layer),
        )


def _byte_weights(layer: LoweredLayer) -> int:
    """Return the number of weights in the first table of a layer if they are bytes."""
    table = layer.tables[0] if layer.tables else None
    if table is None or (table.role, table.element) != ("weights", "int8_t"):
        return 0
    return int(table.data.size)


def counted(number: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one, for names of candidates."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
