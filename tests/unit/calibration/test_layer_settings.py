"""Settings of layers: written, read back, edited, and refused where they do not fit."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.calibration.layer_settings import read_settings
from rlx.calibration.settings import settings_of
from rlx.cli import main
from rlx.ir.file import save, to_file_bytes
from rlx.ir.module import GraphModule
from rlx.ops.q import QConv2d, QDense
from rlx.support.errors import UsageError
from rlx.support.spelling import typed
from support.messages import raises
from support.networks.quantized_net import float_network, named, samples

GRAPH = float_network()
CALIB = samples(48, 1)
ANY = {"min_sqnr": -np.inf, "min_agreement": 0.0}


def quantized(settings=None, **options):
    return rlx.quantize(GRAPH, CALIB, settings=settings, **ANY, **options)


def bits_of(module):
    nodes = [n for n in module.graph.op_nodes if isinstance(n.op, QConv2d | QDense)]
    return [n.operands[1].type.dtype.bits for n in nodes]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "4", "symmetric": True},
        {"weights": "auto", "bits": 5},
        {"observer": "percentile", "equalize": True, "bias_correction": False},
        {"equalize": False},
    ],
)
def test_written_settings_give_the_same_network(tmp_path, options):
    first = quantized(**options)
    text = first.report.settings_text()
    path = tmp_path / "net.toml"
    path.write_text(text)
    for settings in (path, str(path), tomllib.loads(text)):
        again = quantized(settings)
        assert to_file_bytes(again.module) == to_file_bytes(first.module)
        assert again.report.settings_text() == text


@pytest.mark.parametrize("symmetric", [False, True])
def test_ranges_in_place_of_observers_give_the_same_network(tmp_path, symmetric):
    """All numbers that the file has as comments, taken as they are, on other samples too."""
    first = quantized(symmetric=symmetric, equalize=False)
    lines = first.report.settings_text().splitlines()
    head, start = lines[:12], lines.index('[layers."conv1"]')
    lines = head + [
        line.removeprefix("# ") if line.startswith("# range") else line
        for line in lines[start:]
        if not line.startswith("observer")
    ]
    path = tmp_path / "net.toml"
    path.write_text("\n".join(lines))
    again = quantized(path)
    assert to_file_bytes(again.module) == to_file_bytes(first.module)
    other = rlx.quantize(GRAPH, CALIB / 4, settings=path, **ANY).report
    scales = [layer.scale for layer in other.layers if layer.range_of == "settings"]
    assert scales == [layer.scale for layer in first.report.layers if layer.range_of == "mse"]
    assert len(scales) == 5
    assert "range = [" in other.settings_text().split('[layers."conv1"]')[1].split("\n")[2]


def test_a_network_trained_again_keeps_fixed_ranges():
    """The quantization of every result is the same, on the same samples; weights are others."""
    first = quantized()
    settings = tomllib.loads(first.report.settings_text(fix_ranges=True))
    assert not any("observer" in layer for layer in settings["layers"].values())
    again = float_network(seed=5)
    own, fixed = (
        rlx.quantize(again, CALIB, settings=given, **ANY).report for given in (None, settings)
    )
    assert parameters(fixed) == parameters(first.report) != parameters(own)


def parameters(report):
    return [(layer.scale, layer.zero_point) for layer in report.layers]


def test_the_order_is_that_of_the_network():
    text = quantized().report.settings_text()
    keys = list(tomllib.loads(text)["layers"])
    assert keys == ["conv1", "conv2", "conv3", "average_pool1", "linear1", "softmax1"]
    assert tomllib.loads(text)["layers"]["softmax1"] == {}
    assert "follows from the op" in text


def test_a_layer_has_its_own_bits_observer_and_range():
    report = quantized(equalize=False).report
    settings = {
        "equalize": "none",
        "layers": {
            "conv2": {"bits": 4, "observer": "min-max"},
            "conv3": {"bits": 2, "range": [0, 2]},
        },
    }
    changed = quantized(settings)
    assert bits_of(changed.module) == [8, 4, 2, 8]
    assert [layer.bits for layer in changed.report.layers] == [8, 4, 2, None, 8, None]
    sources = [layer.range_of for layer in changed.report.layers]
    assert sources == ["mse", "min-max", "settings", "mse", "mse", "known"]
    conv2, conv3 = changed.report.layers[1:3]
    assert conv2.results.high == pytest.approx(conv2.maximum, rel=1e-6)
    assert conv2.results.high > report.layers[1].results.high
    assert (conv3.results.low, conv3.results.high) == (0, pytest.approx(2, rel=1e-6))
    assert conv3.scale == np.float32(2 / 255)


def test_auto_keeps_the_bits_that_are_stated():
    settings = {"weights": "auto", "layers": {"conv1": {"bits": 8}, "linear1": {"bits": 2}}}
    bits = bits_of(quantized(settings, bits=6).module)
    assert (bits[0], bits[-1]) == (8, 2)


def test_options_that_the_settings_contradict_are_refused():
    with raises(UsageError):
        quantized({"observer": "kl"}, observer="percentile")
    with raises(UsageError):
        quantized({"equalize": "all"}, equalize=False)
    assert quantized({"equalize": "none"}, equalize=False).report.balanced == "none"
    assert quantized({"weights": 4}, weights=4).report.mean_bits == 4


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": {"conv4": {"bits": 4}}},
        {"network": "other", "layers": {f"dense{n}": {} for n in range(7)} | {"conv1": {}}},
        {"layers": {"softmax1": {"range": [0, 1]}}},
        {"layers": {"softmax1": {"bits": 8}}},
    ],
)
def test_settings_of_other_layers_are_refused(settings):
    with raises(UsageError):
        quantized(settings)


@pytest.mark.parametrize(
    "text",
    [
        "observers = 'mse'",
        "observer = 'mes'",
        "weights = 5",
        "symmetric = 1",
        "equalize = 'some'",
        "network = 1",
        "layers = 1",
        "layers.conv1 = 1",
        "layers.conv1.bit = 4",
        "layers.conv1.bits = 3",
        "layers.conv1.bits = 4.0",
        "layers.conv1.bits = true",
        "layers.conv1.skip = true",
        "layers.conv1.observer = 'minmax'",
        "layers.conv1.observer = []",
        "layers.conv1.range = 3",
        "layers.conv1.range = [1.0, 2.0]",
        "layers.conv1.range = [0, 0]",
        "layers.conv1.range = [-inf, 1]",
        "layers.conv1.range = [nan, 1]",
        "layers.conv1.range = [0, 1e39]",
        f"layers.conv1.range = [0, 1{'0' * 400}]",
        "layers.conv1.range = ['a', 1]",
        "layers.conv1 = { range = [0, 1], observer = 'mse' }",
        "layers.conv1 = {",
        "\x00",
    ],
)
def test_values_that_are_wrong_are_named(tmp_path, text):
    path = tmp_path / "net.toml"
    path.write_text(text)
    with raises(UsageError):
        read_settings(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with raises(UsageError):
        read_settings(tmp_path / "none.toml")


def test_names_of_a_model_are_keys_of_tables():
    graph = named(GRAPH)
    name = 'x"\n[layers]\\\x7f\u00e9'
    object.__setattr__(next(n for n in graph.nodes if n.name == "conv1"), "name", name)
    text = rlx.quantize(graph, CALIB, **ANY).report.settings_text()
    assert next(iter(tomllib.loads(text)["layers"])) == "x_layers"


def test_the_command_writes_and_reads_settings(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(GraphModule.hir(GRAPH), tmp_path / "net.rlx")
    np.savez("calib.npz", x=CALIB)
    arguments = ["quantize", "net.rlx", "--calib", "calib.npz", "--min-sqnr", "-inf",
                 "--min-agreement", "0"]  # fmt: skip
    assert main([*arguments, "-o", "a.q.rlx", "--write-settings", "a.toml"]) == 0
    assert "wrote a.toml" in capsys.readouterr().out
    assert main([*arguments, "-o", "b.q.rlx", "--settings", "a.toml"]) == 0
    fixed = [*arguments, "-o", "f.q.rlx", "--fix-ranges"]
    assert main([*fixed, "--write-settings", "f.toml"]) == 0
    assert "observer" not in Path("f.toml").read_text().split("[layers.", 1)[1]
    capsys.readouterr()
    assert main(fixed) == 2
    assert "--fix-ranges: has no effect without --write-settings" in capsys.readouterr().err
    assert (tmp_path / "a.q.rlx").read_bytes() == (tmp_path / "b.q.rlx").read_bytes()
    again = [*arguments, "-o", "c.q.rlx", "--settings", "a.toml", "--write-settings", "a.toml"]
    assert main(again) == 2
    assert "would be replaced" in capsys.readouterr().err
    assert main(["quantize", "net.rlx", "-o", "d.rlx", "--settings", "a.toml"]) == 2
    assert "nothing is calibrated without samples" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "line", "typed_text", "python_text"),
    [
        ({"weights": 4}, 'weights = "8"', "--weights is 4, and net.toml says 8",
         "weights is 4, and net.toml says 8"),
        ({"symmetric": True}, "symmetric = false", "--symmetric was given, and net.toml says false",
         "symmetric=True was given, and net.toml says false"),
        ({"equalize": False}, 'equalize = "all"', "--no-equalize was given, and net.toml says all",
         "equalize=False was given, and net.toml says all"),
    ],
)  # fmt: skip
def test_contradictions_name_option_and_file(
    tmp_path, monkeypatch, options, line, typed_text, python_text
):
    monkeypatch.chdir(tmp_path)
    Path("net.toml").write_text(line)
    with pytest.raises(UsageError) as caught:
        settings_of("net.toml", **options)
    assert caught.value.message == python_text
    with typed():
        assert caught.value.message == typed_text


def test_few_samples_are_called_few(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(GraphModule.hir(GRAPH), tmp_path / "net.rlx")
    np.savez("calib.npz", x=CALIB[:9])
    np.savez("more.npz", x=CALIB[:10])
    options = ["--min-sqnr", "-inf", "--min-agreement", "0", "-o", "q.rlx"]
    note = "note: 9 samples, from which the ranges were taken too, say little about the loss"
    assert main(["quantize", "net.rlx", "--calib", "calib.npz", *options]) == 0
    assert note in capsys.readouterr().out
    for given in (["more.npz"], ["calib.npz", "--test", "more.npz"]):
        assert main(["quantize", "net.rlx", "--calib", *given, *options]) == 0
        assert "note: " not in capsys.readouterr().out
