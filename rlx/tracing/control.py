"""Control flow in graphs under construction: Python functions become regions of ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir import DType
from rlx.ops.control import If, Scan, While
from rlx.tracing.region import (
    adopt,
    finish,
    flat,
    like,
    mismatch,
    shared_by,
    trace_region,
)
from rlx.tracing.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import TensorType
    from rlx.ir.dims import Dim
    from rlx.tracing.graph import Graph
    from rlx.tracing.region import Tensors, Traced


def if_(
    condition: Tensor, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Tensor
) -> Any:  # noqa: ANN401 - as the functions give
    """Return the result of one of two functions; the other one is not run.

    ::

        y = rlx.if_(x.sum() > 0.0, lambda: x * 2.0, lambda: -x)

    Both functions are traced, once. They may use any tensor of the graph around them.

    Args:
        condition: One boolean, bool[].
        then: Called with the operands; returns a tensor or a tuple of them.
        otherwise: Called with and returns the same, in the same types.
        operands: Arguments of the functions.

    Raises:
        ShapeError: The condition is not a single boolean, or the functions return different types.
        TypeError: A function returns something else than tensors.
    """
    parent = condition.builder.innermost
    if condition.shape != () or condition.dtype is not DType.BOOL:
        raise mismatch(
            parent, "if_", f"the condition must be bool[], got {condition.type}",
            "compare, and reduce the result with max() (any) or min() (all)",
        )  # fmt: skip
    arguments = [(f"x{i}", t.type) for i, t in enumerate(operands)]
    branches = [
        trace_region(parent, name, function, arguments)
        for name, function in (("then", then), ("otherwise", otherwise))
    ]
    first, second = (adopt(b, flat(b.result, f"what {b.region.name} gives")) for b in branches)
    _check_branches(parent, first, second, branches)
    shared = shared_by(*branches)
    bodies = [finish(b, r, shared) for b, r in zip(branches, (first, second), strict=True)]
    op = If(then_body=bodies[0], else_body=bodies[1])
    return like(_apply(parent, op, (condition, *operands, *shared)), branches[0].result)


def while_loop(
    condition: Callable[..., Tensor],
    body: Callable[..., Any],
    carry: Tensors,
    *,
    max_iterations: int | None = None,
) -> Any:  # noqa: ANN401 - as the carry
    """Return a carry after ``while condition(carry): carry = body(carry)``.

    ::

        i, total = rlx.while_loop(
            lambda i, total: total < 100.0, lambda i, total: (i + 1, total + x[i]), (zero, start)
        )

    Both functions are traced, once, and called with the tensors of the carry. They may use any
    tensor of the graph around them.

    Args:
        condition: Gives one boolean, bool[].
        body: Gives the carry of the next iteration, in the types of the first one.
        carry: First values: a tensor or a tuple of them.
        max_iterations: The loop ends after this number; None for no bound.

    Raises:
        ShapeError: The condition is not a single boolean, or the body returns a carry of other
            types.
        TypeError: A function returns something else than tensors.
    """
    carries = flat(carry, "the carry")
    parent = _builder(carries, "while_loop needs a tensor to carry")
    arguments = [(f"carry{i}", t.type) for i, t in enumerate(carries)]
    condition_region = trace_region(parent, "condition", condition, arguments)
    body_region = trace_region(parent, "body", body, arguments)
    (answer,) = flat(condition_region.result, "what the condition gives") or (None,)
    if answer is None or answer.shape != () or answer.dtype is not DType.BOOL:
        actual = "nothing" if answer is None else str(answer.type)
        raise mismatch(
            parent, "while_loop", f"the condition must give bool[], got {actual}",
            "compare, and reduce the result with max() (any) or min() (all)",
        )  # fmt: skip
    following = adopt(body_region, flat(body_region.result, "what the body gives"))
    _check_carry(parent, "while_loop", following, carries)
    answers = adopt(condition_region, (answer,))
    shared = shared_by(condition_region, body_region)
    op = While(
        condition=finish(condition_region, answers, shared),
        body=finish(body_region, following, shared),
        max_iterations=max_iterations,
    )
    return like(_apply(parent, op, (*carries, *shared)), carry)


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Tensors,
    xs: Tensors = None,
    *,
    length: int | Dim | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Return the last carry, and the values collected by the steps, stacked along a new first axis.

    ``for t in range(length): carry, ys[t] = step(carry, xs[t])``

    ::

        total, sums = rlx.scan(lambda total, x: (total + x, total + x), start, xs)

    The function is traced, once. It may use any tensor of the graph around it.

    Args:
        step: Called with a carry and one element of ``xs``; returns the next carry, in the types of
            the first one, and the values to collect: a tensor, a tuple of them or None.
        carry: First values: a tensor, a tuple of them or None.
        xs: Taken apart along the first axis: a tensor, a tuple of them or None.
        length: Number of steps; may be left out where ``xs`` says it.
        reverse: Whether the last element comes first. Each collected value is at its place.

    Raises:
        ShapeError: ``xs`` differ in length, or the function returns a carry of other types.
        TypeError: The function returns something else than a carry and collected values.
    """
    carries, scanned = flat(carry, "the carry"), flat(xs, "xs")
    parent = _builder((*carries, *scanned), "scan needs a tensor to carry or to take apart")
    length = _length(parent, scanned, length)
    arguments = [
        *((f"carry{i}", t.type) for i, t in enumerate(carries)),
        *((f"x{i}", t.type.with_shape(t.shape[1:])) for i, t in enumerate(scanned)),
    ]
    count = len(carries)
    traced = trace_region(
        parent, "step", step, arguments,
        lambda inputs: (like(inputs[:count], carry), like(inputs[count:], xs)),
    )  # fmt: skip
    following, collected = _pair(traced.result)
    next_carries = adopt(traced, flat(following, "the carry that the step gives"))
    stacked = adopt(traced, flat(collected, "what the step collects"))
    _check_carry(parent, "scan", next_carries, carries)
    shared = shared_by(traced)
    op = Scan(
        body=finish(traced, (*next_carries, *stacked), shared),
        carries=count, scanned=len(scanned), length=length, reverse=reverse,
    )  # fmt: skip
    results = _apply(parent, op, (*carries, *scanned, *shared))
    return like(results[:count], carry), like(results[count:], collected)


