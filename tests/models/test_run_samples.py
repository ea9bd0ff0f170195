"""``rlx.run`` and ``rlx.layers`` on the reference networks: integers of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import rlx

pytestmark = pytest.mark.models


@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant", "ad01_int8"])
def test_outputs_are_those_of_the_interpreter(shared_models, name):
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
    result = rlx.run(shared_models / f"{name}.tflite", vectors["x"])
    np.testing.assert_array_equal(result.codes, vectors["y"][:, 0])
    assert result.has_classes == (name != "ad01_int8")


def test_every_layer_is_that_of_the_interpreter(shared_models):
    vectors = np.load(shared_models / "vectors" / "kws_ref_model.npz")
    stored = [vectors[key] for key in vectors if key.startswith("layer/0/")]
    layers = rlx.layers(shared_models / "kws_ref_model.tflite", vectors["x"][:1])
    found = {layer.codes.tobytes() for layer in layers.values()}
    assert stored
    assert all(array.tobytes() in found for array in stored)


def test_keyword_spotting_is_as_accurate_as_published(shared_models):
    inputs = shared_models / "inputs"
    result = rlx.run(shared_models / "kws_ref_model.tflite", inputs / "kws01_x_int8.npy")
    assert result.accuracy(np.load(inputs / "kws01_labels.npy")).correct == 901
