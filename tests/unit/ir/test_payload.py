"""Contents of constants as bytes and numbers."""

import ml_dtypes
import numpy as np
import pytest

from rlx.ir import DType, TensorType, i8, i32
from rlx.ir.payload import from_bytes, from_numbers, to_bytes, to_numbers
from support.messages import raises
from support.networks.ir_samples import every_element_type

ARRAYS = [(v.type, v.constant) for v in every_element_type().outputs]


@pytest.mark.parametrize(("type_", "array"), ARRAYS, ids=[str(t) for t, _ in ARRAYS])
def test_bytes_and_numbers_read_back(type_, array):
    restored = from_bytes(to_bytes(array), type_)
    assert restored.dtype == array.dtype
    assert restored.shape == array.shape
    assert restored.tobytes() == array.tobytes()
    numbers = to_numbers(array)
    assert (numbers is None) == (type_.dtype is DType.C64)
    if numbers is not None:
        assert from_numbers(numbers, type_).tobytes() == array.tobytes()


def test_bytes_do_not_depend_on_memory_order():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    expected = b"".join(i.to_bytes(4, "little") for i in range(6))
    assert to_bytes(array) == expected
    assert to_bytes(np.asfortranarray(array)) == expected
    assert to_bytes(array[:, ::-1])[:4] == b"\2\0\0\0"


def test_codes_below_a_byte_take_a_byte_each():
    assert to_bytes(np.array([-8, 7], ml_dtypes.int4)) == b"\xf8\x07"
    assert to_bytes(np.array([-2, 1], ml_dtypes.int2)) == b"\xfe\x01"


def test_numbers_of_floats_are_the_shortest():
    assert to_numbers(np.array([0.1, 1e-5], np.float32)) == [0.1, 1e-5]
    assert to_numbers(np.array([0.1], np.float16)) == [0.0999755859375]
    assert to_numbers(np.array([np.nan], np.float32)) is None
    assert to_numbers(np.array([np.inf], ml_dtypes.bfloat16)) is None


@pytest.mark.parametrize(
    ("data", "type_"),
    [
        (b"ab", i8(3)),
        (b"abc", i32(1)),
        (b"\x00\x08", TensorType((2,), DType.I4)),
        (b"\x02", TensorType((1,), DType.I2)),
        (b"\x00\x02", TensorType((2,), DType.BOOL)),
    ],
)
def test_wrong_bytes_are_refused(data, type_):
    with raises(ValueError):
        from_bytes(data, type_)


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([1, 2], DType.I8),
        ([128], DType.I8),
        ([-1], DType.U8),
        ([8], DType.I4),
        ([1.0], DType.I32),
        ([True], DType.F32),
        ([1], DType.BOOL),
        ([1], DType.C64),
        ([1e39], DType.F32),
        ([1e6], DType.F8E4M3),
    ],
)
def test_wrong_numbers_are_refused(numbers, dtype):
    with raises(ValueError):
        from_numbers(numbers, TensorType((1,), dtype))


@pytest.mark.parametrize("dtype", [DType.U16, DType.U64, DType.I64])
def test_ends_of_wide_integers_come_back(dtype):
    info = np.iinfo(dtype.numpy)
    array = np.array([info.min, info.max], dtype.numpy)
    type_ = TensorType((2,), dtype)
    assert to_numbers(array) == [info.min, info.max]
    for back in (from_numbers(to_numbers(array), type_), from_bytes(to_bytes(array), type_)):
        assert back.dtype == array.dtype
        assert back.tolist() == array.tolist()
