"""Data that do not fit get a message of their own."""

import re

import numpy as np
import pytest

import rlx
from rlx.samples.batches import read_samples
from rlx.support.errors import RlxError, UsageError
from support.networks.quantized_net import CLASSES, float_network, samples

GRAPH = float_network()
GOOD = samples(6)


def bad(value, place=(4, 1, 2, 0)):
    array = GOOD.copy()
    array[place] = value
    return array


CASES = {
    "empty": (GOOD[:0], "calibration data: holds no samples"),
    "nothing for it": (
        {"picture": GOOD},
        "calibration data: holds nothing for input 'image', only 'picture'",
    ),
    "nan": (bad(np.nan), "calibration data, input 'image': sample 4 holds NaN"),
    "infinite": (
        bad(-np.inf), "calibration data, input 'image': sample 4 holds an infinite number",
    ),
    "float64 beyond float32": (
        bad(0).astype(np.float64) + 1e300 * (np.arange(6) == 2)[:, None, None, None],
        "calibration data, input 'image': sample 2 holds an infinite number",
    ),
    "integers": (
        (GOOD * 255).astype(np.uint8),
        "calibration data, input 'image': holds uint8 numbers, but the input is f32[1, 8, 8, 3]",
    ),
    "shape": (
        GOOD[:, :7],
        "calibration data, input 'image': its shape is [6, 7, 8, 3], but f32[1, 8, 8, 3] needs"
        " [samples, 8, 8, 3]",
    ),
    "no axis of samples": (
        GOOD[0, 0, 0, 0],
        "calibration data, input 'image': its shape is [], but f32[1, 8, 8, 3] needs"
        " [samples, 8, 8, 3]",
    ),
    "constant": (
        np.full_like(GOOD, 0.5),
        "calibration data, input 'image': every number is 0.5: no ranges can be measured",
    ),
    "label too large": (
        {"x": GOOD, "y": np.array([0, 1, 2, 3, 4, 5])},
        "labels of the calibration data: sample 5 has the label 5, but there are the classes 0 to"
        " 4",
    ),
    "label negative": (
        {"x": GOOD, "labels": np.array([0, -1, 2, 3, 4, 0])},
        "labels of the calibration data: sample 1 has the label -1, but there are the classes"
        " 0 to 4",
    ),
    "labels too few": (
        {"x": GOOD, "y": np.zeros(5, np.int64)},
        "labels of the calibration data: their shape is [5], but there are 6 samples",
    ),
    "labels one-hot": (
        {"x": GOOD, "y": np.eye(6, CLASSES)},
        "labels of the calibration data: their shape is [6, 5], but there are 6 samples",
    ),
    "labels float": (
        {"x": GOOD, "y": np.zeros(6)},
        "labels of the calibration data: they are float64 numbers, but a class has a whole number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stored", [False, True])
def test_bad_data_are_refused(case, stored, tmp_path):
    data, message = CASES[case]
    if stored:
        path = tmp_path / "data.npz"
        np.savez(path, **(data if isinstance(data, dict) else {"x": data}))
        data = path
    with pytest.raises(UsageError) as caught:
        rlx.quantize(GRAPH, data)
    assert f"{caught.value.where}: {caught.value.message}" == message
    assert caught.value.hint


def test_overflow_within_the_network_names_the_layer():
    with pytest.raises(UsageError, match="gives NaN or infinite numbers") as caught:
        rlx.quantize(GRAPH, GOOD * np.float32(3e38))
    assert caught.value.where.startswith("nn.")


def test_no_file(tmp_path):
    with pytest.raises(UsageError, match="no file") as caught:
        rlx.quantize(GRAPH, tmp_path / "none.npz")
    assert caught.value.where == "calibration data"


def test_samples_of_two_inputs_must_be_as_many():
    def add(x, y):
        return x + y

    graph = rlx.trace("add", add, rlx.f32(1, 4), rlx.f32(1, 4)).graph
    data = {"x": np.ones((3, 4), np.float32), "y": np.ones((2, 4), np.float32)}
    message = "holds different numbers of samples: 3 for 'x', 2 for 'y'"
    with pytest.raises(RlxError, match=re.escape(message)):
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
