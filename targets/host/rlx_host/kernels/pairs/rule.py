"""Functions of two int8 values as a table of all 65,536 results, which ``evaluate`` fills.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx_c.layer import Kernel
from rlx_host.kernels.loops import broadcast_loops
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx_host.instruction_set import InstructionSet


def pairs(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of an op that maps each pair of values separately."""
    del instructions
    values = np.arange(256, dtype=np.uint8).view(np.int8)

    def table(operands: Sequence[Array]) -> Array:
        del operands
        return np.asarray(node.op.evaluate(values[:, np.newaxis], values)[0])

    kind = node.op.name.removeprefix("q.")
    loops = broadcast_loops(node)
    split = Split.of(loops[0].extent, 4 * node.types[0].size)
    kernel = Kernel.of(kind, "pairs/kernel", {"loops": loops, "split": split is not None})
    return NativeLayer(kernel, (0, 1), (table,), split=split)
