"""Vectorization: a graph for many values of some inputs, along a new leading axis.

The rules are those of ``with_batch`` (``rlx.passes.transforms.batch``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.ir import Along, Input, Rewriter
from rlx.ir.dims import is_negative
from rlx.ir.module import graph_of, with_graph
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.ops.q import QDense, QLstmCell, QLstmOutput, QMatmul, QSvdf, QSvdfState
from rlx.passes.decompose import Decompose
from rlx.passes.transforms.batch import RULES, BatchingCall, rule_of
from rlx.passes.transforms.simplify import simplified
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Dim, Graph, Node, Op, TensorType, Value
    from rlx.ir.module import Given


def vmap(model: Given, size: int | Dim, inputs: Sequence[str] | str | None = None) -> Given:
    """Return a graph for ``size`` values of some inputs, along a new leading axis of each.

    Outputs that depend on them have the new axis too; the others stay as they are.

    Args:
        model: The graph.
        size: Number of values, or a symbol for it.
        inputs: Names of inputs with the new axis; None for all that are not states.

    Raises:
        ValueError: ``size`` is not positive.
        UsageError: A name is not that of an input, or the next value of a state depends on a
            vectorized input.
        ShapeError: An op mixes the values, or reads them at indices that differ.
        UnsupportedOpError: An op has no rule; the message says why.

    Example:
        >>> graph = rlx.trace("net", lambda x: (x * x).sum(), rlx.f32(3)).graph
        >>> rlx.vmap(graph, 4).outputs[0].type.shape
        (4,)
    """
    if is_negative(size - 1):
        raise ValueError(f"a batch must hold at least one input, got {size}")
    graph = Decompose(kept_ops=RULES).apply(graph_of(model))
    known = [v.name for v in graph.run_inputs]
    names = known if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, what="inputs")
            raise UsageError(f"graph {graph.name!r} has no input {name!r}", hint=hint)
    return with_graph(model, simplified(_vectorized(graph, size, set(names))))


def _vectorized(graph: Graph, size: int | Dim, names: set[str]) -> Graph:
    """Return ``graph`` with a new leading axis of the inputs of the given names."""
    batched: set[Value] = set()
    rewriter = Rewriter(graph, by="vmap")
    for node in rewriter:
        if isinstance(node.op, Input) and node.name in names:
            type_ = node.op.type.with_shape((size, *node.op.type.shape))
            rewriter.replace(node, rewriter.new.input(node.name, type_))
            batched.add(node.result)
        elif any(o in batched for o in node.operands):
            holds = tuple(o in batched for o in node.operands)
            call = BatchingCall(size, tuple(o.type for o in node.operands), holds, shift=1)
            operands = [Expression(rewriter.new, o) for o in rewriter.operands(node)]
            results = _apply(node, call, operands)
            _check(node, size, results)
            rewriter.replace(node, *(r.value for r in results))
            batched.update(node.results)
    for state, following in graph.states:
        if following in batched:
            raise UsageError(
                f"vmap would need a state {state.name!r} for each of {size} values",
                hint="name inputs that no state depends on, or make the state an input and an"
                " output",
            )
    return rewriter.finish()


def _check(node: Node, size: int | Dim, results: Sequence[Expression]) -> None:
    """Raise AssertionError if a result lacks the new axis."""
    for old, new in zip(node.types, results, strict=True):
        if new.shape != (size, *old.shape):
            raise AssertionError(f"vmap made {new.type} of {old} at {node.label}")


def _apply(node: Node, call: BatchingCall, operands: list[Expression]) -> Sequence[Expression]:
    """Append the op of a node for the whole batch and return its results."""
    op: Any = node.op
    if isinstance(op, real.RealConv) and call.batched[1]:
        return [_conv(op, call, operands)]
    if op.traits.along is Along.IMAGE or type(op) in _ROWS:
        return _on_rows(node, call, operands)
    new = rule_of(type(op))(op, call)
    if op.traits.elementwise or isinstance(op, real.RealMatmul | QMatmul):
        operands = _aligned(operands, call, max(t.rank for t in call.types))
    elif isinstance(op, real.RealBroadcastTo):
        operands = _aligned(operands, call, len(op.shape))
    else:
        shared = _SHARED.get(type(op), ())
        operands = [x if i in shared else _filled(x, call, i) for i, x in enumerate(operands)]
    return operands[0].apply_all(new, *operands[1:])


_SHARED: dict[type[Op], tuple[int, ...]] = {
    real.RealGather: (0, 1), real.RealScatter: (1,), QDense: (1, 2),
}  # fmt: skip
"""Operands that are not repeated for each value."""


def _aligned(operands: list[Expression], call: BatchingCall, rank: int) -> list[Expression]:
    """Return operands whose dimensions after the batch broadcast to ``rank`` dimensions."""
    return [
        x.reshape(call.size, *[1] * (rank - t.rank), *t.shape) if holds else x
        for x, t, holds in zip(operands, call.types, call.batched, strict=True)
    ]


def _filled(x: Expression, call: BatchingCall, index: int) -> Expression:
    """Return an operand with the batch, repeated if it is the same for all."""
    return x if call.batched[index] else x.broadcast_to(call.size, *x.shape)


_ROWS: dict[type[Op], int] = {
    QLstmCell: 3, QLstmOutput: 3, QSvdf: 1, QSvdfState: 2,
}  # fmt: skip
"""Ops on rows of fixed rank, with the number of operands that have a row for each input."""


def _on_rows(node: Node, call: BatchingCall, operands: list[Expression]) -> Sequence[Expression]:
    """Apply an op on images, or rows, to those of all values at once."""
    count = _ROWS.get(type(node.op), 1)
    with_rows = tuple(i < count or b for i, b in enumerate(call.batched))
    rule_of(type(node.op))(node.op, replace(call, batched=with_rows))
    rows = [
        _merged(_filled(x, call, i), call.types[i]) if i < count else x
        for i, x in enumerate(operands)
    ]
    results = rows[0].apply_all(node.op, *rows[1:])
    return [r.reshape(call.size, *old.shape) for r, old in zip(results, node.types, strict=True)]


def _merged(x: Expression, type_: TensorType) -> Expression:
    """[batch, N, ...] -> [batch * N, ...]."""
    count = x.shape[0] * type_.shape[0]
    return x.reshape(count, *type_.shape[1:])


def _conv(op: real.RealConv, call: BatchingCall, operands: list[Expression]) -> Expression:
    """Convolution whose weights differ: each set of weights makes channels of its own.

    With different images too, each value is a group, or several of them, of one convolution.
    """
    x, w = operands
    size, groups, both = call.size, op.groups, call.batched[0]
    outputs, *kernel, inner = call.types[1].static_shape
    if not isinstance(size, int):
        raise op.refuse(f"cannot take a batch of {size}: its weights differ from input to input")
    rank = len(kernel)
    if both:
        image = x.transpose(*range(1, rank + 2), 0, rank + 2)
        x = image.reshape(*image.shape[:-2], size * inner * groups)
        w, parts = w.reshape(size * outputs, *kernel, inner), size * groups
    else:
        split = w.reshape(size, groups, outputs // groups, *kernel, inner)
        w = split.transpose(1, 0, *range(2, split.ndim))
        w, parts = w.reshape(size * outputs, *kernel, inner), groups
    y = x.apply(real.RealConv(window=op.window, groups=parts), w)
    lead, last = y.shape[:-1], rank + 1
    if both:
        return y.reshape(*lead, size, outputs).transpose(last, *range(last), last + 1)
    split = y.reshape(*lead, groups, size, outputs // groups)
    front = split.transpose(last + 1, *range(last), last, last + 2)
    return front.reshape(size, *lead, outputs)
