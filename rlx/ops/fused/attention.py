"""Attention as one op.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.fused.base import Fused
from rlx.ops.fused.reading import Readers, number_of, swaps_last
from rlx.ops.fused.softmax import softmax_at

if TYPE_CHECKING:
    from rlx.ir import Node, Value


class ScoreStepKind(StrEnum):
    """Kind of step that changes the scores of an attention before the softmax."""

    SCALE = "scale"
    TANH = "tanh"
    ADD = "add"
    WHERE = "where"
    UNLESS = "unless"


@dataclass(frozen=True, slots=True)
class ScoreStep:
    """One step on the scores between the product and the softmax.

    Attributes:
        kind: ``scale``: times ``number``. ``tanh``: the hyperbolic tangent. ``add``: plus an
            operand. ``where``: kept where a bool operand is true, ``number`` elsewhere. ``unless``:
            ``number`` where it is true, kept elsewhere.
        operand: Place of the operand, None for none.
        number: The number; 0 where there is none.
    """

    kind: ScoreStepKind
    operand: int | None = None
    number: float = 0.0


@dataclass(frozen=True, slots=True)
class _Step:
    """A step on the scores, with values instead of places."""

    kind: ScoreStepKind
    node: Node
    operand: Value | None = None
    number: float = 0.0


@dataclass(slots=True)
class _Factor:
    """Queries or keys, before they are scaled and transposed.

    Attributes:
        value: Value that they are made of.
        scale: Product of the numbers that they are multiplied by.
        transposed: Whether their last two axes are swapped.
        nodes: The nodes that do this.
    """

    value: Value
    scale: float = 1.0
    transposed: bool = False
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AttentionMatch:
    """An attention in ``real.*`` ops: ``softmax(steps(q k^T)) v``.

    Attributes:
        q: Queries.
        k: Keys.
        v: Values.
        steps: Steps that change the scores, in order.
        nodes: Every node.
    """

    q: _Factor
    k: _Factor
    v: Value
    steps: tuple[_Step, ...]
    nodes: tuple[Node, ...]


def attention_at(value: Value, readers: Readers) -> AttentionMatch | None:
    """Return the attention whose result is ``value``, None if it is none."""
    product = value.node
    if not isinstance(product.op, real.RealMatmul):
        return None
    weights, v = product.operands
    softmax = softmax_at(weights)
    if softmax is None or softmax.axis != weights.type.rank - 1:
        return None
    chain = _steps_to(softmax.x)
    if chain is None:
        return None
    scores, steps = chain
    q = _factor(scores.operands[0], scores, readers, transposes=False)
    k = _factor(scores.operands[1], scores, readers, transposes=True)
    nodes = (*q.nodes, *k.nodes, scores, *(s.node for s in steps), *softmax.nodes, product)
    return AttentionMatch(q, k, v, steps, nodes)


def _factor(value: Value, reader: Node, readers: Readers, *, transposes: bool) -> _Factor:
    """Return queries or keys before the nodes that only ``reader`` reads."""
    factor = _Factor(value)
    while readers.only(factor.value) is reader:
        reader = factor.value.node
        step = _match_scale(reader)
        if step is not None and step[0].type == factor.value.type:
            factor.value = step[0]
            factor.scale *= step[1]
        elif transposes and not factor.transposed and swaps_last(reader):
            factor.value = reader.operands[0]
            factor.transposed = True
        else:
            break
        factor.nodes.append(reader)
    return factor


def _match_scale(node: Node) -> tuple[Value, float] | None:
    """Return the value that a node multiplies by a number, and the number; None if it does not."""
    if isinstance(node.op, real.RealMul | real.RealDiv):
        x, y = node.operands
        number = number_of(y)
        if number is not None:
            return x, (number if isinstance(node.op, real.RealMul) else 1.0 / number)
        number = number_of(x)
        if number is not None and isinstance(node.op, real.RealMul):
            return y, number
    return None


def _steps_to(value: Value) -> tuple[Node, tuple[_Step, ...]] | None:
    """Return the product from which ``value`` comes by steps on scores, and the steps."""
    steps: list[_Step] = []
    while not isinstance(value.node.op, real.RealMatmul):
        scaled = _step(value)
        if scaled is None or scaled[0].type != value.type:
            return None
        value, step = scaled
        steps.insert(0, step)
    return value.node, tuple(steps)


def _step(value: Value) -> tuple[Value, _Step] | None:
    """Return the scores before the last step that computed ``value``, and the step."""
    node = value.node
    scaled = _match_scale(node)
    if scaled is not None:
        return scaled[0], _Step(ScoreStepKind.SCALE, node, number=scaled[1])
    match node.op:
        case real.RealTanh():
            return node.operands[0], _Step(ScoreStepKind.TANH, node)
        case real.RealWhere():
            return _match_mask(node)
        case real.RealAdd():
            for scores, mask in (node.operands, node.operands[::-1]):
                if scores.type == value.type and _comes_from_scores(scores):
                    return scores, _Step(ScoreStepKind.ADD, node, mask)
    return None


def _match_mask(node: Node) -> tuple[Value, _Step] | None:
    """Return the scores that a choice keeps, and the choice; None if it does not fill with one."""
    condition, x, y = node.operands
    if (number := number_of(y)) is not None:
        return x, _Step(ScoreStepKind.WHERE, node, condition, number)
    if (number := number_of(x)) is not None:
        return y, _Step(ScoreStepKind.UNLESS, node, condition, number)
    return None


def _comes_from_scores(value: Value) -> bool:
    """Return whether a value comes from a product by steps on scores."""
    return _steps_to(value) is not None


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """Parameters of a kernel of ``fused.attention``.

    Attributes:
        q: Place of the queries [..., S, D] among the operands.
        k: Place of the keys, [..., T, D] if ``transposed``, else [..., D, T].
        v: Place of the values [..., T, E].
        scale: Factor of queries times keys.
        transposed: Whether the last two axes of the keys are swapped before the product.
        steps: Steps that change the scores before the softmax, in order.
    """

    q: int
    k: int
    v: int
    scale: float
    transposed: bool
    steps: tuple[ScoreStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAttention(Fused):
    """``y = softmax(steps(scale * q k^T)) v``, over the last axis.

    Operands: queries, keys, values, and other operands of the steps: masks that broadcast to the
    scores. Result: [..., S, E].

    Attributes:
        body: The attention in ``real.*`` ops.
    """

    name: ClassVar[str] = "fused.attention"

    @property
    def form(self) -> AttentionForm:
        """Parameters of a kernel."""
        form: AttentionForm = self.read()
        return form

    def find_form(self) -> AttentionForm:
        """Return the parameters of a kernel for the body."""
        match = attention_at(self.body.outputs[0], Readers(self.body))
        if match is None or set(match.nodes) != set(self.body.op_nodes):
            raise self.misfit()
        input_index = {value: i for i, value in enumerate(self.body.inputs)}
        masks = [s.operand for s in match.steps if s.operand is not None]
        if any(
            value not in input_index for value in (match.q.value, match.k.value, match.v, *masks)
        ):
            raise self.misfit()
        steps = tuple(
            ScoreStep(s.kind, None if s.operand is None else input_index[s.operand], s.number)
            for s in match.steps
        )
        return AttentionForm(
            q=input_index[match.q.value],
            k=input_index[match.k.value],
            v=input_index[match.v],
            scale=match.q.scale * match.k.scale,
            transposed=match.k.transposed,
            steps=steps,
        )
