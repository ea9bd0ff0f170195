"""``rlx.run`` and ``rlx.layers`` on whole networks: integers of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from support.files.tflite_builder import run_tflm, tflm, unpack
from support.networks import mlperf_like


def samples(shape, count):
    return np.random.default_rng(1).integers(-128, 127, (count, *shape), np.int8, endpoint=True)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("kws", (1, 49, 10, 1)), ("resnet", (1, 32, 32, 3)), ("autoencoder", (1, 640))],
)
def test_outputs_are_those_of_the_interpreter(tmp_path, name, shape):
    x = samples(shape, 16)
    result = rlx.run(mlperf_like.file(tmp_path, name), x)
    wanted = [run_tflm(mlperf_like.network(name), one)[0][0] for one in x]
    np.testing.assert_array_equal(result.codes, wanted)
    assert result.has_classes == (name != "autoencoder")


def test_every_layer_is_that_of_the_interpreter(tmp_path):
    data, x = mlperf_like.network("kws"), samples((1, 49, 10, 1), 1)
    layers = rlx.layers(mlperf_like.file(tmp_path, "kws"), x)
    found = {layer.codes.tobytes() for layer in layers.values()}
    interpreter = tflm(data, preserve=True)
    interpreter.set_input(x[0], 0)
    interpreter.invoke()
    made = [o.outputs[0] for o in unpack(data).subgraphs[0].operators]
    assert len(made) == 13
    for index in made:
        assert interpreter.GetTensor(index, 0)["tensor_data"].tobytes() in found


@pytest.mark.models
def test_keyword_spotting_is_as_accurate_as_published(shared_models):
    inputs = shared_models / "inputs"
    result = rlx.run(shared_models / "kws_ref_model.tflite", inputs / "kws01_x_int8.npy")
    assert result.accuracy(np.load(inputs / "kws01_labels.npy")).correct == 901
