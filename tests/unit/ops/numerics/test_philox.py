"""Philox4x32-10: the published vectors, and a second implementation in Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.philox import advance, blocks_of, normal, philox, random_words, uniform

WORD = st.integers(0, 2**32 - 1)


def words(*values):
    return np.array(values, np.uint32)


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
         (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)  # fmt: skip
def test_known_answers_of_random123(counter, key, block):
    np.testing.assert_array_equal(philox(words(*counter), words(*key)), words(*block))


def plain(counter, key):
    """Return a block, computed as the paper writes it."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


@given(st.lists(st.tuples(*[WORD] * 4), min_size=1, max_size=5), st.tuples(WORD, WORD))
def test_blocks_are_those_of_plain_integers(counters, key):
    found = philox(np.array(counters, np.uint32), words(*key))
    assert found.dtype == np.uint32
    assert found.tolist() == [plain(c, key) for c in counters]


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**64 - 1))
def test_counters_have_128_bits(counter, steps):
    def split(number):
        return words(*((number >> 32 * i) & 0xFFFFFFFF for i in range(4)))

    expected = split((counter + steps) % 2**128)
    np.testing.assert_array_equal(advance(split(counter), steps), expected)


@given(st.integers(0, 40), st.tuples(*[WORD] * 4))
def test_words_stand_in_the_order_of_counters(count, counter):
    key = words(3, 4)
    found = random_words(words(*counter), key, count)
    blocks = [philox(advance(words(*counter), i), key) for i in range(blocks_of(count))]
    assert found.tolist() == np.array(blocks).reshape(-1)[:count].tolist()


def test_uniform_numbers_are_exact_and_below_1():
    found = uniform(words(0, 0xFF, 0x100, 0x80000000, 0xFFFFFFFF))
    assert found.dtype == np.float32
    assert found.tolist() == [0.0, 0.0, 2.0**-24, 0.5, 1 - 2.0**-24]


def test_normal_numbers_at_the_ends():
    found = normal(words(0, 0, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0x40000000))
    assert found.dtype == np.float32
    largest = np.float32(np.sqrt(48 * np.log(2)))
    np.testing.assert_allclose(found, [0, 0, largest, 0, 0, largest], atol=1e-15, rtol=1e-7)


def test_moments():
    many = random_words(words(1, 2, 3, 4), words(5, 6), 1 << 16)
    u, n = uniform(many).astype(np.float64), normal(many).astype(np.float64)
    error = 4 / np.sqrt(many.size)
    assert abs(u.mean() - 0.5) < error
    assert abs(u.var() - 1 / 12) < error
    assert abs(n.mean()) < error
    assert abs(n.var() - 1) < error
    assert abs((n**3).mean()) < 4 * error
    # Neighbours do not depend on each other.
    assert abs(np.corrcoef(n[:-1], n[1:])[0, 1]) < error
