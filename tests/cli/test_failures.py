"""A user's mistake gives one message and an exit status, never a traceback."""

import re
import subprocess
import sys

import numpy as np
import pytest

from rlx.cli import COMMANDS, main
from rlx.support.limits import parse_limits

KWS = "mlperf-tiny/kws_ref_model.tflite"


def run_cli(capsys, *arguments):
    """Run the command line in this process; return status, standard output and error."""
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_missing_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_cli(capsys, "inspect", "no.tflite") == (
        2,
        "",
        "error[RLX-E001]: no file 'no.tflite'\n  try: give the path of a model file\n",
    )


def test_malformed_file(capsys, tmp_path):
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(20))
    status, out, err = run_cli(capsys, "inspect", path)
    assert (status, out) == (4, "")
    assert err.startswith("error[RLX-E007]: broken.tflite: ")
    assert err.count("\n") <= 2


def test_unknown_target(capsys, tmp_path):
    status, out, err = run_cli(capsys, "emit", "m.tflite", "--target", "asic", "-o", tmp_path / "o")
    assert (status, out) == (6, "")
    assert err == (
        "error[RLX-E060]: no target is called 'asic'\n"
        "  try: installed targets: cortexm, fpga, host\n"
    )


def test_unknown_option_of_a_target(capsys, tmp_path):
    status, _, err = run_cli(
        capsys, "emit", "m.tflite", "--target", "cortexm", "--wings", "2", "-o", tmp_path / "o"
    )
    assert status == 2
    assert err.startswith("error[RLX-E001]: no such option '--wings'")
    assert err.endswith("\n  try: rlx emit --help\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--device", "asic"),
            "no device is called 'asic'\n  try: devices: ecp5-25k, ecp5-45k, ecp5-85k, ice40-up5k,"
            " ice40-hx8k, artix7-35t, artix7-100t, zynq-7020, zu3eg, zu7ev; boards: ulx3s-25f,"
            " ulx3s-45f, ulx3s-85f, orangecrab-25f, orangecrab-85f, icebreaker, ice40-hx8k-evn,"
            " arty-a7-35t, arty-a7-100t",
        ),
        (
            ("--fps", "fast"),
            "--fps: expected a number of frames per second, for example 1000, got 'fast'\n"
            "  try: --fps RATE: Frames per second to reach, at minimum cost; fail if impossible.",
        ),
        (("--clock", "0"), "--clock: expected a clock, got '0'\n  try: write for example 100MHz"),
        (
            ("--bram", "-1"),
            "--bram must be at least 0 block RAMs, not -1\n"
            "  try: leave --bram out to use all that the device has",
        ),
    ],
)
def test_what_hardware_is_asked_of_is_checked_first(capsys, options, message):
    status, out, err = run_cli(capsys, "estimate", "m.tflite", "--target", "fpga", *options)
    assert (status, out, err) == (2, "", f"error[RLX-E001]: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "command"),
    [(["emit", "net.rlx", "--target"], "emit"), (["estimate", "--target"], "estimate"),
     (["--debug", "check", "--backend"], "check"), (["verify", "--frames"], "verify")],
)  # fmt: skip
def test_an_option_without_its_value_points_to_the_help_of_the_command(capsys, arguments, command):
    status, _, err = run_cli(capsys, *arguments)
    assert status == 2
    assert f"option '{arguments[-1]}' requires an argument\n  try: rlx {command} --help\n" in err


def test_what_does_not_fit_a_device_has_a_status_of_its_own(capsys, digits_model):
    status, out, err = run_cli(
        capsys, "estimate", digits_model, "--target", "fpga", "--device", "ecp5-25k",
        "--lut", "300", "--dsp", "1",
    )  # fmt: skip
    assert (status, out) == (3, "")
    lines = err.splitlines()
    assert lines[0].startswith("error[RLX-E112]: ecp5-25k: the smallest design found needs ")
    assert "the budget is 300 (--lut)" in lines[0]
    assert lines[1].startswith("  try: ")


