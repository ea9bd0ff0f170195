"""Orders of execution that keep few bytes alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.module import Region
from rlx.plan.lifetimes import (
    elementwise_in_place,
    lifetimes,
    no_scratch,
    scratch_lifetimes,
)
from rlx.plan.orders import Orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.plan.lifetimes import InPlace, Scratch


def schedule(
    graph: Graph,
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    *,
    ports_inside: bool = False,
) -> tuple[Node, ...]:
    """Return the nodes that compute, in the order of the lowest peak found.

    Three orders are compared: the graph's own, a greedy one that leaves the fewest bytes alive
    after each step, and the best one if the graph is small enough to search them all. Of equal
    peaks the first in this list wins.
    """
    search = Orders(graph, in_place, scratch, ports_inside=ports_inside)
    orders = candidates(graph, search.lowest_peak())
    return min(
        orders,
        key=lambda order: peak_bytes(graph, order, in_place, scratch, ports_inside=ports_inside),
    )


def candidates(graph: Graph, lowest: tuple[int, tuple[Node, ...]] | None) -> list[tuple[Node, ...]]:
    """Return the orders that :func:`schedule` compares, with that of ``Orders.lowest_peak``."""
    found = [tuple(graph.op_nodes), _fewest_bytes_first(graph)]
    return list(dict.fromkeys([*found, lowest[1]] if lowest else found))


def peak_bytes(
    graph: Graph,
    order: Sequence[Node],
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    *,
    ports_inside: bool = False,
) -> int:
    """Return the largest sum of arena bytes alive at one step: a lower bound on any arena."""
    alive = [0] * (len(order) + 1)
    buffers = lifetimes(graph, order, in_place, ports_inside=ports_inside)
    for buffer in (*buffers, *scratch_lifetimes(order, scratch)):
        if buffer.region is Region.ARENA:
            for step in range(max(buffer.first, 0), buffer.last + 1):
                alive[step] += buffer.nbytes
    return max(alive)


def _fewest_bytes_first(graph: Graph) -> tuple[Node, ...]:
    """Return a topological order that always takes the ready node with the best balance."""
    waiting = list(graph.op_nodes)
    users = {value: len(nodes) for value, nodes in graph.users().items()}
    for value in graph.outputs:
        users[value] += 1
    done = set(graph.nodes) - set(waiting)
    order: list[Node] = []
    while waiting:
        ready = [n for n in waiting if all(o.node in done for o in n.operands)]
        best = min(ready, key=lambda n: (_balance(n, users), n.index))
        waiting.remove(best)
        done.add(best)
        order.append(best)
        for operand in best.operands:
            users[operand] -= 1
    return tuple(order)


def _balance(node: Node, users: dict[Value, int]) -> int:
    """Return bytes that running ``node`` adds minus those that it frees."""
    freed = sum(
        o.type.nbytes
        for o in dict.fromkeys(node.operands)
        if o.constant is None and users[o] == node.operands.count(o)
    )
    return sum(t.nbytes for t in node.types) - freed
