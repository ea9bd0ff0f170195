"""Source of NaN or infinity: node, place in the model, operands, step of a fused op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType
from rlx.ir.evaluate import evaluate_all
from rlx.ir.graph import Source
from rlx.ops.fused import Fused
from rlx.support.text.tables import float_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, Value


def is_finite(array: Array) -> bool:
    """Whether an array holds neither NaN nor infinity; integers never do."""
    if array.dtype.kind == "f":
        return bool(np.isfinite(array).all())
    if not DType.of(array).is_float:
        return True
    # Element types that NumPy does not have, such as bfloat16.
    return bool(np.isfinite(array.astype(np.float64)).all())


def has_nan(array: Array) -> bool:
    """Whether an array holds NaN; integers never do."""
    if array.dtype.kind == "f":
        return bool(np.isnan(array).any())
    return DType.of(array).is_float and bool(np.isnan(array.astype(np.float64)).any())


def check_results(node: Node, operands: Sequence[Array], results: Sequence[Array]) -> None:
    """Raise if a node made NaN of other values, or infinity of finite ones.

    Args:
        node: The node.
        operands: Arrays that it was computed from.
        results: Arrays that it made.

    Raises:
        FloatingPointError: It did. The message names node and origin, the first index, the range
            of each operand, and of a fused op the step that did it.
    """
    bad = _first_bad(operands, results)
    if bad is not None:
        raise FloatingPointError(explain(node, operands, bad))


def check_values(graph: Graph, values: Mapping[Value, Array]) -> None:
    """Check every node of a graph that was evaluated, as :func:`check_results` does."""
    for node in graph.op_nodes:
        check_results(node, [values[o] for o in node.operands], [values[v] for v in node.results])


def _first_bad(operands: Sequence[Array], results: Sequence[Array]) -> Array | None:
    """Return a result with NaN or infinity that no operand explains."""
    bad = [array for array in results if not is_finite(array)]
    if not bad or any(has_nan(o) for o in operands):
        return None
    if all(is_finite(o) for o in operands):
        return bad[0]
    # Infinity may come of infinity, such as that of a mask; NaN shows a fault.
    return next((array for array in bad if has_nan(array)), None)


def explain(node: Node, operands: Sequence[Array], result: Array) -> str:
    """Return the message for a result that holds NaN or infinity; arguments as check_results."""
    lines = [_describe_bad_value(node, result), f"  operands: {_ranges(node, operands)}"]
    if isinstance(node.op, Fused):
        lines.append(f"  inside it: {_step_inside(node.op, operands)}")
    return "\n".join(lines)


def _describe_bad_value(node: Node, result: Array) -> str:
    """Return text that names a node, the first bad value that it made, and its index."""
    numbers: npt.NDArray[Any] = result.astype(np.float64)
    bad = np.isnan(numbers)
    if not bad.any():
        bad = ~np.isfinite(numbers)
    index = [int(i) for i in np.argwhere(bad)[0]]
    origin = f" from {node.origin}" if str(node.origin) else ""
    return (
        f"{node.op.name} {node.label}{origin} made {result[tuple(index)]} at index {index},"
        f" {int(bad.sum())} of {result.size} elements"
    )


def _ranges(node: Node, operands: Sequence[Array]) -> str:
    """Return label, type and range of each operand."""
    found = {}
    for value, array in zip(node.operands, operands, strict=True):
        found[value] = f"{value.node.label} {value.type}{_range(array)}"
    return ", ".join(found.values())


def _range(array: Array) -> str:
    if not array.size:
        return " without elements"
    numbers: npt.NDArray[Any] = array.astype(np.float64)
    return f" from {float_text(numbers.min(), 6)} to {float_text(numbers.max(), 6)}"


def _step_inside(op: Fused, operands: Sequence[Array]) -> str:
    """Return text that names the op of a body that made NaN or infinity of finite values."""
    names = (v.name for v in op.body.inputs)
    with np.errstate(all="ignore"):
        values = evaluate_all(op.body, dict(zip(names, operands, strict=True)))
    for node in op.body.nodes:
        if isinstance(node.op, Source):
            continue
        arguments = [values[o] for o in node.operands]
        if (bad := _first_bad(arguments, [values[v] for v in node.results])) is not None:
            return f"{_describe_bad_value(node, bad)}; operands: {_ranges(node, arguments)}"
    return "no op of its body makes it: the kernel does"
