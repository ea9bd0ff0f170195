"""The base class of ops."""

import numpy as np
import pytest

from rlx.ir import Op, TensorType, f32, i8
from rlx.ops.q import QAdd, QClamp, QConcat, QDense, QTranspose
from rlx.ops.real import RealAdd
from rlx.support.errors import ShapeError
from support.messages import raises


def test_registry_has_ops_by_name():
    assert Op.registry["q.clamp"] is QClamp
    assert Op.registry["real.add"] is RealAdd
    # Bases that only share code have no name.
    assert all(name == cls.name for name, cls in Op.registry.items())


def test_registered_class_is_the_one_with_slots():
    assert not hasattr(QClamp(), "__dict__")
    assert type(QClamp()) is Op.registry["q.clamp"]


def test_dialect_and_attributes():
    assert QClamp().dialect == "q"
    assert QClamp(low=-4).attributes() == {"low": -4, "high": 127}


@pytest.mark.parametrize(
    ("op", "operands"),
    [(QClamp(), ()), (QClamp(), (i8(1), i8(1))), (QConcat(axis=0), ()), (RealAdd(), (f32(1),))],
)
def test_number_of_operands_is_checked(op, operands):
    with raises(ShapeError):
        op.infer_checked(*operands)


def test_refusal_names_the_op():
    error = QClamp().refuse("too low", hint="raise it")
    assert str(error) == "q.clamp: too low\n  hint: raise it"
    assert (error.message, error.where, error.hint) == ("too low", "q.clamp", "raise it")


def test_ops_are_equal_by_attributes():
    assert QClamp(low=1) == QClamp(low=1)
    assert hash(QClamp(low=1)) == hash(QClamp(low=1))
    assert QClamp(low=1) != QClamp(low=2)
    assert QAdd.name != QClamp.name


def test_infer_checked_gives_what_infer_gives():
    assert QClamp().infer_checked(i8(3)) == (TensorType((3,), i8().dtype),)


def test_prepared_op_evaluates():
    x = np.array([-9, 9], np.int8)
    prepared = QTranspose(axes=(0,)).prepare((None,))
    np.testing.assert_array_equal(prepared(x)[0], x)


def test_two_op_classes_of_one_name_are_refused() -> None:
    attributes = {"name": "q.dense", "__module__": "elsewhere", "__slots__": ()}
    with raises(TypeError):
        type("Mine", (Op,), attributes)
    assert Op.registry["q.dense"] is QDense
