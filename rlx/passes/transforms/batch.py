"""Batching: a graph for several inputs at a time, made from one for a single input.

One table of rules (``RULES``) serves ``with_batch``, in which the batch takes the place of a
leading dimension of 1, and ``vmap``, in which it is a new leading axis.
"""

# ruff: noqa: ANN401 - a rule takes and returns the ops that it is registered for

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.ir import Along, Dim, Input, RuleTable, TensorType, rebuild
from rlx.ir.dims import is_negative
from rlx.ops import real
from rlx.ops.control import CONTROL_OPS
from rlx.ops.fused import FUSED_OPS
from rlx.ops.nn import NN_OPS, NnStopGradient
from rlx.ops.q import (
    QConcat,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QPad,
    QReshape,
    QSlice,
    QSvdfState,
    QTranspose,
)
from rlx.support.errors import ShapeError, UnsupportedOpError

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Op, Value


@dataclass(frozen=True, slots=True)
class BatchingCall:
    """The arguments of a batching rule.

    Attributes:
        size: Number of inputs in a batch, or a symbol for it.
        types: Types of the operands for a single input.
        batched: For each operand whether it holds a batch; constants and parameters do not.
        shift: Place of the first dimension of a single input among those of a batch: 0 where the
            batch takes the place of a leading 1, 1 where it is a new axis before all others.
    """

    size: int | Dim
    types: tuple[TensorType, ...]
    batched: tuple[bool, ...]
    shift: int = 0


Rule: TypeAlias = Callable[[Any, BatchingCall], Any]

RULES: RuleTable[Rule] = RuleTable(
    "batching", hint="run the network once for each input, or write it for the batch that you need"
)
"""Rules for ops without such a trait: the op for all elements of a batch."""


def rule_of(op: type[Op]) -> Rule:
    """Return the rule by which an op computes a batch: its own, or one derived from its traits.

    Raises:
        UnsupportedOpError: It cannot, or nothing says how.
    """
    if op.traits.elementwise:
        return _broadcast
    if op.traits.along is not None:
        return _ALONG[op.traits.along]
    return RULES[op]


def with_batch(graph: Graph, size: int | Dim) -> Graph:
    """Return ``graph`` for ``size`` inputs at a time, which may be a symbol: ``Dim("batch")``.

    Every input has a leading dimension of 1 that becomes ``size``, and so has every value that
    depends on an input.

    Raises:
        ValueError: ``size`` is not positive, or a symbol where an op requires integers.
        ShapeError: An input has no leading dimension of 1, or an op mixes the leading dimension
            with others.
        UnsupportedOpError: An op cannot be batched; the message says why.
    """
    if is_negative(size - 1):
        raise ValueError(f"a batch must hold at least one input, got {size}")
    batched: set[Value] = set()

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if isinstance(node.op, Input):
            batched.add(node.result)
            source = node.op.with_attributes(type=_input_type(node, size))
            return (new.apply(source, name=node.name),)
        holds = tuple(o in batched for o in node.operands)
        if not any(holds):
            return None
        if isinstance(node.op, QConcat | real.RealConcat):
            # Constants get the batch here.
            holds = tuple(h or o.constant is not None for o, h in zip(operands, holds, strict=True))
            operands = tuple(_repeat(new, o, size) for o in operands)
        batched.update(node.results)
        what = BatchingCall(size, tuple(o.type for o in node.operands), holds)
        op = rule_of(type(node.op))(node.op, what)
        quants = {t.quant for t in node.types}
        batched_node = new.append(op, *operands, quant=quants.pop() if len(quants) == 1 else None)
        for old, value in zip(node.types, batched_node.results, strict=True):
            if value.type.shape != (size, *old.shape[1:]):
                raise AssertionError(f"batching made {value.type} of {old} at {node.label}")
        return batched_node.results

    return rebuild(graph, visit, by="batch")


def batching_refusal(graph: Graph) -> str | None:
    """Return the reason for which samples cannot be computed together, or None if they can.

    They can if ``with_batch`` accepts the graph and every output has a part for each of them.
    """
    try:
        batched = with_batch(graph, 2)
    except (ShapeError, UnsupportedOpError) as error:
        return error.message
    except AssertionError as error:
        return str(error)
    for name, value in zip(batched.output_names, batched.outputs, strict=True):
        if value.type.shape[:1] != (2,):
            return f"output {name!r} does not depend on the inputs"
    return None


