"""Samples in the layout of the file, for networks that were read channels last."""

import numpy as np
import pytest

import rlx
from rlx.samples.layout import channels_last, is_channels_first
from rlx.support.errors import UsageError
from support.files.onnx_builder import model, node
from support.messages import raises

RANDOM = np.random.default_rng(9)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ((9, 3, 4, 5), (1, 4, 5, 3), True),
        ((9, 1, 3, 4, 5), (1, 4, 5, 3), True),
        ((9, 3, 7), (1, 7, 3), True),
        ((9, 4, 5, 3), (1, 4, 5, 3), False),
        ((9, 4, 4, 4), (1, 4, 4, 4), False),
        ((9, 5, 3, 4), (1, 4, 5, 3), False),
        ((9, 3, 4, 5), (2, 4, 5, 3), False),
        ((9, 3), (1, 3), False),
        ((), (1, 4, 5, 3), False),
    ],
)
def test_channels_first_is_seen_by_the_shape(given, wanted, fits):
    assert is_channels_first(given, wanted) is fits
    if fits:
        samples = np.arange(np.prod(given)).reshape(given)
        turned = channels_last(samples, wanted)
        assert turned.shape == (given[0], *wanted[1:])
        flat = samples.reshape(given[0], wanted[-1], -1)
        assert np.array_equal(turned.reshape(given[0], -1, wanted[-1]), flat.swapaxes(1, 2))


@pytest.fixture
def paths(tmp_path):
    """A network of images, and samples as its file has them and as it was read."""
    nodes = [node("Conv", "x w b", "c"), node("Relu", "c", "r"),
             node("GlobalAveragePool", "r", "g"), node("Flatten", "g")]  # fmt: skip
    constants = {"w": numbers(4, 3, 3, 3), "b": numbers(4)}
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, {"x": ["n", 3, 8, 6]}, {"y": ["n", 4]}, constants))
    x = numbers(7, 3, 8, 6)
    np.savez(tmp_path / "first.npz", x=x)
    np.savez(tmp_path / "last.npz", x=np.moveaxis(x, 1, -1))
    return path, tmp_path / "first.npz", tmp_path / "last.npz"


def test_both_layouts_give_the_same(paths):
    path, first, last = paths
    plain = rlx.run(rlx.load(path), first).values
    net = rlx.load(path, channels_last=True)
    for data in (first, last, np.load(first)["x"], {"x": np.load(last)["x"]}):
        np.testing.assert_allclose(rlx.run(net, data).values, plain, rtol=1e-5)
    quantized = [rlx.quantize(net, data).module for data in (first, last)]
    for data in (first, last):
        assert np.array_equal(*(rlx.run(q, data).values for q in quantized))
    assert rlx.compare(net, quantized[0], first).samples == 7


@pytest.mark.parametrize("data", [1, 2])
def test_the_commands_take_both_too(paths, data, capsys):
    from rlx.cli import main

    path, *files = paths
    net, out = path.with_suffix(".rlx"), path.with_suffix(".q.rlx")
    assert main(["import", str(path), "--channels-last", "-o", str(net)]) == 0
    given = str(paths[data])
    assert main(["quantize", str(net), "--calib", given, "-o", str(out)]) == 0
    assert main(["run", str(out), "--input", given, "-o", str(path.with_suffix(".npz"))]) == 0
    found = np.load(path.with_suffix(".npz"))["y"]
    assert np.array_equal(found, rlx.run(rlx.load(out), files[0]).values.reshape(found.shape))
    folder = path.with_name("out")
    command = ["emit", str(out), "--target", "cortexm", "--vectors", given, "-o", str(folder)]
    assert main(command) == 0
    capsys.readouterr()


def test_where_the_file_is_channels_last_the_message_says_how(paths):
    nodes = [node("Relu", "x")]
    path = paths[0].with_name("last.onnx")
    path.write_bytes(model(nodes, {"x": [1, 8, 6, 3]}, {"y": [1, 8, 6, 3]}))
    with raises(UsageError):
        rlx.run(path, paths[1])
    with raises(UsageError):
        rlx.run(paths[0], paths[2])
    with raises(UsageError):
        rlx.driver.reference.input_frames(rlx.load(path).graph, {"x": np.load(paths[1])["x"]}, None)


def test_labelled_samples_of_a_core_may_be_as_in_the_file():
    from rlx.metrics.inference.data import samples_of
    from rlx.reports.labelled import _ports_alone

    port = {"name": "x", "shape": [1, 4, 5, 3], "dtype": "i8", "quant": [0.5, 3]}
    out = {"name": "y", "shape": [1, 2], "dtype": "i8", "quant": [0.5, 3]}
    graph = _ports_alone({"name": "net", "inputs": [port], "outputs": [out]})
    x = numbers(6, 3, 4, 5)
    first, last = (
        next(iter(samples_of(graph, given).batches(6)))["x"] for given in (x, np.moveaxis(x, 1, -1))
    )
    assert np.array_equal(first, last)
