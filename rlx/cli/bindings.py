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
    from rlx.ir.binding import symbols_of
    from rlx.passes.transforms.bind import sizes_hint, symbols
    from rlx.runtime import Session

    graph = module.graph
    if unbound := symbols(graph):
        dynamic = next(v for v in (*graph.inputs, *graph.params) if symbols_of(v.type))
        names = ", ".join(repr(printable(name)) for name in sorted(symbols_of(dynamic.type)))
        raise UsageError(
            f"{printable(dynamic.name)!r} has a dynamic dimension: {names}",
            where=f"graph {printable(graph.name)!r}",
            hint=sizes_hint(unbound),
        )
    return Session("cpu", options).compile(graph).manifest()