def _input_type(node: Node, size: int | Dim) -> TensorType:
    """Return the type of an input for a batch."""
    type_ = node.result.type
    if type_.shape[:1] != (1,):
        raise ShapeError(
            f"input {node.name!r} needs a leading dimension of 1, got {type_}",
            where="batch",
            hint="a batch of another size needs the model for single inputs",
        )
    return type_.with_shape((size, *type_.shape[1:]))


def _repeat(graph: Graph, value: Value, size: int | Dim) -> Value:
    """Return a constant for every element of a batch; any other value unchanged."""
    if value.constant is None or value.type.shape[:1] != (1,):
        return value
    if isinstance(size, Dim):
        return graph.apply(real.RealBroadcastTo(shape=(size, *value.type.shape[1:])), value)
    repeated = np.repeat(value.constant, size, axis=0)
    return graph.constant(repeated, name=value.name, quant=value.type.quant)


def _mixes(op: Op, why: str) -> ShapeError:
    return op.refuse(f"cannot take a batch: {why}")


RULES.refuse("it is a model-level op; decompose it first", *NN_OPS)
RULES.refuse("its regions are made for single inputs; unroll it first", *CONTROL_OPS)
RULES.refuse("it is made of others for one shape; make the batch before fusion", *FUSED_OPS)
RULES.refuse(
    "every input of a batch would get the same random numbers",
    real.RealRandomBits, real.RealRandomNormal, real.RealRandomUniform,
)  # fmt: skip


def _each(op: Any, what: BatchingCall) -> Any:
    """Ops of one varying operand that leave the leading dimension alone."""
    if any(what.batched[1:]):
        raise _mixes(op, "its weights would differ from input to input")
    return op


def _broadcast(op: Any, what: BatchingCall) -> Any:
    """Operands broadcast; the batch must be the leading dimension of the result too."""
    if what.shift:
        return op
    rank = max(t.rank for t in what.types)
    for type_, holds in zip(what.types, what.batched, strict=True):
        if (holds and type_.rank < rank) or (type_.rank == rank and type_.shape[0] != 1):
            raise _mixes(op, f"its leading dimension is not that of {type_}")
    return op


def _last_axis(op: Any, what: BatchingCall) -> Any:
    if what.types[0].rank < 2 - what.shift:
        raise _mixes(op, f"it works along the leading dimension of {what.types[0]}")
    return _each(op, what)


def _axis(op: Any, what: BatchingCall) -> Any:
    axis = op.axis % what.types[0].rank
    if what.shift:
        return replace(_each(op, what), axis=axis + 1)
    if axis == 0:
        raise _mixes(op, f"it works along the leading dimension of {what.types[0]}")
    return _each(op, what)


def _axes(op: Any, what: BatchingCall) -> Any:
    if what.shift:
        return replace(op, axes=tuple(a % what.types[0].rank + 1 for a in op.axes))
    if any(a % what.types[0].rank == 0 for a in op.axes):
        raise _mixes(op, f"it works along the leading dimension of {what.types[0]}")
    return op


_ALONG: dict[Along, Rule] = {
    Along.IMAGE: _each,
    Along.LAST: _last_axis,
    Along.AXIS: _axis,
    Along.AXES: _axes,
}


@RULES.rule(NnStopGradient)
def _stop_gradient(op: Any, what: BatchingCall) -> Any:
    del what
    return op


@RULES.rule(QConcat, real.RealConcat)
def _concat(op: Any, what: BatchingCall) -> Any:
    if not what.shift and not all(what.batched):
        raise _mixes(op, "it joins constants to the batch")
    return _axis(op, replace(what, batched=what.batched[:1]))


@RULES.rule(QLstmCell, QLstmOutput, QSvdfState)
def _recurrent(op: Any, what: BatchingCall) -> Any:
    states = 1 if isinstance(op, QSvdfState) else 2
    if what.batched != tuple(k <= states for k in range(len(what.batched))):
        raise _mixes(op, "each input of the batch needs a state of its own, and the same weights")
    return op


@RULES.rule(QReshape, real.RealReshape)
def _reshape(op: Any, what: BatchingCall) -> Any:
    if op.shape[:1] != (1,) and not what.shift:
        raise _mixes(op, f"its shape {list(op.shape)} has no leading dimension of 1")
    if isinstance(op, QReshape) and isinstance(what.size, Dim):
        raise _mixes(op, f"its shape takes numbers only, got {what.size}")
    return replace(op, shape=(what.size, *op.shape[1 - what.shift :]))


