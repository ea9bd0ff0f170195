"""The smallest network worth calling, and a C program that calls it: for tests of packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cortexm.graph_builder import emit_graph, write

from rlx.ir import Graph, i8
from rlx.ops.q import QClamp, QTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CALL = """
  int8_t x[16] = {-1, -2}, y[16];
  if (net_run(x, y, arena) != NET_OK) { return 1; }
  printf("%d %d\\n", y[0], y[1]);
  return 0;
"""
"""Body of a C function that runs the network in ``arena`` and prints :data:`PRINTED`."""

PRINTED = "1 2\n"

PROGRAM = (
    "#include <net.h>\n#include <stdio.h>\n"
    "static uint32_t arena[NET_ARENA_BYTES / 4 + 1];\n"
    f"int main(void)\n{{{CALL}}}\n"
)
"""A C program with that body."""


def network(name: str = "net") -> Graph:
    """Return a network that changes the sign of 16 values and clamps them at 0."""
    graph = Graph(name)
    negate = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))
    graph.output(graph.apply(QClamp(low=0), graph.apply(negate, graph.input("x", i8(2, 8)))))
    return graph


def folder_of(place: Path, prefix: str = "net", **options: object) -> Path:
    """Write what is emitted for the network into ``place``."""
    return write(place, emit_graph(network(), prefix, **options))


def files_of(prefix: str = "net", **options: object) -> Mapping[str, str | bytes]:
    """Return the emitted files of the network, by relative path."""
    return emit_graph(network(), prefix, **options).files