def test_no_traceback_and_no_color_when_run_as_a_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rlx.cli", "run", "nothing.onnx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error[RLX-E001]: no file 'nothing.onnx'\n  try: give the path of a model file\n"
    )


def test_vectors_of_the_wrong_shape(capsys, tmp_path, digits_model):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((3, 9), np.int8))
    status, _, err = run_cli(capsys, "run", digits_model, "--input", path)
    assert status == 2
    assert err.startswith("error[RLX-E001]: input 'image': its vectors must be i8[1, 8, 8, 1]")


@pytest.mark.parametrize("shape", [(3, 8, 8, 1), (3, 1, 8, 8, 1), (3, 64)])
def test_vectors_of_the_wrong_type(capsys, tmp_path, digits_model, shape):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(shape, np.uint8))
    status, _, err = run_cli(capsys, "run", digits_model, "--input", path)
    assert status == 2
    assert err.startswith("error[RLX-E001]: input 'image': expected int8 numbers for the input i8[")
    assert err.endswith(", got uint8\n  try: give int8 numbers\n")


def test_vectors_that_are_no_numpy_file(capsys, tmp_path, digits_model):
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\x03\x04 nonsense")
    status, _, err = run_cli(capsys, "run", digits_model, "--input", path)
    assert status == 4
    assert err.startswith("error[RLX-E007]: x.npz: is a damaged .npz file: ")


def test_pickled_vectors_are_refused(capsys, tmp_path, digits_model):
    path = tmp_path / "x.npy"
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    status, _, err = run_cli(capsys, "run", digits_model, "--input", path)
    assert status == 4
    assert "holds Python objects, not numbers" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    status, out, _ = run_cli(capsys, command, "--help")
    assert status == 0
    assert f"rlx {command}" in out


def test_help_of_the_program_lists_every_command(capsys):
    status, out, _ = run_cli(capsys, "--help")
    assert status == 0
    assert [w for w in ("doctor", "emit", "estimate", "verify") if w not in out] == []


def test_expected_outputs_that_the_reference_does_not_give(capsys, tmp_path, digits_model):
    path = tmp_path / "v.npz"
    np.savez(path, x=np.zeros((2, 8, 8, 1), np.int8), y=np.full((2, 10), 5, np.int8))
    status, _, err = run_cli(capsys, "run", digits_model, "--input", path)
    assert status == 1
    start = (
        "error[RLX-E090]: expected outputs y: 2 of 2 frames differ, first in frame 0 at [0, 0]:"
        " expected 5, got -"
    )
    assert err.startswith(start)
    assert "- expected    5    5" in err
    assert "+ got      -" in err
    assert "check that the vectors belong to this model and its rounding" in err
    assert "rlx diff OLD NEW" in err


def test_a_limit_is_named_and_raised_by_an_option(capsys, digits_model):
    status, _, text = run_cli(capsys, "inspect", digits_model, "--limit", "operations=1000")
    assert status == 4
    assert "the limit is 1000" in text
    (wanted,) = re.findall(r"--limit operations=(\d+)", text)
    assert main(["inspect", str(digits_model), "--limit", f"operations={wanted}"]) == 0


@pytest.mark.parametrize(
    ("setting", "message", "hint"),
    [
        ("speed=3", "no limit is called 'speed'", "limits: file-bytes, nodes, operands,"),
        ("nodes=0", "integer of at least 1, got 'nodes=0'", "operations=4e12"),
        ("nodes=1.5", "integer of at least 1, got 'nodes=1.5'", "operations=4e12"),
        ("nodes=1e999", "integer of at least 1, got 'nodes=1e999'", "operations=4e12"),
        ("nodes", "integer of at least 1, got 'nodes'", "operations=4e12"),
    ],
)
def test_limits_that_make_no_sense(capsys, digits_model, setting, message, hint):
    status, _, text = run_cli(capsys, "inspect", digits_model, "--limit", setting)
    assert status == 2
    assert message in text
    assert hint in text


@pytest.mark.parametrize("number", ["4096", "2^12", "4.096e3"])
def test_numbers_of_limits(number):
    assert parse_limits([f"document-bytes={number}"]).document_bytes == 4096
