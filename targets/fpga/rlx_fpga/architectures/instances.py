"""Names of layers as identifiers of hardware.

Tests: tests/targets/fpga/packaging/test_netlist.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rlx.ir.layer_names import layer_names
from rlx.support.text.names import mangle

if TYPE_CHECKING:
    from rlx.ir import Graph, Node

_DERIVED: Final = re.compile(r"(?:.*_)?(?:queue|width|register|fork)|(?:in|out)\d*|ports|take")
"""Names that cells between layers have, after a layer or a port, and names of ports."""


def named_instances(graph: Graph) -> dict[Node, tuple[str, str]]:
    """Return the name of each node that computes, and the identifier of its instance.

    Identifiers are the names, mangled, without a number as prefix: all differ, also from those of
    cells between two layers, which are named after a layer or a port of the core.
    """
    names = layer_names(graph)
    reserved: set[str] = set()
    instances: dict[Node, tuple[str, str]] = {}
    for node in graph.op_nodes:
        name = names[node]
        base = f"{name}_layer" if _DERIVED.fullmatch(mangle(name)) else name
        identifier = mangle(base, reserved=reserved)
        reserved.add(identifier)
        instances[node] = name, identifier
    return instances
