"""``If``: the chosen branch where the condition is known, else a choice between both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.file import DOMAIN, Subgraph
from rlx.frontends.onnx.ops import Real, Scope
from rlx.frontends.refusal import UnsupportedError
from rlx.ir import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.ops import Call

    Results = Sequence[Real | npt.NDArray[Any] | None]

_HINT = (
    "give the input that decides it a value, as --input-value NAME=1, or export the model without "
    "control flow"
)


def is_branch(call: Call) -> bool:
    """Return whether a node is ``If`` of the standard, with branches that could be read."""
    names = ("then_branch", "else_branch")
    node = call.node
    return (node.domain, node.type) == (DOMAIN, "If") and all(
        isinstance(node.attributes.get(name), Subgraph | UnsupportedError) for name in names
    )


def branch(call: Call, expand: Callable[[Scope, Subgraph], Results]) -> Results:
    """``If``: the chosen branch where the condition is known, else a choice between both.

    A condition that is computed while the model runs chooses between the results of both branches,
    which are computed: they have no effect but their results.

    Args:
        call: The node.
        expand: Imports a branch into a scope, and returns its results; none if it was refused.
    """
    condition = call.known(0)
    if condition is not None:
        branch_name = "then_branch" if condition.reshape(-1)[:1].any() else "else_branch"
        return _import_branch(call, branch_name, expand)
    both = [_import_branch(call, name, expand) for name in ("then_branch", "else_branch")]
    if not all(both):
        return []
    chooses = call.value(0).cast(DType.BOOL).reshape()
    return [_select(call, chooses, *pair) for pair in zip(*both, strict=True)]


def _import_branch(call: Call, name: str, expand: Callable[[Scope, Subgraph], Results]) -> Results:
    graph, outer = call.attribute(name), call.scope
    assert isinstance(graph, Subgraph)  # attribute() raises the error of an unreadable one
    if len(graph.outputs) < len(call.node.outputs):
        raise call.malformed(
            f"{name} has {len(graph.outputs)} results, expected {call.node.outputs}"
        )
    inner = Scope(
        outer.model, outer.graph, outer.versions, caller=call.label, limits=outer.limits,
        folded=outer.folded,
        values={**outer.values, **{n: t.array for n, t in graph.tensors.items()}},
    )  # fmt: skip
    return expand(inner, graph)


def _select(
    call: Call, condition: Real, a: Real | npt.NDArray[Any] | None,
    b: Real | npt.NDArray[Any] | None,
) -> Real | npt.NDArray[Any] | None:  # fmt: skip
    """Return one result of both branches, chosen while the model runs."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b):
        return a
    first, second = (_value(call, x) for x in (a, b))
    if first is None or second is None or (first.dtype, first.shape) != (
        second.dtype, second.shape
    ):  # fmt: skip
        types = " and ".join("dimensions" if x is None else str(x.type) for x in (first, second))
        raise UnsupportedError(
            f"its condition is computed at run time, and its branches give {types}", hint=_HINT
        )
    return first.where(condition, second)


def _value(call: Call, result: Real | npt.NDArray[Any] | None) -> Real | None:
    if result is None or isinstance(result, Real):
        return result and Real(call.scope, result.value, call)
    return None if result.dtype == object else call.constant(result)
