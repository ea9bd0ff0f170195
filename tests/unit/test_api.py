"""``rlx.emit``, ``rlx.estimate`` and ``rlx.verify`` do what the commands do."""

from __future__ import annotations

import copy
import inspect
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import rlx
from rlx.api.arguments import policies_of
from rlx.api.types import CriteriaLike, DeviceLike, EqualizeName, ObserverName
from rlx.calibration.layer_settings import EQUALIZE
from rlx.calibration.observers import Method
from rlx.cli import main
from rlx.metrics.criteria import PRESETS
from rlx.passes import Policies
from rlx.support.errors import UsageError
from rlx.support.files.golden import read_golden
from rlx.targets.estimation import Estimate
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples/digits/digits.rlx"
ONNX = ROOT / "examples/onnx_to_firmware/digits.onnx"


@pytest.mark.complete
def test_a_folder_is_the_same_from_python_and_from_the_command_line(tmp_path):
    emission = rlx.emit(DIGITS, "cortexm", tmp_path / "python", frames=3, cpu="cortex-m7")
    command = [str(DIGITS), "--target", "cortexm", "-o", str(tmp_path / "command")]
    assert main(["emit", *command, "--frames", "3", "--cpu", "cortex-m7"]) == 0
    files = {
        path.relative_to(tmp_path / "python"): path.read_bytes()
        for path in (tmp_path / "python").rglob("*")
        if path.is_file()
    }
    assert {str(path) for path in files} > set(emission.files)
    for path, content in files.items():
        assert (tmp_path / "command" / path).read_bytes() == content, path


