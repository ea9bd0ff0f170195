"""Claims of op classes in ``traits`` agree with ``evaluate``, and nothing true is left out."""

from __future__ import annotations

import functools
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from rlx.ir import UNSTATED, Constant, Op, Traits
from rlx.ops import ALL_OPS, Q_OPS, REAL_OPS
from strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Node
    from strategies import Case

EXAMPLES = 60
CHANGES = 6
"""Elements of the operands of an example that are changed, one after the other."""

QUANTIZED = ("elementwise", "channelwise", "monotone", "clamps", "moves_only")
REAL = ("elementwise", "channelwise", "moves_only")


def test_every_op_states_its_traits() -> None:
    assert [op.name for op in ALL_OPS if op.traits is UNSTATED] == []


def test_an_op_that_states_nothing_claims_nothing() -> None:
    assert Op.traits is UNSTATED
    assert not any(getattr(UNSTATED, f.name) for f in fields(Traits))


def test_elementwise_ops_are_channelwise() -> None:
    assert Traits(elementwise=True).channelwise
    assert not Traits().channelwise


def test_elementwise_ops_combine_no_dimensions() -> None:
    assert [op.name for op in ALL_OPS if op.traits.elementwise and op.traits.along] == []


@functools.cache
def examples(op: type[Op]) -> list[tuple[Op, list[Array]]]:
    """Return uses of an op, always the same: with its attributes and the operands' values."""
    found: list[tuple[Op, list[Array]]] = []

    @settings(
        max_examples=EXAMPLES,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(STRATEGIES[op](size=3))
    def collect(case: Case) -> None:
        node = next(n for n in case.graph.nodes if type(n.op) is op)
        found.append((node.op, values(case, node)))

    collect()
    return found


def values(case: Case, node: Node) -> list[Array]:
    sources = (o.node for o in node.operands)
    return [
        s.op.value if isinstance(s.op, Constant) else np.asarray(case.inputs[s.name])
        for s in sources
    ]


def changes(op: Op, operands: list[Array]) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield operand, place of an element in it, and the results before and after a change of it."""
    random = np.random.default_rng(3)
    (before,) = op.evaluate(*operands)
    for _ in range(CHANGES):
        which = int(random.integers(len(operands)))
        x = operands[which]
        if not x.size:
            continue
        place = int(random.integers(x.size))
        changed = x.copy()
        changed.reshape(-1)[place] = larger(x.reshape(-1)[place], random)
        (after,) = op.evaluate(*operands[:which], changed, *operands[which + 1 :])
        yield which, place, before, after


def larger(value: Any, random: np.random.Generator) -> Any:
    """Return a larger code, or another float."""
    if value.dtype == np.bool_:
        return not value
    if value.dtype not in (np.int8, np.int16):
        return value + value.dtype.type(1)
    return random.integers(value, np.iinfo(value.dtype).max, endpoint=True)


def differing(before: Array, after: Array) -> Array:
    return ~np.isclose(
        before.astype(np.float64), after.astype(np.float64), rtol=0, atol=0, equal_nan=True
    )


def is_elementwise(op: Op, operands: list[Array]) -> bool:
    """Whether a change of an element reaches what is computed from it and nothing else."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError:
        return False
    for which, place, before, after in changes(op, operands):
        x = operands[which]
        own = np.zeros(x.size, np.bool_)
        own[place] = True
        if before.shape != shape:
            return False
        if (differing(before, after) & ~np.broadcast_to(own.reshape(x.shape), shape)).any():
            return False
    return True


def is_channelwise(op: Op, operands: list[Array]) -> bool:
    """Whether a change of a channel reaches that channel only."""
    for which, place, before, after in changes(op, operands):
        shapes = [before.shape, *(x.shape for x in operands)]
        if not all(shapes) or len({shape[-1] for shape in shapes}) > 1:
            continue
        channel = place % operands[which].shape[-1]
        if np.delete(differing(before, after), channel, axis=-1).any():
            return False
    return True


def is_monotone(op: Op, operands: list[Array]) -> bool:
    """Whether results only rise, or only fall, as an operand goes through all codes."""
    codes = np.arange(-128, 128, dtype=np.int8)
    for which, x in enumerate(operands):
        swept = [y[..., np.newaxis] for y in operands]
        swept[which] = np.broadcast_to(codes, (*x.shape, 256))
        steps = np.diff(op.evaluate(*swept)[0].astype(int))
        if ((steps > 0).any(axis=-1) & (steps < 0).any(axis=-1)).any():
            return False
    return True


def is_clamping(op: Op, operands: list[Array]) -> bool:
    """Whether the op clamps what it computes with open bounds."""
    attributes = op.attributes()
    if not {"low", "high"} <= set(attributes):
        return False
    (result,) = op.evaluate(*operands)
    (wide,) = replace(op, low=-128, high=127).evaluate(*operands)  # type: ignore[type-var]
    return np.array_equal(result, np.clip(wide, attributes["low"], attributes["high"]))


def is_moving_only(op: Op, operands: list[Array]) -> bool:
    """Whether nothing but elements of the operands comes out."""
    (result,) = op.evaluate(*operands)
    known = np.concatenate([x.reshape(-1).astype(result.dtype) for x in operands])
    return bool(np.isin(result, known).all() or np.isnan(known.astype(np.float64)).any())


CHECKS = {
    "elementwise": is_elementwise,
    "channelwise": is_channelwise,
    "monotone": is_monotone,
    "clamps": is_clamping,
    "moves_only": is_moving_only,
}


@pytest.mark.slow
@pytest.mark.parametrize("op", [*Q_OPS, *REAL_OPS], ids=lambda op: op.name)
def test_claims_hold(op: type[Op]) -> None:
    names = QUANTIZED if op in Q_OPS else REAL
    claimed = [name for name in names if getattr(op.traits, name)]
    wrong = [
        f"{name}: {use}"
        for name in claimed
        for use, operands in examples(op)
        if not CHECKS[name](use, operands)
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
def test_nothing_true_is_left_out(op: type[Op]) -> None:
    left_out = [
        name
        for name in ("elementwise", "clamps", "moves_only", "monotone")
        if not getattr(op.traits, name)
        and (name != "monotone" or op.traits.elementwise)
        and all(CHECKS[name](use, operands) for use, operands in examples(op))
    ]
    assert left_out == []
