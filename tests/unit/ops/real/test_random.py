"""Random numbers: their layout, and the counter behind them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlx
from rlx.ir import Dim, DType, TensorType, f32
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.philox import normal, philox, uniform
from rlx.ops.real import RealRandomBits, RealRandomNormal, RealRandomUniform
from rlx.support.errors import ShapeError
from rlx.tracing import Graph
from support.messages import raises

U32 = DType.U32
KEY, COUNTER = TensorType((2,), U32), TensorType((4,), U32)
ZERO = np.zeros(4, np.uint32)


def words(*values):
    return np.array(values, np.uint32)


@given(st.lists(st.integers(0, 5), max_size=3))
def test_elements_take_words_in_row_major_order(shape):
    key, counter, size = words(8, 9), words(2**32 - 1, 2**32 - 1, 7, 0), int(np.prod(shape))
    bits, following = RealRandomBits(shape=tuple(shape)).evaluate(key, counter)
    blocks = -(-size // 4)
    # The counter runs over into its third word.
    counters = [counter if i == 0 else words(i - 1, 0, 8, 0) for i in range(blocks)]
    expected = [word for c in counters for word in philox(c, key).tolist()]
    assert bits.reshape(-1).tolist() == expected[:size]
    assert bits.shape == tuple(shape)
    assert following.tolist() == (counter if blocks == 0 else words(blocks - 1, 0, 8, 0)).tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9])
def test_numbers_are_made_of_these_bits(size):
    key, many = words(1, 2), RealRandomBits(shape=(12,)).evaluate(words(1, 2), ZERO)[0]
    found, counter = RealRandomUniform(shape=(size,)).evaluate(key, ZERO)
    np.testing.assert_array_equal(found, uniform(many)[:size])
    assert counter.tolist() == [-(-size // 4), 0, 0, 0]
    found, counter = RealRandomNormal(shape=(size,)).evaluate(key, ZERO)
    np.testing.assert_array_equal(found, normal(many)[:size])
    assert counter.tolist() == [-(-size // 4), 0, 0, 0]


def test_pinned_numbers():
    found = RealRandomUniform(shape=(4,)).evaluate(words(0, 0), ZERO)[0]
    # The first published block, its upper 24 bits.
    expected = [0x6627E8, 0xE169C5, 0xBC57AC, 0x9B00DB]
    assert (found * 2**24).tolist() == expected


@pytest.mark.parametrize("op", [RealRandomBits, RealRandomNormal, RealRandomUniform])
def test_types(op):
    dtype = U32 if op is RealRandomBits else DType.F32
    assert op(shape=(2, 3)).infer(KEY, COUNTER) == (TensorType((2, 3), dtype), COUNTER)
    assert op(shape=(Dim("n"),)).infer(KEY, COUNTER)[0].shape == (Dim("n"),)
    for operands in ((f32(2), COUNTER), (KEY, KEY)):
        with raises(ShapeError):
            op(shape=()).infer(*operands)
    with raises(ShapeError):
        op(shape=(-1,)).infer(KEY, COUNTER)


def sampler():
    """Return a graph with a state: each run draws on."""
    graph = Graph("sampler")
    counter = graph.state("counter", (4,), "u32")
    noise, counter2 = rlx.random_normal(7 + (5 << 32), counter, (3,), 1.0, 2.0)
    share, counter3 = rlx.random_uniform(7 + (5 << 32), counter2, ())
    graph.output(noise, share, names=["noise", "share"])
    graph.set_state(counter, counter3)
    return graph


def test_a_counter_is_a_state():
    graph, counter, seen = sampler().graph, ZERO, []
    for _ in range(3):
        noise, share, counter = evaluate(graph, {"counter": counter})
        seen.append((*noise.tolist(), float(share)))
    assert counter.tolist() == [6, 0, 0, 0]
    key = words(7, 5)
    first = normal(RealRandomBits(shape=(4,)).evaluate(key, words(2, 0, 0, 0))[0])[:3]
    assert list(seen[1][:3]) == (first * np.float32(2) + np.float32(1)).tolist()
    assert len({*seen}) == 3


def test_a_key_is_a_number_or_a_tensor():
    graph = Graph("g")
    counter, key = graph.input("counter", (4,), "u32"), graph.input("key", (2,), "u32")
    graph.output(rlx.random_bits(key, counter, (5,))[0], rlx.random_bits(3, counter, (5,))[0])
    one, two = evaluate(graph.graph, {"counter": ZERO, "key": words(3, 0)})
    np.testing.assert_array_equal(one, two)
    for wrong in (-1, 2**64):
        with raises(ValueError):
            rlx.random_bits(wrong, counter, ())


def test_random_numbers_in_a_loop():
    graph = Graph("walk")
    counter = graph.input("counter", (4,), "u32")

    def step(counter, _):
        number, following = rlx.random_uniform(1, counter, (2,), -1.0, 1.0)
        return following, number

    last, ways = rlx.scan(step, counter, length=3)
    graph.output(last, ways)
    for results in (
        evaluate(graph.graph, {"counter": ZERO}),
        rlx.Session().compile(graph).run_typed({"counter": ZERO}),
    ):
        assert results[0].tolist() == [3, 0, 0, 0]
        bits = philox(words(2, 0, 0, 0), words(1, 0))[:2]
        np.testing.assert_array_equal(results[1][2], uniform(bits) * np.float32(2) - np.float32(1))
