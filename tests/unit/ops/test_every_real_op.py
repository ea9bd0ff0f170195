"""Properties of every op on reals and every model-level op."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import DType
from rlx.ir.evaluate import evaluate
from rlx.ops import ALL_OPS, NN_OPS, Q_OPS, REAL_OPS
from rlx.ops.real import RealConcat
from rlx.passes.decompose import decompose
from rlx.runtime import Session
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises
from support.references.closeness import assert_close

OPS = [*REAL_OPS, *NN_OPS]
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def same(a, b) -> None:
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    with np.errstate(invalid="ignore"):  # a NaN of bfloat16 may signal
        np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64))


def test_all_ops_are_listed_once_in_order_of_their_names():
    for ops in (NN_OPS, REAL_OPS, Q_OPS):
        assert list(ops) == sorted(ops, key=lambda op: op.__name__)
    assert len({op.name for op in ALL_OPS}) == len(ALL_OPS)


@every_op
def test_op_has_a_strategy(op):
    assert op in STRATEGIES


@every_op
@settings(max_examples=6)
@given(data=st.data())
def test_op_has_one_meaning(op, data):
    """Types, ``evaluate``, the decomposition and the session agree; operands are left alone."""
    case = data.draw(STRATEGIES[op]())
    for array in case.inputs.values():
        array.flags.writeable = False
    expected = evaluate(case.graph, case.inputs)
    for output, array in zip(case.graph.outputs, expected, strict=True):
        assert isinstance(array, np.ndarray)
        assert array.shape == output.type.shape
        assert DType.of(array) is output.type.dtype
    plain = decompose(case.graph)
    assert {n.op.dialect for n in plain.op_nodes} <= {"real", "core"}
    assert [o.type for o in plain.outputs] == [o.type for o in case.graph.outputs]
    compiled = Session().compile(case.graph)
    for a, b in zip(evaluate(plain, case.inputs), expected, strict=True):
        same(a, b)
    for results in (compiled.run_typed(case.inputs), compiled.run_typed(case.inputs)):
        for a, b in zip(results, expected, strict=True):
            assert_close(a, b)


@pytest.mark.parametrize("op", [op for op in OPS if op is not RealConcat], ids=lambda op: op.name)
def test_wrong_number_of_operands_is_refused(op):
    count = op.operand_count
    most = count if isinstance(count, int) else count[1]
    # Attributes do not matter: the number is checked before anything else.
    with raises(ShapeError):
        op.infer_checked(object.__new__(op), *[None] * (most + 1))
