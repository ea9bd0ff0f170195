"""Control flow, and fused ops, which are traced as their bodies.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax

from rlx.ops.control import If, Scan, While
from rlx.ops.fused import FUSED_OPS, Fused
from rlx.ops.q import QChain
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Graph, Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


@RULES.rule(*FUSED_OPS, QChain)
def fused(node: Node, trace: Trace, *operands: Traced) -> tuple[Traced, ...]:
    """Lower a fused op: XLA fuses the ops of its body itself."""
    assert isinstance(node.op, Fused | QChain)
    outputs, failed = trace.region(node.op.body, operands)
    del failed  # no op of a body reads by index
    return tuple(outputs)


@RULES.rule(If)
def branch(node: Node, trace: Trace, condition: Traced, *operands: Traced) -> tuple[Traced, ...]:
    """Lower the choice between two regions."""
    op = node.op
    assert isinstance(op, If)

    def run(graph: Graph) -> tuple[list[Traced], Traced]:
        return trace.region(graph, operands)

    outputs, failed = lax.cond(condition, lambda: run(op.then_body), lambda: run(op.else_body))
    trace.fail(node, failed)
    return tuple(outputs)


@RULES.rule(While)
def while_(node: Node, trace: Trace, *operands: Traced) -> tuple[Traced, ...]:
    """Lower a loop with a condition."""
    op = node.op
    assert isinstance(op, While)
    count = len(op.body.outputs)
    captures = operands[count:]

    def goes_on(state: tuple[Traced, ...]) -> Traced:
        carries, iterations, _ = state
        outputs, _ = trace.region(op.condition, (*carries, *captures))
        if op.max_iterations is None:
            return outputs[0]
        return outputs[0] & (iterations < op.max_iterations)

    def step(state: tuple[Traced, ...]) -> tuple[Traced, ...]:
        carries, iterations, failed = state
        _, first = trace.region(op.condition, (*carries, *captures))
        outputs, second = trace.region(op.body, (*carries, *captures))
        return tuple(outputs), iterations + 1, failed | first | second

    start = (tuple(operands[:count]), jnp.int64(0), jnp.asarray(False))
    carries, _, failed = lax.while_loop(goes_on, step, start)
    trace.fail(node, failed)
    return tuple(carries)


@RULES.rule(Scan)
def scan(node: Node, trace: Trace, *operands: Traced) -> tuple[Traced, ...]:
    """Lower a loop over the first axis of tensors."""
    op = node.op
    assert isinstance(op, Scan)
    assert isinstance(op.length, int)
    ends = op.carries + op.scanned
    captures = operands[ends:]

    def step(state: Traced, elements: Traced) -> tuple[Traced, Traced]:
        carries, failed = state
        outputs, one = trace.region(op.body, (*carries, *elements, *captures))
        return (tuple(outputs[: op.carries]), failed | one), tuple(outputs[op.carries :])

    start = (tuple(operands[: op.carries]), jnp.asarray(False))
    elements = tuple(operands[op.carries : ends])
    (carries, failed), collected = lax.scan(
        step, start, elements, length=op.length, reverse=op.reverse
    )
    trace.fail(node, failed)
    return (*carries, *collected)
