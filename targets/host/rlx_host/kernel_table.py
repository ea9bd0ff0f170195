"""Table of the code that computes each node, which the setting ``debug`` prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rlx.ir.layer_names import name_nodes
from rlx.support import config
from rlx.support.text.tables import Column, Table, lay_out

if TYPE_CHECKING:
    from rlx.ir import GraphModule
    from rlx_host.program import NativeCode

_COLUMNS = (Column("layer"), Column("op"), Column("code"), Column("reason"))


def debug_kernels(module: GraphModule, code: NativeCode) -> None:
    """Print the table on standard error if the setting ``debug`` selects it."""
    if config.current().debug == "kernels":
        lines = lay_out(kernel_table(module, code)).lines
        sys.stderr.write("".join(f"{line.text}\n" for line in lines))


def kernel_table(module: GraphModule, code: NativeCode) -> Table:
    """Return the kernel of each node in C, and the reason that NumPy runs each other one."""
    assert module.plan is not None
    nodes = [n for n in module.plan.schedule if n in code.steps or n in code.refusals]
    names = name_nodes(nodes)
    rows = [
        (
            (names[n], n.op.name, code.steps[n].layer.kernel.template.partition("/")[0], "")
            if n in code.steps
            else (names[n], n.op.name, "NumPy", code.refusals[n].reason)
        )
        for n in nodes
    ]
    return Table(f"Code of {code.instruction_set}", _COLUMNS, tuple(rows))
