"""Element types, quantization parameters, tensor types."""

import ml_dtypes
import numpy as np
import pytest

from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8, i32
from support.messages import raises


@pytest.mark.parametrize("dtype", DType)
def test_element_type_is_that_of_its_arrays(dtype):
    assert DType.of(np.zeros(2, dtype.numpy)) is dtype
    assert DType.of(dtype.numpy) is dtype
    assert DType(dtype.value) is dtype


def test_bits_are_those_of_packed_storage():
    assert {d.value: d.bits for d in DType} == {
        "f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "i64": 64,
        "i32": 32, "i16": 16, "i8": 8, "i4": 4, "i2": 2, "u64": 64, "u32": 32, "u16": 16, "u8": 8,
        "bool": 8, "c64": 64,
    }  # fmt: skip


def test_kinds_of_element_types():
    assert {d.value for d in DType if d.is_float} == {
        "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
    }  # fmt: skip
    assert {d.value for d in DType if d.is_integer} == {
        "i64", "i32", "i16", "i8", "i4", "i2", "u64", "u32", "u16", "u8",
    }  # fmt: skip


def test_unknown_numpy_type_is_refused():
    with raises(ValueError):
        DType.of(np.zeros(1, np.complex128))
    with raises(ValueError):
        DType.of(np.zeros(1, ml_dtypes.uint4))


@pytest.mark.parametrize(
    "arguments",
    [
        ((0.5, 0.5), (0,), 0),
        ((0.5, 0.5), (0, 0)),
        ((), ()),
        ((0.0,),),
        ((-1.0,),),
        ((float("inf"),),),
        ((float("nan"),),),
    ],
)
def test_bad_quantization_is_refused(arguments):
    with raises(ValueError):
        QuantParams(*arguments)


def test_quantization_prints():
    assert str(QuantParams.per_tensor(np.float32(0.5), np.int8(3))) == "q(0.5, 3)"
    assert str(QuantParams((0.5, 0.25), (1, 2), 3)) == "q(axis=3, 0.5:1, 0.25:2)"


def test_type_knows_size_and_bytes():
    type_ = TensorType((3, 5), DType.I4)
    assert (type_.rank, type_.size, type_.nbytes) == (2, 15, 8)
    assert (i32().rank, i32().size, i32().nbytes) == (0, 1, 4)
    assert f32(0, 4).nbytes == 0


def test_symbolic_type_has_no_size():
    type_ = f32(Dim("N"), 3)
    assert not type_.is_static
    with raises(ValueError):
        _ = type_.size


def test_type_with_other_parts():
    quant = QuantParams.per_tensor(0.5)
    assert i8(2).with_quant(quant).with_shape((3,)) == i8(3, quant=quant)
    assert str(i8(1, 2, quant=quant)) == "i8[1, 2] q(0.5, 0)"


@pytest.mark.parametrize("make", [f32, i8, i32])
@pytest.mark.parametrize("dimension", ["n", 1.5, True, None])
def test_dimensions_are_numbers_or_symbols(make, dimension) -> None:
    with raises(TypeError):
        make(2, dimension)


def test_a_bare_string_is_no_shape() -> None:
    with raises(TypeError):
        TensorType("nm", DType.F32)


def test_numbers_of_numpy_become_plain() -> None:
    assert i8(np.int64(3), Dim("n")) == i8(3, Dim("n"))
    assert i8(np.int32(3)).static_shape == (3,)
