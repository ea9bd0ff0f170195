"""Bindings of a model on this machine.

Tests: tests/cli/commands/test_host.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.support.errors import UsageError
from rlx.support.text.tables import printable

if TYPE_CHECKING:
    from rlx.ir import GraphModule
    from rlx.ir.manifest import BindingManifest
    from rlx.runtime import CompileOptions


def manifest(module: GraphModule, options: CompileOptions | None = None) -> BindingManifest:
    """Return the bindings of a run of a model on this machine.

    Args:
        module: The model.
        options: Options of compilation.

    Raises:
        UsageError: A dimension is a symbol.
    """
    from rlx.passes.transforms.bind import sizes_hint, symbols
    from rlx.runtime import Session

    graph = module.graph
    if unbound := symbols(graph):
        raise UsageError(
            f"has dimensions that are no numbers: {', '.join(map(printable, unbound))}",
            where=f"graph {printable(graph.name)!r}",
            hint=sizes_hint(unbound),
        )
    return Session("cpu", options).compile(graph).manifest()
