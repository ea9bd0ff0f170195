"""Order of execution and places in the arena, as this target needs them.

Tests: tests/targets/cortexm/test_target.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rlx.memory import elementwise_in_place, to_lir
from rlx.ops.q import QLstmCell, QSoftmax, QSvdfState
from rlx.passes.fit import chains_as_ops
from rlx_c.choice import OBJECTIVES
from rlx_cortexm.code_size import code_bytes, with_margin
from rlx_cortexm.kernels.rules import lowering
from rlx_cortexm.program import KernelSettings, min_scratch, program
from rlx_cortexm.streaming import variants
from rlx_cortexm.weights_file import VARIABLE_BYTES

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Node
    from rlx_c.program import LoweredProgram
    from rlx_cortexm.options import CortexMOptions

MAX_STRIPED_REGIONS = 2
"""Regions of a graph that may be computed in stripes: one is chosen in each round."""


def in_place(node: Node) -> tuple[int, ...]:
    """Return the operands whose bytes the node's result may overwrite."""
    if isinstance(node.op, QSoftmax):
        return (0,)
    if isinstance(node.op, QLstmCell):
        return (2,)
    if isinstance(node.op, QSvdfState):
        return (1,)
    return elementwise_in_place(node)


def settings_of(options: CortexMOptions) -> KernelSettings:
    """Return the settings of the choice of kernels, from the options."""
    in_file, ram = options.weights_in_file, options.ram
    if in_file and ram is not None:
        ram = max(ram - VARIABLE_BYTES, 0)
    return KernelSettings(options.optimize, ram, options.flash, options.core, in_file)


def plan(module: GraphModule, options: CortexMOptions) -> GraphModule:
    """Return ``module`` at stage LIR, with space for the minimum scratch memory of every node.

    With a limit on RAM or ``--optimize ram``, layers may be computed in stripes of rows. With a
    limit on flash, the ops of all chains replace their tables where that is cheaper: tables may
    exceed the limit, or leave too little for fast kernels.
    """
    settings = settings_of(options)
    best = _plan_rows(module, settings, options.in_arena)
    if settings.flash is None:
        return best
    other = chains_as_ops(module, "cortexm", lambda node: lowering(node, settings.core))
    if other is None:
        return best
    plain = _plan_rows(other, settings, options.in_arena)
    return min(best, plain, key=lambda lir: _price(program(lir, settings), settings))


def _plan_rows(module: GraphModule, settings: KernelSettings, ports_in_arena: bool) -> GraphModule:
    """Return the plan for a graph, or for a form of it with layers in stripes of rows."""
    best = _plan_graph(module, settings, ports_in_arena, search=True)
    if settings.ram is None and settings.optimize != "ram":
        return best
    price = _price(program(best, settings), settings)
    for _ in range(MAX_STRIPED_REGIONS):
        tried = [
            _plan_graph(module.with_graph(graph), settings, ports_in_arena, search=False)
            for graph in variants(best, settings.core, settings.ram)
        ]
        priced = [(_price(program(lir, settings), settings), lir) for lir in tried]
        cheapest = min(priced, key=lambda pair: pair[0], default=(price, best))
        if cheapest[0] >= price:
            break
        price, best = cheapest
    return best


def _plan_graph(
    module: GraphModule, settings: KernelSettings, ports_in_arena: bool, *, search: bool
) -> GraphModule:
    return to_lir(
        module,
        in_place=in_place,
        scratch=partial(min_scratch, core=settings.core),
        ports_inside=ports_in_arena,
        search=search,
        states=True,
    )


def _price(lowered: LoweredProgram, settings: KernelSettings) -> tuple[int, int]:
    """Return the amounts to minimise: bytes beyond the limits, then the objective's cost."""
    code = code_bytes(lowered.kernels, len(lowered.steps))
    flash = code + lowered.constant_bytes
    limited = with_margin(code, settings.core) + (
        0 if settings.constants_in_file else lowered.constant_bytes
    )
    over = sum(
        max(found - limit, 0)
        for found, limit in ((lowered.arena_bytes, settings.ram), (limited, settings.flash))
        if limit is not None
    )
    objective = OBJECTIVES[settings.optimize]
    instructions = sum(step.layer.instructions for step in lowered.steps)
    cost = instructions + objective.flash * flash + objective.ram * lowered.arena_bytes
    return over, cost
