"""Data that do not fit get a message of their own."""

import numpy as np
import pytest

import rlx
from rlx.samples.batches import read_samples
from rlx.support.errors import RlxError, UsageError
from support.messages import raises
from support.networks.quantized_net import CLASSES, float_network, samples

GRAPH = float_network()
GOOD = samples(6)


def bad(value, place=(4, 1, 2, 0)):
    array = GOOD.copy()
    array[place] = value
    return array


CASES = {
    "empty": GOOD[:0],
    "nothing for it": {"picture": GOOD},
    "nan": bad(np.nan),
    "infinite": bad(-np.inf),
    "float64 beyond float32": bad(0).astype(np.float64)
    + 1e300 * (np.arange(6) == 2)[:, None, None, None],
    "integers": (GOOD * 255).astype(np.uint8),
    "shape": GOOD[:, :7],
    "no axis of samples": GOOD[0, 0, 0, 0],
    "constant": np.full_like(GOOD, 0.5),
    "label too large": {"x": GOOD, "y": np.array([0, 1, 2, 3, 4, 5])},
    "label negative": {"x": GOOD, "labels": np.array([0, -1, 2, 3, 4, 0])},
    "labels too few": {"x": GOOD, "y": np.zeros(5, np.int64)},
    "labels one-hot": {"x": GOOD, "y": np.eye(6, CLASSES)},
    "labels float": {"x": GOOD, "y": np.zeros(6)},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stored", [False, True])
def test_bad_data_are_refused(case, stored, tmp_path):
    data = CASES[case]
    if stored:
        path = tmp_path / "data.npz"
        np.savez(path, **(data if isinstance(data, dict) else {"x": data}))
        data = path
    with raises(UsageError):
        rlx.quantize(GRAPH, data)


def test_overflow_within_the_network_names_the_layer():
    with raises(UsageError):
        rlx.quantize(GRAPH, GOOD * np.float32(3e38))


def test_no_file(tmp_path):
    with raises(UsageError):
        rlx.quantize(GRAPH, tmp_path / "none.npz")


def test_samples_of_two_inputs_must_be_as_many():
    def add(x, y):
        return x + y

    graph = rlx.trace("add", add, rlx.f32(1, 4), rlx.f32(1, 4)).graph
    data = {"x": np.ones((3, 4), np.float32), "y": np.ones((2, 4), np.float32)}
    with raises(RlxError):
        read_samples(graph, data, what="data")


@pytest.mark.parametrize("name", ["x", "image"])
@pytest.mark.parametrize("shape", [(6, 8, 8, 3), (6, 1, 8, 8, 3), (6, 192)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_samples_come_in_batches(name, shape, dtype, stored, size, tmp_path):
    array, labels = GOOD.reshape(shape).astype(dtype), np.array([0, 1, 2, 3, 4, 0], np.uint8)
    data = {name: array, "labels": labels}
    if stored:
        np.savez(tmp_path / "data.npz", **data)
        data = tmp_path / "data.npz"
    found = read_samples(GRAPH, data, what="data")
    assert found.count == 6
    assert np.array_equal(found.labels, labels)
    for taken, count in ((found, 6), (found.first(5), 5)):
        batches = list(taken.batches(size))
        assert [len(b["image"]) for b in batches] == [
            min(size, count - i) for i in range(0, count, size)
        ]
        whole = np.concatenate([b["image"] for b in batches])
        assert whole.dtype == np.float32
        assert np.array_equal(whole, GOOD[:count].astype(dtype).astype(np.float32))


def test_a_stored_array_is_read_as_well(tmp_path):
    np.save(tmp_path / "x.npy", GOOD)
    (batch,) = read_samples(GRAPH, tmp_path / "x.npy", what="data").batches(10)
    assert np.array_equal(batch["image"], GOOD)


@pytest.mark.parametrize("size", [1, 4, 9])
@pytest.mark.parametrize("count", [2, 5, 6])
@pytest.mark.parametrize("half", [0, 1])
def test_halves_are_every_other_sample(half, count, size):
    data = {"image": GOOD[:count], "labels": np.array([0, 1, 2, 3, 4, 0])[:count]}
    found = read_samples(GRAPH, data, what="data").halves()[half]
    for taken, number in ((found, 6), (found.first(2), 2)):
        rows = GOOD[:count][half::2][:number]
        assert taken.count == len(rows)
        assert np.array_equal(taken.labels, data["labels"][half::2][:number])
        batches = [b["image"] for b in taken.batches(size)]
        assert all(len(b) == size for b in batches[:-1])
        assert np.array_equal(np.concatenate(batches), rows)
