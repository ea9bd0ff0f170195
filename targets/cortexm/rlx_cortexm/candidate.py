"""A way to compute a node, with what it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx_cortexm.code_size import kernel_bytes, shared_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from rlx_cortexm.layer import Kernel, Layer


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a node.

    Attributes:
        name: Of the kernel and its variant, for reports.
        kernel: The function; its code is there once, whatever the number of layers that call it.
        lower: Makes the layer.
        instructions: Estimate for a Cortex-M4, GCC 12 at -O2.
        table_bytes: Weights and other constants of this layer in flash.
        scratch_bytes: Bytes of the arena while it runs.
        tables: Equal for candidates whose tables are the same and are stored once; None: unknown.
    """

    name: str
    kernel: Kernel | None
    lower: Callable[[], Layer]
    instructions: int
    table_bytes: int
    scratch_bytes: int
    tables: Hashable = None

    @property
    def parts(self) -> dict[Hashable, int]:
        """Bytes of what it needs in flash, by what other layers may share."""
        own = {self.tables: self.table_bytes} if self.tables is not None else {}
        if self.kernel is None:
            return own
        return own | {self.kernel: kernel_bytes(self.kernel)} | dict(shared_bytes(self.kernel))

    @property
    def flash_bytes(self) -> int:
        """Bytes of flash, whoever shares them."""
        shared = sum(shared_bytes(self.kernel).values())
        return self.table_bytes + kernel_bytes(self.kernel) + shared

    @staticmethod
    def of(layer: Layer, name: str | None = None) -> Candidate:
        """Return the candidate that is a layer already; its name is the template's if not given."""
        template = layer.kernel.template if layer.kernel is not None else "nothing"
        return Candidate(
            name or template.removesuffix("_s8").replace("_", " "),
            layer.kernel,
            lambda: layer,
            layer.instructions,
            sum(table.nbytes for table in layer.tables),
            layer.scratch_bytes,
        )
