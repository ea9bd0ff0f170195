"""Summary of the simulations that differ from the reference."""

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.driver.verification.mismatches import mismatch_lines
from rlx.support.files.golden import read_golden
from rlx.support.files.outputs import read_manifest, write_folder
from support import ROOT

DIGITS = ROOT / "examples/digits/digits.tflite"


def wrong(simulator, frame, elements, **more):
    return {
        "simulator": simulator, "frame": frame, "output": 0, "element": 2, "expected": -102,
        "actual": -98, "elements": elements, **more,
    }  # fmt: skip


def test_each_simulator_has_a_line_with_its_counts_and_first_element():
    bench = {"simulator": "testbench", "verdict": "FAIL"}
    found = [wrong("host", 0, 3, name="probs"), wrong("qemu", 1, 1), bench, wrong("host", 4, 1)]
    assert mismatch_lines(found) == [
        "host differs: 4 elements in 2 frames; the first: frame 0, output 'probs', element 2,"
        " expected -102, got -98",
        "qemu differs: 1 element in 1 frame; the first: frame 1, output 0, element 2,"
        " expected -102, got -98",
        "simulator testbench, verdict FAIL",
    ]
    assert mismatch_lines([]) == []


@pytest.mark.slow
def test_the_command_names_output_and_simulator_and_the_next_command(tmp_path, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    rlx.emit(DIGITS, "cortexm", good, frames=4)
    files = {p.relative_to(good).as_posix(): p.read_bytes() for p in good.rglob("*") if p.is_file()}
    producer = read_manifest(good).producer
    golden = read_golden(good)
    golden.outputs[0][1:3, 0, 4:6] ^= 1
    del files["manifest.json"]
    write_folder(bad, {**files, **golden.files()}, producer=producer)
    capsys.readouterr()
    assert main(["verify", str(bad), "--with", "host"]) == 1
    lines = capsys.readouterr().out.splitlines()
    value = int(np.ravel(golden.outputs[0][1])[4])
    start = lines.index(
        "host differs: 4 elements in 2 frames; the first: frame 1, output 'probabilities',"
        f" element 4, expected {value}, got {value ^ 1}"
    )
    assert lines[start + 1] == f"rlx verify {bad} --json lists the first of each frame"
