"""Samples in every form that callers give them in."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import DType, Graph, TensorType
from rlx.samples.given import arrays_by_name, loaded_arrays, path_of
from rlx.support.errors import UsageError
from rlx.support.files.arrays import StoredArray
from support.messages import raises

IMAGES = np.arange(24, dtype=np.int8).reshape(3, 2, 4)


def inputs(*names):
    graph = Graph("net")
    return [graph.input(name, TensorType((1, 2, 4, 1), DType.I8)) for name in names or ("image",)]


@pytest.mark.parametrize("end", [".npy", ".npz"])
@pytest.mark.parametrize("form", [str, lambda path: path])
def test_paths(end, form, tmp_path):
    path = tmp_path / f"samples{end}"
    np.save(path, IMAGES) if end == ".npy" else np.savez(path, image=IMAGES)
    stored = arrays_by_name(form(path), inputs(), what="data")
    name = "x" if end == ".npy" else "image"
    assert isinstance(stored[name], StoredArray)
    loaded = loaded_arrays(form(path), inputs(), what="data")
    assert np.array_equal(loaded["image"], IMAGES)


@pytest.mark.parametrize(
    "data", [IMAGES, IMAGES.tolist(), {"image": IMAGES}, {"x": IMAGES}, IMAGES[..., None]]
)
def test_numbers(data):
    (array,) = loaded_arrays(data, inputs(), what="data").values()
    assert array.dtype == np.int8
    assert np.array_equal(array.reshape(IMAGES.shape), IMAGES)


def test_one_sample_gets_its_axis():
    (array,) = loaded_arrays(IMAGES[0], inputs(), what="data").values()
    assert array.shape == (1, 2, 4, 1)


@pytest.mark.parametrize("data", ["none.npz", None, object(), [[1], [2, 3]], [[1000] * 8]])
def test_what_is_refused(data):
    with raises(UsageError):
        arrays_by_name(data, inputs(), what="data")


def test_one_array_for_two_inputs_is_refused():
    with raises(UsageError):
        arrays_by_name(IMAGES, inputs("a", "b"), what="data")


def test_paths_and_other_data():
    assert path_of("a.npz") == path_of(path_of("a.npz"))
    assert path_of(IMAGES) is None
