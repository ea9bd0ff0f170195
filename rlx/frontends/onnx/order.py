"""The order of a graph's nodes: a file may list them in any, since runtimes accept that.

Tests: tests/unit/frontends/onnx/test_structure.py
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.file import Node


def in_order(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return nodes so that each is after those whose results it reads.

    The order of the file is kept where possible. Nodes of a cycle, and those after it, come last,
    and nothing moves where a name is written twice: the check of the graph refuses that.
    """
    named = [(name, index) for index, n in enumerate(nodes) for name in n.outputs if name]
    writers = dict(named)
    if len(writers) < len(named):
        return tuple(nodes)
    readers: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for index, node in enumerate(nodes):
        for writer in {writers[name] for name in node.reads if name in writers} - {index}:
            readers[writer].append(index)
            missing[index] += 1
    ready = [index for index, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    order += sorted(set(range(len(nodes))) - set(order))
    return tuple(nodes[index] for index in order)


def needed(nodes: Sequence[Node], outputs: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes, in order already, on which some of ``outputs`` depend."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted |= node.reads
            kept.append(node)
    return tuple(reversed(kept))
