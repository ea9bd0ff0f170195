"""Functions that this package calls and modules above it supply: text, hashes and pictures.

A graph shows itself and compares itself by its hash; the modules that print and hash graphs import
the graph. ``rlx.ir`` supplies the functions of its own modules when it is imported, ``rlx`` those
of packages above.

Tests: tests/unit/ir/test_hash.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.op import Op

P = ParamSpec("P")
R = TypeVar("R")


class Supplied(Generic[P, R]):
    """A function that is called by this name and supplied once, by a module that may import more.

    Args:
        purpose: Meaning of its result, for the error where nothing was supplied.
    """

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._function: Callable[P, R] | None = None

    def supply(self, function: Callable[P, R]) -> None:
        """Call ``function`` from now on."""
        self._function = function

    @property
    def is_supplied(self) -> bool:
        """Whether there is a function to call."""
        return self._function is not None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of the supplied function."""
        assert self._function is not None, f"{self._purpose}: nothing is supplied"
        return self._function(*args, **kwargs)


format_graph: Supplied[[Graph], str] = Supplied("text form of a graph, values shortened")
summarize_graph: Supplied[[Graph], str] = Supplied("a graph in a line")
summarize_node: Supplied[[Node], str] = Supplied("a node in a line")
summarize_value: Supplied[[Value], str] = Supplied("a value in a line")
structural_hash: Supplied[[Graph], Hashable] = Supplied("hash of a graph")
regions_of: Supplied[[Op], tuple[tuple[str, Graph], ...]] = Supplied("graphs in an op")
graph_picture: Supplied[[Graph], str] = Supplied("layers of a graph as SVG")
graph_page: Supplied[[Graph, str], str] = Supplied("a graph as HTML")
rows_picture: Supplied[[Sequence[Node], Sequence[Value], Sequence[Mapping[str, Any]]], str] = (
    Supplied("the layers of a report as SVG")
)


def graph_html(graph: Graph, title: str = "") -> str | None:
    """Return a graph's size, drawing and layers, for notebooks; None if nothing draws it.

    Args:
        graph: The graph.
        title: Written before its size, such as the stage.
    """
    return graph_page(graph, title) if graph_page.is_supplied else None


def rows_svg(
    nodes: Sequence[Node], inputs: Sequence[Value], rows: Sequence[Mapping[str, Any]]
) -> str:
    """Return a drawing of the nodes that the rows of a report are about, "" if nothing draws it.

    Args:
        nodes: A node for each row.
        inputs: The network's inputs, if they are in another graph.
        rows: Figures of each layer by name.
    """
    return rows_picture(nodes, inputs, rows) if rows_picture.is_supplied else ""
