"""Folders and temporary folders whose paths no tool likes: everything still runs in them."""

import json

import pytest

from rlx.cli import main
from rlx.ir import DType, Graph, TensorType
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.ops.q import QClamp

NAMES = {
    "space": "with space", "quotes": "a'b\"c", "shell": "$(touch canary); x&", "line": "a\nb",
    "letters": "\u00e9\u4e2d", "dash": "-x", "make": "a#b$c:d%e",
}  # fmt: skip


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def place(request, tmp_path, monkeypatch):
    """A working folder of an awkward name that is also the place of temporary files."""
    folder = tmp_path / request.param
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4, 2), DType.I8))
    graph.output(graph.apply(QClamp(low=-50, high=90), x))
    save(GraphModule.mir(graph), folder / f"{request.param}.rlx")
    return folder


def verified(capsys, place, target, tools, *options):
    """Emit the model beside itself, into a folder of the same name; return what verify reports."""
    emit = ["emit", "--target", target, "-o", place.name, "--prefix", "net"]
    assert main([*emit, "--", f"{place.name}.rlx"]) == 0
    assert main(["run", "-o", "out put.npz", "--", f"{place.name}.rlx"]) == 0
    capsys.readouterr()
    status = main(["--quiet", "verify", "--with", tools, "--json", *options, "--", place.name])
    captured = capsys.readouterr()
    assert (status, captured.err) == (0, "")
    return json.loads(captured.out)


def names(place):
    return sorted(path.name for path in place.iterdir())


@pytest.mark.qemu
def test_c_is_verified(capsys, place):
    report = verified(capsys, place, "cortexm", "host,sanitize,qemu,qemu:zig,unicorn")
    assert report["equal"] == report["inputs"] == 16
    assert names(place) == sorted([place.name, f"{place.name}.rlx", "out put.npz"])


@pytest.mark.sim
@pytest.mark.parametrize("place", ["a 'b\"#$(x);\n\u00e9"], indirect=True, ids=["all"])
def test_hardware_is_verified(capsys, place):
    report = verified(
        capsys, place, "fpga", "verilator,cocotb,testbench,testbench:icarus", "--waves", "w v.vcd"
    )
    assert report["equal"] == report["inputs"] == 16
    assert names(place) == sorted([place.name, f"{place.name}.rlx", "out put.npz", "w v.vcd"])


@pytest.mark.synth
def test_hardware_is_built(capsys, place):
    emit = ["emit", "--target", "fpga", "-o", place.name, "--prefix", "net"]
    assert main([*emit, "--device", "ice40-up5k", "--", f"{place.name}.rlx"]) == 0
    assert main(["build", "--seeds", "0", "-o", "kept result", "--", place.name]) == 0
    assert names(place) == sorted([place.name, f"{place.name}.rlx", "kept result"])
