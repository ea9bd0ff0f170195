"""Layers in stripes of rows, where most bytes of the arena are alive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.ir import Input
from rlx.ir.module import Region
from rlx.memory import alive_bytes
from rlx.passes.stripes import RowChain, chains, with_stripes
from rlx_cortexm.kernels.rules import candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Graph, GraphModule, MemoryPlan, Value
    from rlx.passes.stripes import Rows
    from rlx_cortexm.core import CortexCore

MAX_VARIANTS: Final = 4
"""Candidates whose graph is built and planned."""

STRIPE_COUNTS: Final = (2, 3, 4, 6, 8, 12)
"""Numbers of stripes that an image may be cut into."""

MAX_STRIPED_LAYERS: Final = 48
"""Layers that the stripes of a chain may have in all: each is a call, and some are code."""


@dataclass(frozen=True, slots=True)
class StripedChain:
    """A way to compute a part of a graph in stripes.

    Attributes:
        chain: The part.
        rows: Rows of a stripe.
        peak: Approximate maximum of live bytes, in the whole graph.
        work: Approximate number of added instructions.
    """

    chain: RowChain
    rows: int
    peak: int
    work: int


def variants(module: GraphModule, core: CortexCore, ram: int | None) -> list[Graph]:
    """Return graphs that need a smaller arena, the most promising ones.

    Args:
        module: A module at stage LIR.
        core: Core that the kernels run on.
        ram: Bytes that the arena may have: stripes within it that add the fewest instructions
            are searched; None: those with the smallest arena.
    """
    plan = module.plan
    if plan is None:
        raise ValueError(f"expected a module at stage lir, got {module.stage.value}")
    smaller = [
        way for way in _candidates_of(module.graph, plan, core) if way.peak < plan.arena_bytes
    ]
    best = sorted(smaller, key=lambda way: (way.peak, way.work, way.rows))
    if ram is not None:
        fitting = [way for way in smaller if way.peak <= ram]
        best = sorted(fitting, key=lambda way: (way.work, way.peak, way.rows)) or best
    return [with_stripes(module.graph, way.chain, way.rows) for way in best[:MAX_VARIANTS]]


def _candidates_of(graph: Graph, plan: MemoryPlan, core: CortexCore) -> Iterator[StripedChain]:
    """Yield the ways that include the step with the most live bytes."""
    alive = alive_bytes(plan)
    if not alive:  # only views of the inputs: no layer runs
        return
    steps = {node: step for step, node in enumerate(plan.schedule)}
    top = plan.schedule[alive.index(max(alive))]
    for chain in chains(graph):
        if top not in chain.nodes:
            continue
        top_index = chain.nodes.index(top)
        costs = [min(c.instructions for c in candidates(node, core)) for node in chain.nodes]
        for begin in range(top_index + 1):
            for end in range(max(top_index, begin + 1) + 1, len(chain.nodes) + 1):
                part = RowChain(chain.nodes[begin:end])
                chain_steps = {steps[node] for node in part.nodes}
                other_bytes = max(
                    (n for s, n in enumerate(alive) if s not in chain_steps), default=0
                )
                yield from _cuts(part, other_bytes, costs[begin:end], plan)


def _cuts(
    chain: RowChain, other_bytes: int, costs: Sequence[int], plan: MemoryPlan
) -> Iterator[StripedChain]:
    """Yield the ways to cut one chain."""
    ends = (chain.source, chain.nodes[-1].result)
    # Input and output of the chain are live all the time.
    around = sum(v.type.nbytes for v in ends if plan.of(v).region is Region.ARENA)
    for rows in sorted({-(-chain.height // stripes) for stripes in STRIPE_COUNTS}):
        if rows >= chain.height or -(-chain.height // rows) * len(chain.nodes) > MAX_STRIPED_LAYERS:
            continue
        try:
            stripes = chain.stripes(rows)
        except ValueError:
            continue
        if _is_aligned(chain, stripes, rows, plan):
            peak = around + max(_peak_bytes(chain, reads) for reads in stripes)
            yield StripedChain(chain, rows, max(peak, other_bytes), _work(chain, stripes, costs))


def _is_aligned(
    chain: RowChain, stripes: Sequence[Sequence[Rows]], rows: int, plan: MemoryPlan
) -> bool:
    """Whether stripes begin at aligned offsets of the arena, so that copies are not needed."""
    source = isinstance(chain.source.node.op, Input) or all(
        reads[0].first * _row_bytes(chain.source) % plan.alignment == 0 for reads in stripes
    )
    return source and rows * _row_bytes(chain.nodes[-1].result) % plan.alignment == 0


def _row_bytes(value: Value) -> int:
    _, _, width, channels = value.type.static_shape
    return width * channels


def _peak_bytes(chain: RowChain, reads: Sequence[Rows]) -> int:
    """Return the most bytes alive between source and result of one stripe."""
    inner = [
        rows.count * _row_bytes(node.operands[0])
        for node, rows in zip(chain.nodes, reads, strict=True)
    ][1:]
    return max(a + b for a, b in zip([0, *inner], [*inner, 0], strict=True))


def _work(chain: RowChain, stripes: Sequence[Sequence[Rows]], costs: Sequence[int]) -> int:
    """Return the instructions for rows that are computed twice."""
    added = 0.0
    for i, cost in enumerate(costs[:-1]):
        height = chain.nodes[i].types[0].static_shape[1]
        rows = sum(reads[i + 1].count for reads in stripes)
        added += cost * (rows / height - 1)
    return math.ceil(added)
