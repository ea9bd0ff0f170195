"""Tensors in other files: the one beside the model, others if allowed, all below its folder."""

import os

import numpy as np
import pytest
from malformed.onnx_models import WEIGHTS, external, sound_file

from rlx import frontends
from rlx.frontends.onnx.options import OnnxOptions
from rlx.frontends.weights import WeightStore
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.messages import raises

ALLOWED = OnnxOptions(allow_external=True)


@pytest.fixture
def folder(tmp_path):
    """A model's folder with the weights in two places, and a secret beside it."""
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    inner = tmp_path / "model" / "parts"
    inner.mkdir(parents=True)
    (inner / "w.bin").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "model" / "w.bin").write_bytes(bytes(64) + WEIGHTS.tobytes())
    return tmp_path / "model"


def load(folder, location, options=ALLOWED, **more):
    path = folder / "m.onnx"
    path.write_bytes(external(location, **more))
    return frontends.load(path, options=options).graph


def refusal(folder, location, **more):
    with pytest.raises(UnsupportedOpError) as caught:
        load(folder, location, **more)
    assert caught.value.hint
    assert caught.value.where == "m.onnx: tensor 0, 'w'"
    return caught.value.message


@pytest.mark.parametrize(
    ("location", "more"),
    [
        ("parts/w.bin", {}),
        ("./parts/w.bin", {"offset": "0"}),
        ("other/../parts/w.bin", {}),
        ("w.bin", {"offset": "64", "length": str(WEIGHTS.nbytes)}),
    ],
)
def test_allowed_data_are_read(folder, location, more, tmp_path):
    path = tmp_path / "whole.onnx"
    path.write_bytes(sound_file())
    x = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    (expected,) = evaluate(frontends.load(path).graph, x)
    (found,) = evaluate(load(folder, location, **more), x)
    assert np.array_equal(found, expected)


def test_nothing_is_read_by_default(folder):
    with raises(UnsupportedOpError):
        load(folder, "w.bin", options=OnnxOptions())


def test_nothing_is_read_for_a_model_without_a_folder():
    from rlx.frontends.onnx.frontend import load as load_bytes

    with raises(UnsupportedOpError):
        load_bytes(external("w.bin"), options=ALLOWED)


@pytest.mark.parametrize("name", ["m.onnx.data", "m.onnx_data", "m.data", "./m.data"])
def test_the_file_that_exporters_write_beside_a_model_is_read(folder, name, tmp_path):
    (folder / name).write_bytes(WEIGHTS.tobytes())
    found = load(folder, name, options=OnnxOptions())
    (tmp_path / "whole.onnx").write_bytes(sound_file())
    assert same(found, frontends.load(tmp_path / "whole.onnx").graph)
    store = WeightStore.open(folder / "m.onnx")
    assert np.array_equal(store["w"], WEIGHTS)


def same(a, b):
    x = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    return np.array_equal(*(evaluate(graph, x)[0] for graph in (a, b)))


@pytest.mark.parametrize("name", ["n.onnx.data", "m.onnx", "secret.bin", "parts/m.onnx.data"])
def test_other_files_beside_a_model_are_not(folder, name):
    (folder / "parts" / "m.onnx.data").write_bytes(WEIGHTS.tobytes())
    with raises(UnsupportedOpError):
        load(folder, name, options=OnnxOptions())


def test_a_link_beside_a_model_is_not_followed(folder):
    (folder / "m.onnx.data").symlink_to(folder.parent / "secret.bin")
    with raises(UnsupportedOpError):
        load(folder, "m.onnx.data", options=OnnxOptions())
    (folder / "m.onnx.data").unlink()
    os.link(folder.parent / "secret.bin", folder / "m.onnx.data")
    with raises(UnsupportedOpError):
        load(folder, "m.onnx.data", options=OnnxOptions())


def test_a_backslash_is_a_letter_where_it_parts_no_names(folder):
    (folder / "parts\\w.bin").write_bytes(WEIGHTS.tobytes() + bytes(8))
    assert load(folder, "parts\\w.bin", length=str(WEIGHTS.nbytes)) is not None
    with raises(FrontendError):
        load(folder, "..\\secret.bin")


@pytest.mark.parametrize(
    "location",
    ["../secret.bin", "parts/../../secret.bin", "parts/../../model/w.bin", "/etc/passwd", "", ".",
     "w.bin\0.txt"],
)  # fmt: skip
def test_places_outside_the_folder(folder, location):
    assert "which is not inside the model's folder" in refusal(folder, location)


def test_symbolic_links_are_not_followed(folder):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    (folder / "out").symlink_to(folder.parent)
    (folder / "in").symlink_to(folder / "parts")
    for location in ("link.bin", "out/secret.bin", "in/w.bin"):
        assert "without following links" in refusal(folder, location)


def test_files_of_several_names_are_not_read(folder):
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    assert "which has several names (hard links)" in refusal(folder, "hard.bin")


@pytest.mark.parametrize("name", ["m.onnx.data", "nowhere/w.bin"])
def test_a_missing_file_is_to_be_copied_beside_the_model(folder, name):
    with raises(FrontendError):
        load(folder, name)


def test_what_is_no_plain_file(folder):
    os.mkfifo(folder / "pipe")
    assert "which is not a regular file" in refusal(folder, "pipe")
    assert "which is not a regular file" in refusal(folder, "parts")


@pytest.mark.parametrize(
    "more",
    [
        {"offset": "600"},
        {"offset": "64", "length": "999999"},
        {"offset": "-1"},
        {"length": "1e3"},
        {"length": "9" * 400},
        {"length": "8"},
    ],
)
def test_ranges_that_make_no_sense(folder, more):
    with raises(FrontendError):
        load(folder, "w.bin", **more)
