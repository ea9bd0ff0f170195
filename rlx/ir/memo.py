"""Results about a node that are computed once and kept with the node."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir.graph import Node

ArgumentsP = ParamSpec("ArgumentsP")
ResultT = TypeVar("ResultT")


def once_per_node(
    function: Callable[Concatenate[Node, ArgumentsP], ResultT],
) -> Callable[Concatenate[Node, ArgumentsP], ResultT]:
    """Memoise a function of a node: it runs once for each node and further arguments.

    A node never changes, so neither do the results computed from it. Results live as long as the
    node: those of one compilation are freed with its graphs. Exceptions of the function are not
    kept.

    Args:
        function: Takes a node, then hashable arguments. Its results must not be changed.
    """

    @wraps(function)
    def remembered(node: Node, /, *args: ArgumentsP.args, **kwargs: ArgumentsP.kwargs) -> ResultT:
        key = (remembered, args, *sorted(kwargs.items()))
        if key not in node.memo:
            node.memo[key] = function(node, *args, **kwargs)
        found: ResultT = node.memo[key]
        return found

    return remembered