def _builder(tensors: Sequence[Tensor], otherwise: str) -> Graph:
    """Return the graph that ops on ``tensors`` are added to; raise TypeError if there are none."""
    if not tensors:
        raise TypeError(otherwise)
    return tensors[0].builder.innermost


def _apply(parent: Graph, op: If | While | Scan, operands: Sequence[Tensor]) -> list[Tensor]:
    """Append ``op`` and return its results."""
    return [Tensor(parent, v) for v in parent.append(op, *operands).results]


def _length(parent: Graph, scanned: Sequence[Tensor], length: int | Dim | None) -> int | Dim:
    """Return the number of steps of a scan."""
    for index, tensor in enumerate(scanned):
        if tensor.ndim == 0:
            raise mismatch(
                parent, "scan", f"tensor {index} of xs is {tensor.type}, expected an axis to scan",
                "use it in the step as it is, without giving it as xs",
            )  # fmt: skip
        if length is not None and tensor.shape[0] != length:
            raise mismatch(
                parent, "scan", f"tensor {index} of xs begins with a dimension of"
                f" {tensor.shape[0]}, got {length}",
                "all of xs need the same first dimension, the number of steps",
            )  # fmt: skip
        length = tensor.shape[0]
    if length is None:
        raise TypeError("scan without xs needs a length")
    return length


def _pair(result: object) -> tuple[object, object]:
    """Return the two things that the step of a scan returns."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            "the step must give a pair: the next carry, and what is collected (None for nothing),"
            f" got {type(result).__name__}"
        )
    return result[0], result[1]


def _check_branches(
    parent: Graph, first: Sequence[Tensor], second: Sequence[Tensor], branches: Sequence[Traced]
) -> None:
    """Raise ShapeError unless both branches return the same types."""
    hint = "both branches must give the same number of tensors, of the same types"
    if len(first) != len(second) or not first:
        message = f"{branches[0].region.name} gives {len(first)} tensors, {len(second)} otherwise"
        raise mismatch(parent, "if_", message, hint)
    for index, (a, b) in enumerate(zip(first, second, strict=True)):
        if _differ(a.type, b.type):
            message = f"tensor {index} is {a.type} in one branch and {b.type} in the other"
            raise mismatch(parent, "if_", message, hint)


def _check_carry(
    parent: Graph, what: str, next_carries: Sequence[Tensor], carries: Sequence[Tensor]
) -> None:
    """Raise ShapeError unless the next carry has the types of the first one."""
    if len(next_carries) != len(carries):
        raise mismatch(
            parent, what,
            f"the next carry has {len(next_carries)} tensors, the first one {len(carries)}",
            "give the carry back in the form that the function got it in",
        )  # fmt: skip
    for index, (next_tensor, first_tensor) in enumerate(zip(next_carries, carries, strict=True)):
        if _differ(next_tensor.type, first_tensor.type):
            raise mismatch(
                parent, what,
                f"carry {index} is {first_tensor.type}, but {next_tensor.type} after a step",
                "a carry keeps its type: cast or reshape it in the function, or before the loop",
            )  # fmt: skip


def _differ(first: TensorType, second: TensorType) -> bool:
    """Return whether shapes or element types differ."""
    return (first.shape, first.dtype) != (second.shape, second.dtype)
