"""Order of execution and places in the arena, as this target needs them."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from rlx.ops.q import QSoftmax
from rlx.plan import elementwise_in_place, to_lir
from rlx_cortexm.program import least_scratch

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Node
    from rlx_cortexm.options import CortexMOptions


def in_place(node: Node) -> tuple[int, ...]:
    """Return the operands whose bytes the node's result may overwrite."""
    if isinstance(node.op, QSoftmax):
        return (0,)
    return elementwise_in_place(node)


def plan(module: GraphModule, options: CortexMOptions) -> GraphModule:
    """Return ``module`` at stage LIR, with room for the least scratch memory of every node."""
    return to_lir(
        module,
        in_place=in_place,
        scratch=cache(partial(least_scratch, core=options.core)),
        ports_inside=options.io == "arena",
    )
