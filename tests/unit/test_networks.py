"""``rlx.load`` gives a network for users, which is accepted wherever a network is."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples/digits/digits.rlx"
IMAGES = np.load(ROOT / "examples/digits/samples.npz")["image"][:3]


@pytest.fixture(scope="module")
def digits():
    return rlx.load(DIGITS)


def linear():
    """Return a float network of 4 inputs, 3 outputs and any number of rows."""
    g = rlx.Graph("linear")
    x = g.input("x", rlx.f32(rlx.Dim("n"), 4))
    g.output(y=x @ g.param("w", value=np.eye(4, 3, dtype=np.float32)))
    return rlx.freeze(g.module, g.parameters)


def test_a_network_names_its_interface(digits):
    assert digits.name == "digits"
    assert [*digits.inputs, *digits.outputs] == ["image", "probabilities"]
    assert str(digits.inputs["image"]).startswith("i8[1, 8, 8, 1]")
    assert digits.outputs["probabilities"].shape == (1, 10)
    assert repr(digits).startswith('<Network "digits": 6 ops, "image"')


def test_a_network_runs_and_shows_its_layers(digits):
    result, plain = digits.run(IMAGES), rlx.run(DIGITS, IMAGES)
    assert np.array_equal(result.codes, plain.codes)
    assert [*digits.layers(IMAGES)] == [*rlx.layers(DIGITS, IMAGES)]


def test_a_network_is_a_picture(digits):
    picture = digits.picture()
    assert picture.startswith("<svg")
    assert picture._repr_svg_() == str(picture)
    assert "<svg" in digits._repr_html_()


def test_results_are_arrays(digits):
    result = digits.run(IMAGES)
    assert np.array_equal(np.asarray(result), result.values)
    assert np.asarray(result, np.float64).dtype == np.float64
    assert np.array_equal(result["probabilities"], result.values)
    with raises(KeyError):
        result["scores"]


def test_open_dimensions_follow_the_data_or_are_bound(tmp_path):
    rlx.save(linear(), tmp_path / "linear.rlx")
    network = rlx.load(tmp_path / "linear.rlx")
    x = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
    assert np.array_equal(network.run(x).values, x[..., :3])
    bound = rlx.bind(network, {"n": 5})
    assert isinstance(bound, rlx.Network)
    assert bound.inputs["x"].shape == (5, 4)


def test_a_traced_network_is_saved_with_its_parameters(tmp_path):
    w = np.arange(4, dtype=np.float32)
    traced = rlx.trace("net", lambda g: g.input("x", 4) * g.param("w", value=w))
    rlx.save(traced, tmp_path / "net.rlx")
    x = np.ones(4, np.float32)
    assert np.array_equal(rlx.run(tmp_path / "net.rlx", x[np.newaxis]).values[0], w)
    open_graph = rlx.trace("net", lambda g: g.input("x", 4) * g.param("w", 4))
    rlx.save(open_graph, tmp_path / "open.rlx")
    assert [p.name for p in rlx.load(tmp_path / "open.rlx").graph.params] == ["w"]


def test_what_quantize_returns_is_a_network_too(tmp_path):
    network = rlx.bind(linear(), {"n": 1})
    samples = np.random.default_rng(0).standard_normal((20, 1, 4)).astype(np.float32)
    quantized = rlx.quantize(network, samples)
    result = rlx.run(quantized, samples)
    assert np.array_equal(result.values, rlx.run(quantized.module, samples).values)
    assert rlx.estimate(quantized, "cortexm") == rlx.estimate(quantized.module, "cortexm")
    rlx.save(quantized, tmp_path / "net.q.rlx")
    assert rlx.load(tmp_path / "net.q.rlx").graph == quantized.module.graph
    assert rlx.compare(quantized, tmp_path / "net.q.rlx", samples, criteria="exact").passed
    program = rlx.Session().compile(quantized)
    assert np.array_equal(program.run({"x": samples[0]})[0], result.values[:1])
