"""Verification of emitted host programs: built, run, compared bit for bit."""

from __future__ import annotations

import ctypes
import json
import subprocess

import numpy as np
import pytest
from targets.host.networks import dense_stack, streaming

import rlx
from rlx import frontends
from rlx.driver import driver
from rlx.ir import GraphModule
from rlx.support.errors import OutputError, SimulationError, UsageError
from rlx.support.files.golden import read_golden
from rlx.targets import verifier
from rlx_host.compiler import CODE_FLAGS
from rlx_host.emission.options import HostOptions
from rlx_host.emission.target import TARGET
from rlx_host.instruction_set import INSTRUCTION_SETS, available
from rlx_sim.host_program import HostProgram
from rlx_sim.protocol import compare
from rlx_sim.verify_host import HOST
from support import ROOT, require_program
from support.messages import raises

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
TIMEOUT_S = 120.0


def emit(folder, model, frames=4, **options):
    """Emit a graph, or the network of a file, into a folder."""
    module = GraphModule.hir(model) if not hasattr(model, "parts") else frontends.load(model)
    driver.emit(module, TARGET, folder, options=HostOptions(**options), frames=frames)
    return folder


def test_the_verifier_is_installed():
    assert verifier.load("host") is HOST


def test_a_network_of_integers_is_compared_with_numpy(tmp_path):
    folder = emit(tmp_path / "out", DIGITS)
    steps = []
    done = HOST.verify(folder, tools=["host", "sanitize"], progress=steps.append)
    assert steps == ["host: 4 frames", "sanitize: 4 frames"]
    assert done.passed
    report = done.as_json()
    assert json.loads(json.dumps(report)) == report
    assert (report["inputs"], report["equal"], report["compared_with"]) == (4, 4, "NumPy")
    assert "largest_difference" not in report
    assert "4 of 4" in str(done.view())


def test_a_network_of_floats_with_states_is_compared_with_the_native_backend(tmp_path):
    folder = emit(tmp_path / "out", streaming(), frames=7)
    done = HOST.verify(folder)
    assert done.passed
    report = done.as_json()
    assert (report["inputs"], report["equal"], report["compared_with"]) == (7, 7, "native")
    assert report["largest_difference"] < 1e-5
    assert "native backend" in str(done.view())


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
def test_compilers_and_instruction_sets(compiler, instructions, tmp_path):
    require_program(compiler)
    folder = emit(tmp_path / "out", dense_stack(), instruction_set=instructions.name)
    vectors = read_golden(folder)
    done = HostProgram(compiler).simulate(folder, vectors, timeout_s=TIMEOUT_S)
    assert compare("host", done, vectors) == []


def test_a_wrong_output_is_reported(tmp_path, monkeypatch):
    folder = emit(tmp_path / "out", dense_stack())
    vectors = read_golden(folder)
    vectors.outputs[0][2, 1, 5] ^= 1
    monkeypatch.setattr("rlx_sim.verify_host.golden_of", lambda folder, limit: vectors)
    done = HOST.verify(folder)
    assert not done.passed
    (wrong,) = done.mismatches
    assert (wrong["frame"], wrong["element"], wrong["elements"]) == (2, 29, 1)
    assert (done.inputs, done.equal) == (4, 3)


def test_a_changed_file_is_refused(tmp_path):
    folder = emit(tmp_path / "out", dense_stack(), prefix="net")
    path = folder / "src" / "net_weights.bin"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    with pytest.raises(OutputError):
        HOST.verify(folder)


def test_an_instruction_set_that_this_machine_lacks_is_refused(tmp_path):
    other = next(one for one in INSTRUCTION_SETS if one not in available())
    folder = emit(tmp_path / "out", dense_stack(), instruction_set=other.name)
    with pytest.raises(UsageError, match=f"was emitted for {other.name}, which this machine"):
        HOST.verify(folder)


@pytest.mark.parametrize("arguments", [{"tools": ["qemu"]}, {"waves": "w.vcd"}], ids=str)
def test_what_is_not_of_a_host_program_is_refused(arguments, tmp_path):
    folder = emit(tmp_path / "out", dense_stack())
    with raises(UsageError):
        HOST.verify(folder, **arguments)


def test_the_program_says_what_it_needs(tmp_path):
    folder = emit(tmp_path / "out", dense_stack(), prefix="net")
    program = HostProgram().build(folder, tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "INPUT.bin OUTPUT.bin" in done.stderr
    assert "input: int8_t [2, 24]" in done.stderr


def test_the_program_refuses_half_a_frame(tmp_path):
    folder = emit(tmp_path / "out", dense_stack(), prefix="net")
    program = HostProgram().build(folder, tmp_path)
    (tmp_path / "in.bin").write_bytes(bytes(50))
    argv = [program, "in.bin", "out.bin"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "net: in.bin: expected whole frames\n")


def test_a_program_that_writes_too_little_is_an_error(tmp_path):
    folder = emit(tmp_path / "out", dense_stack(), prefix="net")
    vectors = read_golden(folder)
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf x > "$2"\n')
    program.chmod(0o755)
    with raises(SimulationError):
        HostProgram().run(program, vectors, tmp_path, timeout_s=TIMEOUT_S)


def test_the_entry_point_checks_its_pointers(tmp_path):
    compiler = require_program("gcc", "clang")
    folder = emit(tmp_path / "out", dense_stack(), prefix="net")
    flags = [*HostOptions().instructions.flags, *CODE_FLAGS]
    command = [
        compiler, "-shared", "-fPIC", "-std=gnu11", "-O1", *flags, f"-I{folder / 'include'}",
        "net.c", "net_weights.c", "-o", tmp_path / "net.so", "-lm",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder / "src", check=True)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    memory = np.zeros(1 << 16, np.uint8)
    address = memory.ctypes.data + -memory.ctypes.data % 64
    pointers = [ctypes.c_void_p(address + step) for step in (0, 4096, 8192)]
    assert library.net_run(*pointers) == 0
    assert library.net_run(None, *pointers[1:]) == -1
    assert library.net_run(*pointers[:2], ctypes.c_void_p(address + 8193)) == -2


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize("instruction_set", ["baseline", "native"])
@pytest.mark.parametrize(
    "name", ["ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"]
)
def test_networks_of_mlperf_tiny(name, instruction_set, shared_models, tmp_path):
    options = {"instruction_set": instruction_set, "prefix": "net"}
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        arrays = {"x": vectors["x"][:8], "y": vectors["y"][:8]}
    model = rlx.load(shared_models / f"{name}.tflite")
    rlx.emit(model, "host", tmp_path / "out", vectors=arrays, **options)
    done = HOST.verify(tmp_path / "out")
    assert (done.inputs, done.equal, done.figures["compared_with"]) == (8, 8, "NumPy")