@RULES.rule(real.RealBroadcastTo)
def _broadcast_to(op: Any, what: BatchingCall) -> Any:
    if what.types[0].rank != len(op.shape) and not what.shift:
        raise _mixes(op, f"it adds dimensions before those of {what.types[0]}")
    return _reshape(op, what)


@RULES.rule(QTranspose, real.RealTranspose)
def _transpose(op: Any, what: BatchingCall) -> Any:
    if what.shift:
        return replace(op, axes=(0, *(a + 1 for a in op.axes)))
    if op.axes[0] != 0:
        raise _mixes(op, "it moves the leading dimension")
    return op


@RULES.rule(QSlice, real.RealSlice)
def _slice(op: Any, what: BatchingCall) -> Any:
    """The leading dimension has one element: every slice reads it."""
    if isinstance(op, QSlice) and isinstance(what.size, Dim):
        raise _mixes(op, f"its bounds are numbers only, got {what.size}")
    if what.shift:
        whole = {"start": (0, *op.start), "stop": (what.size, *op.stop), "step": (1, *op.step)}
        return replace(op, **whole)
    start, stop = op.start[0], op.stop[0]
    if isinstance(start, Dim) or isinstance(stop, Dim):
        raise _mixes(op, "what it takes of the leading dimension is not known yet")
    if len(range(1)[start : stop : op.step[0]]) != 1:
        raise _mixes(op, "it takes nothing of the leading dimension")
    starts, stops, steps = (0, *op.start[1:]), (what.size, *op.stop[1:]), (1, *op.step[1:])
    return replace(op, start=starts, stop=stops, step=steps)


@RULES.rule(QPad, real.RealPad)
def _pad(op: Any, what: BatchingCall) -> Any:
    if what.shift:
        inner = {"interior": (0, *op.interior)} if getattr(op, "interior", ()) else {}
        return replace(op, before=(0, *op.before), after=(0, *op.after), **inner)
    if op.before[0] or op.after[0] or (isinstance(op, real.RealPad) and any(op.interior[:1])):
        raise _mixes(op, "it pads the leading dimension")
    return op


@RULES.rule(QMatmul, real.RealMatmul)
def _matmul(op: Any, what: BatchingCall) -> Any:
    """Rows of a batch for a matrix, or stacks of matrices of which the batch is one."""
    if what.shift:
        return op
    x, y = what.types
    if what.batched == (True, False) and x.rank >= y.rank == 2:
        return op
    if x.rank < 3 or y.rank < 3:
        raise _mixes(op, f"the product of {x} and {y} has no leading dimension for it")
    return _broadcast(op, what)


@RULES.rule(real.RealGather)
def _gather(op: Any, what: BatchingCall) -> Any:
    x, indices = what.types
    if what.shift and what.batched == (True, False):
        return replace(op, axis=op.axis % x.rank + 1)
    if what.shift and (all(what.batched) or op.axis % x.rank):
        raise _mixes(op, f"its indices {indices} differ from input to input")
    if what.shift:
        return op
    leading = op.axis % x.rank == 0
    if what.batched == (True, True) or what.batched[0] == leading or indices.rank < leading:
        raise _mixes(op, f"it reads {x} at {indices} along axis {op.axis}")
    return op


@RULES.rule(real.RealScatter)
def _scatter(op: Any, what: BatchingCall) -> Any:
    if not what.shift:
        raise _mixes(op, "it writes the inputs of a batch into one tensor")
    if what.batched[1]:
        raise _mixes(op, f"its indices {what.types[1]} differ from input to input")
    return replace(op, axis=op.axis % what.types[0].rank + 1)


@RULES.rule(real.RealTakeAlong)
def _take_along(op: Any, what: BatchingCall) -> Any:
    if what.shift:
        return replace(op, axis=op.axis % what.types[0].rank + 1)
    if not all(what.batched):
        raise _mixes(op, "its operands must all depend on the inputs")
    return _axis(op, replace(what, batched=what.batched[:1]))


@RULES.rule(real.RealDequantize, real.RealQuantize)
def _quantize(op: Any, what: BatchingCall) -> Any:
    if what.shift and op.quant.axis is not None:
        axis = op.quant.axis % what.types[0].rank + 1
        return replace(op, quant=replace(op.quant, axis=axis))
    if op.quant.axis == 0:
        raise _mixes(op, "each element of the leading dimension has a scale of its own")
    return op
