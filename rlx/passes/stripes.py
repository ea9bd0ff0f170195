"""Compute images in stripes of rows, so that less of the intermediate tensors is alive at a time.

A chain of convolutions, pools and elementwise ops computes rows from rows. Here its last result is
computed some rows at a time: each stripe runs through the whole chain on the rows that it needs,
and the stripes are joined. Rows that two stripes need are computed twice. No value changes. Each
layer of a stripe is called after its layer, as ``conv1_part3``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from rlx.ir import rebuild
from rlx.ops.q import QAveragePool2d, QConcat, QConv2d, QMaxPool2d, QSlice
from rlx.passes.dead_code import DeadCode
from rlx.support.text.names import COMMENT_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Graph, Node, Origin, Value
    from rlx.ir.op import Op

_WINDOWED = (QConv2d, QAveragePool2d, QMaxPool2d)
PASS = "stripes"
"""Name recorded in the origin of nodes made here."""

_ROWS = 1
"""Axis of the rows of an NHWC tensor."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an operand that some rows of a result need.

    Attributes:
        first: First row.
        last: End (not included).
        above: Rows of padding above them.
        below: Rows of padding below them.
    """

    first: int
    last: int
    above: int
    below: int

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class RowChain:
    """Nodes that each compute rows from the rows of the one before.

    Attributes:
        nodes: The nodes; only the last one's result is read elsewhere.
    """

    nodes: tuple[Node, ...]

    @property
    def source(self) -> Value:
        """Operand of the first node."""
        return self.nodes[0].operands[0]

    @property
    def height(self) -> int:
        """Rows of the result."""
        return self.nodes[-1].types[0].static_shape[_ROWS]

    def stripes(self, rows: int) -> list[list[Rows]]:
        """Return for each stripe of ``rows`` rows the rows that each node reads.

        Raises:
            ValueError: A stripe would read nothing but padding.
        """
        return [
            self._reads(first, min(first + rows, self.height))
            for first in range(0, self.height, rows)
        ]

    def _reads(self, first: int, last: int) -> list[Rows]:
        reads: list[Rows] = []
        for node in reversed(self.nodes):
            found = rows_needed(node.op, first, last, node.operands[0].type.static_shape[_ROWS])
            reads.append(found)
            first, last = found.first, found.last
        return reads[::-1]


def rows_needed(op: Op, first: int, last: int, height: int) -> Rows:
    """Return the operand rows, of ``height`` in all, that result rows ``first`` to ``last`` need.

    Raises:
        ValueError: They need nothing but padding.
    """
    if not isinstance(op, _WINDOWED):
        return Rows(first, last, 0, 0)
    window = op.window
    begin = first * window.stride[0] - window.padding[0][0]
    end = (last - 1) * window.stride[0] - window.padding[0][0] + window.extent[0]
    rows = Rows(max(begin, 0), min(end, height), max(-begin, 0), max(end - height, 0))
    if rows.count < 1:
        raise ValueError("a stripe reads nothing but padding")
    return rows


def chains(graph: Graph) -> Iterator[RowChain]:
    """Yield the chains of a graph that cannot be longer; nodes already in stripes are left out."""
    users = graph.users()
    outputs = set(graph.outputs)
    covered: set[Node] = set()
    for node in graph.op_nodes:
        if node in covered or not _is_row_wise(node) or PASS in node.origin.passes:
            continue
        nodes = [node]
        # Only a value that one node reads need not be kept whole.
        while (value := nodes[-1].result) not in outputs and len(users[value]) == 1:
            (user,) = users[value]
            if not _is_row_wise(user):
                break
            nodes.append(user)
        covered.update(nodes)
        yield RowChain(tuple(nodes))


def _is_row_wise(node: Node) -> bool:
    """Return whether a node computes rows of one image from rows of another, and constants."""
    type_ = node.operands[0].type if node.operands else None
    return (
        type_ is not None
        and type_.rank == 4
        and type_.static_shape[0] == 1
        and node.operands[0].constant is None
        and all(o.constant is not None for o in node.operands[1:])
        and (isinstance(node.op, _WINDOWED) or _is_same_in_every_row(node))
    )


def _is_same_in_every_row(node: Node) -> bool:
    """Return whether a node does the same to each row: elementwise, its constants without rows."""
    return (
        node.op.traits.elementwise
        and node.types[0].shape == node.operands[0].type.shape
        and all(o.type.rank < 3 or o.type.shape[-3] == 1 for o in node.operands[1:])
    )


def with_stripes(graph: Graph, chain: RowChain, rows: int) -> Graph:
    """Return ``graph`` with the result of ``chain`` computed ``rows`` rows at a time.

    Args:
        graph: A graph.
        chain: A chain of it, or a part of one.
        rows: Rows of a stripe; the last one may have less.

    Raises:
        ValueError: A stripe would read nothing but padding.
    """
    stripes = chain.stripes(rows)
    operands_of: dict[Node, tuple[Value, ...]] = {}

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node in chain.nodes:
            operands_of[node] = operands
        if node != chain.nodes[-1]:
            return None  # dead nodes are removed below
        source = operands_of[chain.nodes[0]][0]
        parts = [
            _stripe(new, chain, reads, source, operands_of, number)
            for number, reads in enumerate(stripes, 1)
        ]
        return [new.apply(QConcat(axis=_ROWS), *parts, quant=node.types[0].quant)]

    return DeadCode().apply(rebuild(graph, visit, by=PASS))


def _stripe(
    new: Graph,
    chain: RowChain,
    reads: Sequence[Rows],
    source: Value,
    operands_of: dict[Node, tuple[Value, ...]],
    number: int,
) -> Value:
    """Append one stripe, and return its rows of the result."""
    value = _slice(new, source, reads[0], _part_origin(chain.nodes[0], number))
    for node, rows in zip(chain.nodes, reads, strict=True):
        op = _with_padding(node.op, rows)
        quant = node.types[0].quant
        origin = _part_origin(node, number)
        value = new.apply(
            op, value, *operands_of[node][1:], name=node.name, quant=quant, origin=origin
        )
    return value


def _part_origin(node: Node, number: int) -> Origin:
    """Return the origin of a layer's part, which is a layer of its own."""
    origin, suffix = node.origin.through(PASS), f"_part{number}"
    layer = origin.layer and origin.layer[: COMMENT_LENGTH - len(suffix)] + suffix
    return replace(origin, layer=layer)


def _slice(new: Graph, source: Value, rows: Rows, origin: Origin) -> Value:
    batch, height, width, channels = source.type.static_shape
    if rows.count == height:
        return source
    op = QSlice(
        start=(0, rows.first, 0, 0), stop=(batch, rows.last, width, channels), step=(1, 1, 1, 1)
    )
    return new.apply(op, source, quant=source.type.quant, origin=origin)


def _with_padding(op: Op, rows: Rows) -> Op:
    """Return an op that adds the padding of these rows only."""
    if not isinstance(op, _WINDOWED):
        return op
    windowed = cast("QConv2d", op)
    padding = ((rows.above, rows.below), windowed.window.padding[1])
    return replace(windowed, window=replace(windowed.window, padding=padding))
