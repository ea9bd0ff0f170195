"""The table of ``RLX_DEBUG=kernels``: which kernel each layer got, and why the others lost."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from rlx.ir.layer_names import layer_names
from rlx.support import config
from rlx.support.text.tables import Column, Table, lay_out
from rlx_c.losers import losers
from rlx_cortexm.code_size import code_sizes
from rlx_cortexm.kernels.rules import tactics_of
from rlx_cortexm.program import choice_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import GraphModule, Node
    from rlx_c.candidate import Candidate
    from rlx_c.losers import RejectedKernel
    from rlx_cortexm.core import CortexCore
    from rlx_cortexm.program import KernelSettings

_COLUMNS = (
    Column("layer"), Column("op"), Column("kernel"), Column("instructions", right=True),
    Column("flash", "B", right=True), Column("scratch", "B", right=True), Column("reason"),
)  # fmt: skip


def debug_kernels(module: GraphModule, settings: KernelSettings, cpu: str) -> None:
    """Print the table on standard error if the setting ``debug`` selects it.

    Args:
        module: A module at stage LIR.
        settings: Settings by which its kernels are chosen.
        cpu: Name of the processor.
    """
    if config.current().debug == "kernels":
        lines = lay_out(kernel_table(module, settings, cpu)).lines
        sys.stderr.write("".join(f"{line.text}\n" for line in lines))


def kernel_table(module: GraphModule, settings: KernelSettings, cpu: str) -> Table:
    """Return the kernels of each layer: the chosen one, the others by cost, those that do not fit.

    Args:
        module: A module at stage LIR.
        settings: Settings by which its kernels are chosen.
        cpu: Name of the processor.
    """
    assert module.plan is not None
    choice = choice_of(module.plan, settings)
    rows: list[tuple[object, ...]] = []
    names = layer_names(module.graph)
    layers = zip(
        module.plan.schedule, choice.candidates, losers(choice, settings.code_sizes), strict=True
    )
    for node, candidate, alternatives in layers:
        rows += _rows(names[node], node, candidate, alternatives, settings.core)
    price = choice.objective
    title = (
        f"Kernels on a {cpu}: a byte of flash counts as {price.flash:,} instructions, one of RAM as"
        f" {price.ram:,}"
    )
    return Table(title, _COLUMNS, tuple(rows))


def _rows(
    name: str,
    node: Node,
    candidate: Candidate,
    alternatives: Sequence[RejectedKernel],
    core: CortexCore,
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of one layer."""
    yield (name, node.op.name, *_figures(candidate), "chosen")
    for loser in alternatives:
        yield ("", "", *_figures(loser.candidate), loser.reason)
    if candidate.kernel is None:
        return
    for name, reason in _absent(node, core):
        yield ("", "", name, None, None, None, reason)


def _figures(candidate: Candidate) -> tuple[object, ...]:
    flash = candidate.flash_bytes(code_sizes)
    return candidate.name, candidate.instructions, flash, candidate.scratch_bytes


def _absent(node: Node, core: CortexCore) -> Iterator[tuple[str, str]]:
    """Yield the tactics without a kernel for a node, each with the reason."""
    reasons: dict[str, str] = {}
    present = set()
    for tactic in tactics_of(node):
        match = re.match(r"`(.+?)`", tactic.summary)
        name = match[1] if match else "?"
        if tactic.vectors and not core.vectors:
            reasons[name] = "needs the vector extension MVE"
        elif tactic.on(node, core):
            present.add(name)
        else:
            reasons[name] = "does not apply to this layer"
    yield from ((name, reason) for name, reason in reasons.items() if name not in present)
