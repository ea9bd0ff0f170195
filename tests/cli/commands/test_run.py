"""``rlx run`` on files that users have."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import rlx
from rlx.cli import main
from rlx.support.files.golden import read_golden


@pytest.fixture
def samples(tmp_path, digits_model):
    """Floats of 40 images with the classes that the network finds, but for two of them."""
    images = np.random.default_rng(4).random((40, 8, 8, 1))
    found = rlx.run(digits_model, images).codes.argmax(axis=1)
    found[:2] = (found[:2] + 1) % 10
    np.savez(tmp_path / "samples.npz", x=images, labels=found)
    return tmp_path / "samples.npz"


def shown(capsys, *arguments):
    assert main([str(a) for a in arguments]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_classes_and_accuracy_are_shown(capsys, tmp_path, digits_model, samples):
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    (tmp_path / "names.txt").write_text("\n".join(names))
    out, err = shown(capsys, "run", digits_model, "--input", samples,
                     "--labels", tmp_path / "names.txt")  # fmt: skip
    assert "accuracy: 38 of 40 correct, 95.00 %" in out
    assert out.count("(wrong)") == 2
    assert "and 20 more samples" in out
    best = rlx.run(digits_model, samples).top(1, names)[5][0]
    assert f"{best.label}  {best.score:.4g}" in out
    assert err == (
        "note: input 'image': floats were quantized with its scale 0.00392157 and zero point -128\n"
    )


def test_json_has_values_and_classes(capsys, digits_model, samples):
    out, _ = shown(capsys, "run", digits_model, "--input", samples, "--json")
    found = json.loads(out)
    result = rlx.run(digits_model, samples)
    (output,) = found["outputs"]
    assert found["frames"] == 40
    assert output["values"] == result.values[:16].tolist()
    assert [row[0]["class"] for row in output["top"]] == output["argmax"]
    assert found["accuracy"]["correct"] == 38
    assert sum(map(sum, found["accuracy"]["confusion"])) == 40


def test_classes_are_expected_of_a_file(capsys, tmp_path, digits_model, samples):
    right = rlx.run(digits_model, samples).codes.argmax(axis=1)
    (tmp_path / "right.csv").write_text("label\n" + "\n".join(map(str, right)))
    command = ("run", digits_model, "--input", samples, "--expect", tmp_path / "right.csv")
    assert "accuracy: 40 of 40 correct" in shown(capsys, *command)[0]
    assert "accuracy: 7 of 7 correct" in shown(capsys, *command, "--frames", 7)[0]
    np.save(tmp_path / "wrong.npy", np.full(40, 10))
    command = ("run", digits_model, "--input", samples, "--expect", tmp_path / "wrong.npy")
    assert main([str(a) for a in command]) == 2
    assert capsys.readouterr().err.splitlines()[1:] == [
        "error[RLX-E001]: expected classes: sample 0 has the label 10, but there are the classes 0"
        " to 9",
        "  try: number the classes from 0, in the order of the network's outputs",
    ]


def test_pictures_are_read(capsys, tmp_path, digits_model):
    pixels = np.random.default_rng(5).integers(0, 256, (2, 8, 8)).astype(np.uint8)
    for k, one in enumerate(pixels):
        Image.fromarray(one).save(tmp_path / f"{k}.png")
    stored = (pixels.astype(int) - 128).astype(np.int8)
    shown(capsys, "run", digits_model, "--input", tmp_path, "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as outputs:
        found = outputs["probabilities"]
    np.testing.assert_array_equal(found[:, 0], rlx.run(digits_model, stored).codes)
    one = ("run", digits_model, "--input", tmp_path / "1.png", "--json")
    first, err = shown(capsys, *one)
    assert err.startswith("note: pixels of 0 to 255 became the integers -128 to 127 of the input")
    scaled = shown(capsys, *one, "--scale", "1/255")[0]
    assert first == scaled != shown(capsys, *one, "--mean", "0.5")[0]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            ("--scale", "1,2"),
            "--scale: expected one number or a fraction, got '1,2'\n"
            "  try: write 1/255 or 0.00392\n",
        ),
        (
            ("--std", "0"),
            "--std: expected numbers separated by commas, got '0'\n"
            "  try: write 0.5 or 0.4,0.5,0.6\n",
        ),
        (
            ("--mean", "x"),
            "--mean: expected numbers separated by commas, got 'x'\n"
            "  try: write 0.5 or 0.4,0.5,0.6\n",
        ),
    ],
)
def test_scaling_that_is_none_is_refused(capsys, digits_model, option, message):
    assert main(["run", str(digits_model), *option]) == 2
    assert capsys.readouterr().err == f"error[RLX-E001]: {message}"


def test_values_are_shown_where_there_are_no_classes(capsys, tmp_path):
    graph = rlx.Graph("pairs")
    graph.output(graph.input("x", (1, 2, 2)) * 2.0)
    rlx.save(rlx.GraphModule.hir(graph.graph), tmp_path / "pairs.rlx")
    (tmp_path / "x.csv").write_text("1,2,3,4\n5,6,7,8.5\n")
    out, _ = shown(capsys, "run", tmp_path / "pairs.rlx", "--input", tmp_path / "x.csv")
    assert "2  4  6  8" in out
    assert "10  12  14  17" in out


def test_samples_become_golden_vectors(capsys, tmp_path, digits_model, samples):
    emit = ("emit", digits_model, "--target", "cortexm", "-o")
    out, err = shown(capsys, *emit, tmp_path / "real", "--vectors", samples)
    assert "random vectors" not in out
    assert "floats were quantized" in err
    golden = read_golden(tmp_path / "real")
    np.testing.assert_array_equal(golden.outputs[0][:, 0], rlx.run(digits_model, samples).codes)
    out, _ = shown(capsys, *emit, tmp_path / "random")
    assert "16 random vectors; --vectors FILE for yours\n" in out


def test_labels_of_an_autoencoder_are_no_classes(capsys, tmp_path):
    graph = rlx.Graph("same")
    graph.output(graph.input("x", (1, 4)) * 1.5)
    rlx.save(rlx.GraphModule.hir(graph.graph), tmp_path / "same.rlx")
    np.savez(tmp_path / "x.npz", x=np.ones((3, 4), np.float32), labels=np.array([0, 1, 0]))
    out, _ = shown(capsys, "run", tmp_path / "same.rlx", "--input", tmp_path / "x.npz")
    assert "1.5  1.5  1.5  1.5" in out
    assert "accuracy" not in out


def test_a_float_network_needs_samples(capsys, tmp_path):
    model = tmp_path / "net.rlx"
    rlx.save(rlx.trace("net", lambda x: {"y": x * 2.0}, rlx.f32(2)).module, model)
    assert main(["run", str(model)]) == 5
    error = capsys.readouterr().err
    assert "input 'x': f32[2] is not quantized, so the range of random values is not known" in error
    assert "try: give samples with --input" in error


@pytest.mark.parametrize("options", [("--backend", "numpy"), ("--batch", 7), ("--batch", 64)])
def test_backends_and_batches_give_the_same_values(capsys, digits_model, samples, options):
    command = ("run", digits_model, "--input", samples, "--json")
    assert shown(capsys, *command, *options) == shown(capsys, *command)


def test_devices_and_backends_that_are_missing_are_refused(capsys, digits_model):
    assert main(["run", str(digits_model), "--device", "tpu", "--backend", "numpy"]) == 6
    error = capsys.readouterr().err
    assert "backend numpy runs on cpu, not on tpu\n  try: give --device cpu" in error
    assert main(["run", str(digits_model), "--device", "cpux"]) == 2
    assert "no device is called 'cpux'" in capsys.readouterr().err
