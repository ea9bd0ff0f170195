"""Views with few axes, which small calls are quick with."""

import numpy as np
import pytest

from rlx.runtime.numpy_backend.kernels.common import call, flatten


def ones(*shape):
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("out", "operands", "expected"),
    [
        (ones(1, 8), [ones(1, 8), ones(8)], [(8,), (8,), (8,)]),
        (ones(1, 8), [ones(1, 8), ones(1, 1)], [(8,), (8,), ()]),
        (ones(2, 3, 8), [ones(2, 3, 8), ones(8)], [(6, 8), (6, 8), (6, 8)]),
        (ones(2, 3, 8), [ones(2, 3, 8), ones(3, 8)], [(2, 24), (2, 24), (2, 24)]),
        (ones(2, 3, 4), [ones(2, 3, 4), ones(2, 1, 4)], [(2, 3, 4)] * 3),
        (ones(2, 3), [ones(3, 2).T, ones()], [(2, 3), (2, 3), ()]),
        (ones(1, 1), [ones(1, 1), ones()], [(), (), ()]),
        (ones(), [ones()], [(), ()]),
        (ones(2, 0, 3), [ones(2, 0, 3)], [(0,), (0,)]),
    ],
    ids=str,
)
def test_axes_are_joined_where_all_arrays_allow_it(out, operands, expected):
    views = flatten(out, *operands)
    if out.size:
        assert [a.shape for a in views] == expected
    sizes = {a.size for a in views if a.shape}
    assert sizes <= {out.size}


def test_equal_bytes_are_one_object():
    memory = ones(4, 6)
    out, same, other = flatten(memory, memory.view(), ones(4, 6))
    assert out is same
    assert other is not out
    assert np.shares_memory(out, memory)
    shifted = np.ones(25, np.float32)
    first, second = flatten(shifted[:24].reshape(4, 6), shifted[1:].reshape(4, 6))
    assert first is not second


@pytest.mark.parametrize("function", [np.add, np.maximum, np.subtract])
@pytest.mark.parametrize("seed", range(30))
def test_calls_compute_what_numpy_does(function, seed):
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(1, 4, generator.integers(0, 5)))

    def operand():
        kept = [n if generator.random() < 0.7 else 1 for n in shape]
        kept = kept[generator.integers(0, len(kept) + 1) :]
        array = generator.standard_normal(kept).astype(np.float32)
        order = generator.permutation(array.ndim)
        return np.array(array.transpose(order), order="C").transpose(np.argsort(order))

    x, y = operand(), operand()
    out = np.empty(np.broadcast_shapes(shape, x.shape, y.shape), np.float32)
    expected = np.broadcast_to(function(x, y), out.shape)
    call(function, x, y, out=out)()
    np.testing.assert_array_equal(out, expected)
    whole = np.broadcast_to(x, out.shape).copy()
    call(function, whole, y, out=whole)()
    np.testing.assert_array_equal(whole, expected)
