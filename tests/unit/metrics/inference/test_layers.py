"""``module.layers``: ranges, saturation, histograms and numbers of every layer."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ir.evaluate import evaluate_all
from rlx.ops.nn import NnConv
from rlx.ops.real import RealAdd, RealLog, SpatialWindow
from rlx.support.errors import UsageError
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples/digits/digits.rlx"
FLOAT = ROOT / "examples/mnist/tinyconv_float.rlx"
INTEGER = ROOT / "examples/mnist/tinyconv.rlx"


@pytest.fixture(scope="module")
def images():
    random = np.random.default_rng(1)
    return random.integers(-128, 127, (40, 8, 8, 1), np.int8, endpoint=True)


@pytest.fixture(scope="module")
def arrays(images):
    """Values by the reference, by the name of their node."""
    graph = rlx.load(DIGITS).graph
    found = [evaluate_all(graph, {"image": one[np.newaxis]}) for one in images]
    return {v.node.name: np.concatenate([f[v] for f in found]) for v in found[0] if v.node.name}


def test_every_layer_has_its_numbers_and_its_range(images, arrays):
    layers = rlx.load(DIGITS).layers(images)
    assert list(layers) == ["image", "conv1", "pool", "conv2", "flatten", "dense", "probabilities"]
    assert layers.samples == 40
    for name, layer in layers.items():
        quant = layer.type.quant
        values = (arrays[name].astype(float) - quant.zero_point[0]) * quant.scale[0]
        np.testing.assert_array_equal(layer.codes, arrays[name])
        np.testing.assert_array_equal(layer.values, values)
        assert (layer.minimum, layer.maximum) == (values.min(), values.max())
        wanted, _ = np.histogram(values, layer.histogram.edges)
        np.testing.assert_array_equal(layer.histogram.counts, wanted)
        assert layer.sqnr_db is None


def test_saturated_are_integers_at_an_end_that_is_not_zero(images, arrays):
    layers = rlx.load(DIGITS).layers(images)
    ends = np.isin(arrays["dense"], [-128, 127])  # zero is 55
    assert layers["dense"].saturated == ends.mean()
    assert layers["conv1"].saturated == (arrays["conv1"] == 127).mean()  # zero is -128
    assert layers["image"].saturated == (images == 127).mean() > 0


def test_real_numbers_and_wide_integers_are_counted_in_bins():
    layers = rlx.layers(FLOAT, np.random.default_rng(3).random((50, 28, 28, 1)))
    for layer in layers.values():
        counts, edges = layer.histogram
        assert len(edges) == len(counts) + 1
        assert counts.sum() == layer.values.size
        wanted, _ = np.histogram(layer.values, edges)
        np.testing.assert_array_equal(counts[:-1], wanted[:-1])  # NumPy's last bin is closed
        assert layer.saturated is None
    with raises(UsageError):
        _ = layers["dense"].codes


def test_layers_are_compared_with_those_of_another_network():
    images = np.random.default_rng(3).random((50, 28, 28, 1))
    layers = rlx.layers(INTEGER, images, against=FLOAT)
    figures = {f.name: f.closeness.sqnr_db for f in rlx.compare(FLOAT, INTEGER, images).layers}
    assert {name: layers[name].sqnr_db for name in figures} == figures
    assert layers["image"].sqnr_db is None
    assert "SQNR, dB" in repr(layers)


def test_a_layer_of_several_nodes_is_compared_in_its_own_row():
    """A 1-D convolution becomes a 2-D one between two reshapes."""
    random = np.random.default_rng(5)
    graph = Graph("net")
    x = graph.input("x", f32(1, 16, 3))
    kernel = graph.constant(random.normal(size=(4, 3, 3)).astype(np.float32))
    conv = NnConv(window=SpatialWindow(kernel=(3,)))
    graph.output(graph.apply(conv, x, kernel, name="conv1"))
    data = random.normal(size=(20, 16, 3))
    quantized = rlx.quantize(graph, data)
    layers = rlx.layers(quantized, data, against=graph)
    (figures,) = rlx.compare(graph, quantized, data).layers
    compared = {name: one.sqnr_db for name, one in layers.items() if one.sqnr_db is not None}
    assert [layers[name].op for name in layers if name.startswith("conv1")].count("q.reshape") == 2
    assert compared == {"conv1": figures.closeness.sqnr_db}


def test_a_file_of_samples_is_read_again_for_numbers(images, arrays, tmp_path):
    np.save(tmp_path / "images.npy", images)
    layers = rlx.load(DIGITS).layers(tmp_path / "images.npy")
    np.testing.assert_array_equal(layers["pool"].codes, arrays["pool"])
    assert layers["pool"].array is layers["pool"].array
    assert not layers["pool"].array.flags.writeable


def test_layers_of_the_same_name_are_told_apart():
    graph = Graph("twins")
    x = graph.input("x", f32(1, 2))
    first = graph.apply(RealAdd(), x, x, name="sum")
    graph.output(graph.apply(RealAdd(), first, x, name="sum"))
    layers = rlx.layers(graph, [1.0, 2.0])
    assert list(layers) == ["x", "sum_add", "sum"]
    assert layers["sum"].values.tolist() == [[3, 6]]


def test_a_table_shows_them(images):
    layers = rlx.load(DIGITS).layers(images)
    lines = repr(layers).splitlines()
    assert lines[0] == "40 samples"
    assert lines[1].split() == ["layer", "op", "type", "min", "max", "saturated,", "%"]
    assert len(lines) == 9
    assert repr(layers["conv1"]).startswith("<q.conv2d 'conv1': i8[1, 8, 8, 8]")
    assert layers._repr_html_().count("<tr>") == 8


def test_names_are_escaped():
    graph = Graph("hostile")
    graph.output(graph.input("<b>&", i8(1, 2, quant=QuantParams.per_tensor(1.0))))
    html = rlx.layers(graph, np.zeros((1, 2), np.int8))._repr_html_()
    assert ">b<" in html
    assert "<b>" not in html


def test_infinite_numbers_are_refused():
    graph = Graph("log")
    graph.output(graph.apply(RealLog(), graph.input("x", f32(1, 2)), name="log"))
    with (
        np.errstate(divide="ignore"),
        raises(UsageError),
    ):
        rlx.layers(graph, [0.0, 1.0])