@pytest.mark.complete
def test_an_estimate_is_that_of_the_command(capsys):
    estimate = rlx.estimate(str(DIGITS), "fpga", device="ecp5-25k", clock="12MHz")
    command = ["estimate", str(DIGITS), "--target", "fpga", "--json"]
    assert main([*command, "--device", "ecp5-25k", "--clock", "12MHz"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps({"target": "fpga", **estimate})
    )


def test_an_estimate_has_attributes_and_keys():
    estimate = rlx.estimate(DIGITS, "cortexm")
    assert estimate.target == "cortexm"
    assert [row["op"] for row in estimate.layers][:2] == ["q.conv2d", "q.max_pool2d"]
    assert estimate.totals["macs"] == estimate["macs"] == 25600
    assert "layers" in estimate
    assert "layers" not in estimate.totals
    assert estimate.fits
    assert estimate.short is None
    assert repr(estimate) == f"<Estimate for cortexm: {len(estimate.layers)} layers>"


def test_an_estimate_says_what_an_unknown_attribute_may_mean():
    estimate = Estimate("fpga", {"fps": 50, "lut": 300})
    with raises(AttributeError):
        _ = estimate.fps
    with raises(AttributeError):
        _ = estimate.layer
    with raises(AttributeError):
        _ = estimate.flash
    assert copy.deepcopy(estimate) == estimate
    assert not hasattr(estimate, "__array__")


def test_an_estimate_is_printed_as_the_command_shows_it(capsys):
    assert main(["estimate", str(DIGITS), "--target", "cortexm", "--wide"]) == 0
    shown = capsys.readouterr().out.splitlines()
    printed = str(rlx.estimate(DIGITS, "cortexm")).splitlines()
    assert len(printed) > 10
    assert printed == [line for line in shown if line in printed]
    table = str(rlx.estimate_all(DIGITS, "cortexm", "cortex-m4,cortex-m7", over="cpu"))
    assert str(rlx.estimate_all(DIGITS, "cortexm", ["cortex-m4", "cortex-m7"], over="cpu")) == table
    assert table.splitlines()[0] == "cortexm: 2 of 2 fit, predicted"


def test_an_exported_network_is_shown_without_its_bytes(tmp_path):
    exported = rlx.export(DIGITS, tmp_path / "digits.tflite")
    assert repr(exported) == f"<Exported: {len(exported.content):,} bytes>"


def test_an_estimate_says_what_does_not_fit():
    estimate = Estimate("fpga", {"fits": False, "short": "6 block RAMs of 4"})
    assert not estimate.fits
    assert estimate.short == "6 block RAMs of 4"
    assert repr(estimate).endswith(", does not fit: 6 block RAMs of 4>")


def test_a_verification_has_attributes(tmp_path):
    rlx.emit(DIGITS, "cortexm", tmp_path / "out", frames=2)
    found = rlx.verify(tmp_path / "out", tools=["host"])
    assert (found.passed, found.inputs, found.equal, list(found.mismatches)) == (True, 2, 2, [])
    assert found.figures["runs"]
    assert found.tools == found.as_json()["tools"]


def test_a_loaded_model_is_emitted_with_own_vectors_and_verified(tmp_path):
    module = rlx.load(DIGITS)
    (image,) = module.graph.inputs
    vectors = {"x": np.zeros((2, *image.type.static_shape), image.type.dtype.numpy)}
    rlx.emit(module, "cortexm", tmp_path / "out", vectors=vectors)
    found = rlx.verify(tmp_path / "out", tools=["host"])
    assert found.passed
    assert found.as_json()["inputs"] == 2


def test_values_of_parameters_come_along():
    graph = rlx.Graph("product")
    x = graph.input("x", (2, 3))
    graph.output(x @ graph.param("w", value=np.eye(3, dtype=np.float32)))
    assert rlx.estimate(graph, "cortexm")["macs"] == 18


SAMPLES = ROOT / "examples/digits/samples.npz"


@pytest.mark.parametrize("form", [str, Path, np.load, dict])
def test_vectors_may_be_a_path_an_archive_or_arrays(form, tmp_path):
    with np.load(SAMPLES) as stored:
        arrays = {name: stored[name] for name in stored.files}
    vectors = arrays if form is dict else form(str(SAMPLES))
    rlx.emit(DIGITS, "cortexm", tmp_path / "out", vectors=vectors, frames=3)
    golden = read_golden(tmp_path / "out")
    assert np.array_equal(golden.inputs[0], arrays["image"][:3])


def test_the_same_samples_in_every_form():
    with np.load(SAMPLES) as stored:
        images = stored["image"][:2]
    expected = rlx.run(str(DIGITS), images).codes
    for data in ({"image": images}, {"x": images}, images.tolist(), images[..., 0]):
        assert np.array_equal(rlx.run(DIGITS, data).codes, expected)


def test_one_simulator_may_be_a_text(tmp_path):
    rlx.emit(DIGITS, "cortexm", tmp_path / "out", frames=1)
    assert rlx.verify(tmp_path / "out", tools="host", require="host", frames=1).passed


CALIB = ROOT / "examples/onnx_to_firmware/calib.npz"


def quantized(**settings):
    return rlx.quantize(ONNX, CALIB, **settings)


BAD_CALLS = {
    "quantize": lambda: rlx.quantize(DIGITS),
    "run": lambda: rlx.run(DIGITS),
    "emit": lambda: rlx.emit(DIGITS, "cortexm"),
    "load": lambda: rlx.load(),
    "unknown": lambda: rlx.run(DIGITS, 1, samples=3),
    "too many": lambda: rlx.run(DIGITS, 1, 2),
    "twice": lambda: rlx.run(DIGITS, 1, model=DIGITS),
    "save": lambda: rlx.save(DIGITS),
    "no numbers": lambda: rlx.run(DIGITS, None),
    "no file": lambda: rlx.emit(DIGITS, "cortexm", "out", vectors="nothing.npz"),
    "options": lambda: rlx.load(ONNX, options={"channels_lats": True}),
    "options object": lambda: rlx.load(ONNX, options=3),
    "limit": lambda: rlx.load(DIGITS, limits={"nodes": 1}),
    "limit's name": lambda: rlx.load(DIGITS, limits={"node": 1}),
    "argument of a target": lambda: rlx.emit(DIGITS, "cortexm", "out", frame=3),
    "choice": lambda: rlx.estimate(DIGITS, "cortexm", optimize="sped"),
    "number": lambda: rlx.estimate(DIGITS, "fpga", lut="many"),
    "negative size": lambda: rlx.estimate(DIGITS, "cortexm", ram=-1),
    "boolean": lambda: rlx.estimate(DIGITS, "cortexm", flash=True),
    "type": lambda: rlx.estimate(DIGITS, "cortexm", clock=[1]),
    "package": lambda: rlx.estimate(DIGITS, "cortexm", package=["cmake", "messon"]),
    "label": lambda: rlx.estimate(DIGITS, "cortexm", labels=["zero", 1]),
    "folding": lambda: rlx.estimate(DIGITS, "fpga", fold=(("conv1", 2),)),
    "folding's text": lambda: rlx.estimate(DIGITS, "fpga", fold={"conv1": 2}),
    "foldings": lambda: rlx.estimate(DIGITS, "fpga", fold=4),
    "stream": lambda: rlx.estimate(DIGITS, "fpga", stream_bits=24),
    "clock": lambda: rlx.estimate(DIGITS, "fpga", clock=75),
    "clock's text": lambda: rlx.estimate(DIGITS, "cortexm", clock="75"),
    "no clock": lambda: rlx.estimate(DIGITS, "cortexm", clock=0),
    "core": lambda: rlx.estimate(DIGITS, "cortexm", cpu="cortex-k4"),
    "drop": lambda: quantized(max_drop=5),
    "drop's text": lambda: quantized(max_drop="much"),
    "drop's type": lambda: quantized(max_drop=[0.1]),
    "agreement": lambda: quantized(min_agreement=95),
    "negative share": lambda: quantized(min_agreement=-0.1),
    "converted": lambda: rlx.convert(ONNX, min_agreement="95"),
    "equalize": lambda: quantized(equalize="alll"),
    "observer": lambda: quantized(observer="min-mx"),
    "observer's type": lambda: quantized(observer=3),
    "weights": lambda: quantized(weights="aut"),
    "flash": lambda: quantized(weights="auto", flash="1 kilo"),
    "flash's type": lambda: quantized(weights="auto", flash=0.5),
    "policy": lambda: rlx.estimate(DIGITS, "cortexm", policies="nativ"),
    "policy's op": lambda: rlx.estimate(DIGITS, "cortexm", policies={"q.con2d": "native"}),
    "policy's type": lambda: rlx.emit(DIGITS, "cortexm", "out", policies=3),
    "frames": lambda: rlx.emit(DIGITS, "cortexm", "out", frames=0),
    "frames to verify": lambda: rlx.verify("out", frames=0),
    "frames in a text": lambda: rlx.verify("out", frames="4"),
    "criteria": lambda: rlx.compare(DIGITS, DIGITS, SAMPLES, criteria={"sqnr": 3}),
    "shape": lambda: rlx.load(ONNX, input_shape=(1, 8)),
    "shape's text": lambda: rlx.load(ONNX, input_shape={"image": "1x8x8"}),
    "shape's form": lambda: rlx.load(ONNX, input_shape={"image": "1,1,8,8"}),
    "shape's type": lambda: rlx.load(ONNX, input_shape={"image": 8}),
    "shape without a name": lambda: rlx.load(ONNX, input_shape=((1, 1, 8, 8),)),
    "wide weights": lambda: quantized(weights=16),
    "wide weights assumed": lambda: rlx.estimate(ONNX, "cortexm", weight_bits=16),
    "bits": lambda: quantized(weights="auto", bits="5"),
    "decibels": lambda: quantized(min_sqnr="10"),
    "settings' type": lambda: quantized(settings=5),
    "equalize's type": lambda: quantized(equalize=5),
    "flag": lambda: quantized(symmetric="no"),
    "seconds": lambda: rlx.bench(DIGITS, seconds="1"),
    "batch": lambda: rlx.bench(DIGITS, batch=1.5),
    "batch of none": lambda: rlx.bench(DIGITS, batch=0),
    "negative batch": lambda: rlx.run(DIGITS, SAMPLES, batch=-3),
    "negative seconds": lambda: rlx.bench(DIGITS, seconds=-1),
    "endless seconds": lambda: rlx.verify("out", timeout_s=float("inf")),
    "no seconds": lambda: rlx.report("out", timeout_s=float("nan")),
    "no class": lambda: rlx.run(DIGITS, SAMPLES).top(0),
    "classes in a text": lambda: rlx.run(DIGITS, SAMPLES).output.top("3"),
    "half a class": lambda: rlx.run(DIGITS, SAMPLES).top(1.5),
    "negative classes": lambda: rlx.run(DIGITS, SAMPLES).top(k=-1),
    "names of classes": lambda: rlx.run(DIGITS, SAMPLES).top(3, 5),
    "too much for top": lambda: rlx.run(DIGITS, SAMPLES).top(3, None, 5),
    "bytes": lambda: rlx.memory_estimate(DIGITS).fits("64K"),
    "required bytes": lambda: rlx.memory_estimate(DIGITS).require(0.5),
    "session's backend": lambda: rlx.Session(rlx.Device.CPU, backend="numpy"),
    "too much for a session": lambda: rlx.Session("cpu", None, 3),
    "session's options": lambda: rlx.Session("cpu", "numpy"),
    "criterion": lambda: rlx.Criteria(max_drop=0.1),
    "criterion in a text": lambda: rlx.Criteria(sqnr="30"),
    "criterion without a name": lambda: rlx.Criteria(0.1),
    "drop of everything": lambda: quantized(max_drop=1),
    "odd weights": lambda: quantized(weights=3),
    "runs": lambda: rlx.Session().compile(rlx.load(DIGITS)).profile(runs="3"),
    "compile options": lambda: rlx.bench(DIGITS, options={"device": "cpu"}),
    "progress": lambda: rlx.run(DIGITS, SAMPLES, progress=True),
    "target": lambda: rlx.emit(DIGITS, 5, "out"),
    "tools": lambda: rlx.verify("out", tools=5),
    "machines": lambda: rlx.pick_device(DIGITS, 5),
    "machine": lambda: rlx.roofline(DIGITS, "cpu"),
    "limits' type": lambda: rlx.load(DIGITS, limits=5),
    "values": lambda: rlx.load(ONNX, input_value=5),
    "value's type": lambda: rlx.load(ONNX, input_value={"image": "x"}),
    "outputs": lambda: rlx.load(ONNX, outputs=5),
    "format's flag": lambda: rlx.load(ONNX, channels_last="yes"),
    "budget": lambda: rlx.estimate(DIGITS, "cortexm", ram="10"),
}


@pytest.mark.complete
@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_wrong_call_says_what_is_right(case):
    with raises(rlx.RlxError):
        BAD_CALLS[case]()


@pytest.mark.complete
def test_options_of_a_format_may_be_a_mapping():
    network = rlx.load(ONNX, options={"channels_last": True})
    assert network.inputs == rlx.load(ONNX, channels_last=True).inputs


def test_texts_of_options_are_read_as_on_the_command_line():
    assert rlx.estimate(DIGITS, "fpga", lut="20000") == rlx.estimate(DIGITS, "fpga", lut=20_000)


@pytest.mark.parametrize("form", [str, list, tuple])
def test_options_with_several_values_are_a_text_a_list_or_a_tuple(form, tmp_path):
    def given(*texts):
        return ",".join(texts) if form is str else form(texts)

    digits = given(*"0123456789")
    emission = rlx.emit(
        DIGITS, "cortexm", tmp_path / "out", frames=1, labels=digits,
        io=given("float", "arena"), package=given("cmake", "meson"),
    )  # fmt: skip
    header = emission.files["include/digits.h"]
    assert "float" in header
    assert "digits_labels" in header
    assert {"CMakeLists.txt", "meson.build"} < set(emission.files)
    assert "library.json" not in emission.files


@pytest.mark.parametrize(
    "fold",
    ["conv1=4x3,conv2=2x9", ("conv1=4x3", "conv2=2x9"), [("conv1", 4, 3), ("conv2", 2, 9)],
     {"conv1": "4x3", "conv2": "2x9"}, {"conv1": (4, 3), "conv2": [2, 9]}],
)  # fmt: skip
def test_foldings_may_be_texts_tuples_or_a_mapping(fold):
    rows = {row["name"]: row for row in rlx.estimate(DIGITS, "fpga", fold=fold).layers}
    assert (rows["conv1"]["pe"], rows["conv1"]["simd"]) == (4, 3)
    assert (rows["conv2"]["pe"], rows["conv2"]["simd"]) == (2, 9)


def test_one_of_several_packages_may_be_named_alone(tmp_path):
    emission = rlx.emit(DIGITS, "cortexm", tmp_path / "out", frames=1, package="cmake")
    assert "CMakeLists.txt" in emission.files
    assert "meson.build" not in emission.files


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_clocks_may_be_texts_with_a_unit(target):
    text, number = (rlx.estimate(DIGITS, target, clock=clock) for clock in ("75MHz", 75e6))
    assert text == number
    assert number != rlx.estimate(DIGITS, target, clock=80e6)


def test_settings_of_a_quantization_may_be_texts():
    written = quantized(weights="auto", flash="2K", max_drop="5%", min_agreement="90%")
    plain = quantized(weights="auto", flash=2048, max_drop=0.05, min_agreement=0.9)
    assert written.module.graph == plain.module.graph
    assert written.report.as_json() == plain.report.as_json()


@pytest.mark.parametrize(("word", "flag"), [("none", False), ("all", True)])
def test_channels_that_are_balanced_may_be_a_word(word, flag):
    assert quantized(equalize=word).report.balanced == word
    assert quantized(equalize=flag).report.balanced == word


def test_policies_may_be_words():
    common, one, both = (
        Policies.parse(texts)
        for texts in (["common"], ["q.dense=native"], ["common", "q.dense=native"])
    )
    assert policies_of("common") == common
    assert policies_of({"q.dense": "native"}) == one
    assert policies_of({"q.dense": "native", "*": "common"}) == policies_of(both) == both
    assert policies_of(None) is None
    estimates = [rlx.estimate(DIGITS, "cortexm", policies=given) for given in ("common", common)]
    assert estimates[0] == estimates[1]


def test_choices_that_are_numbers_may_be_numbers():
    wide = rlx.estimate(DIGITS, "fpga", stream_bits=64)
    assert wide == rlx.estimate(DIGITS, "fpga", stream_bits="64")
    assert wide != rlx.estimate(DIGITS, "fpga")


def test_words_of_types_are_those_that_are_known():
    assert set(get_args(ObserverName)) == {method.value for method in Method}
    assert get_args(EqualizeName) == EQUALIZE
    assert set(get_args(get_args(DeviceLike)[1])) == {device.value for device in rlx.Device}
    assert set(get_args(get_args(CriteriaLike)[1])) == set(PRESETS)


def test_an_unknown_option_is_named(tmp_path):
    with raises(UsageError):
        rlx.emit(DIGITS, "cortexm", tmp_path / "out", core="cortex-m4")
    assert not (tmp_path / "out").exists()


def test_help_shows_plain_defaults():
    for name in ("bench", "emit"):
        assert "<function" not in str(inspect.signature(getattr(rlx, name)))


@pytest.mark.parametrize("kind", [rlx.f32, rlx.i8, rlx.i32])
def test_types_have_no_negative_dimensions(kind):
    assert kind(0, 8).shape == (0, 8)
    with raises(ValueError):
        kind(-1, 8)
