"""The proofs in an output folder, run as a user does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QClamp, QConcat
from rlx_fpga import TARGET, FpgaOptions
from support import missing


def network():
    """Return two branches of a stream that are joined again."""
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 2, 2, 2), DType.I8))
    low = graph.apply(QClamp(low=-5, high=5), x)
    high = graph.apply(QClamp(low=-100, high=100), x)
    graph.output(graph.apply(QConcat(axis=3), low, high), names=["y"])
    return GraphModule(graph, Stage.MIR)


def proofs(**options):
    files = TARGET.emit(network(), FpgaOptions(**options)).files
    return {path: text for path, text in files.items() if path.startswith("formal/")}


def test_proofs_are_emitted_on_demand_alone():
    assert proofs() == {}


def test_proofs_are_of_the_cells_of_the_design():
    found = proofs(formal=True)
    names = {Path(path).stem for path in found} - {"Makefile", "README"}
    assert {"skid_buffer", "fork_2", "clamp_minus_5_to_5"} <= names
    assert any(name.startswith("concat") for name in names)
    assert {f"formal/{name}.{end}" for name in names for end in ("sv", "ys", "sby")} == (
        set(found) - {"formal/Makefile", "formal/README.md"}
    )
    assert found == proofs(formal=True)


@pytest.mark.parametrize("chosen", [None, "system"])
def test_a_yosys_on_the_path_changes_no_byte(chosen, tmp_path, monkeypatch):
    """It writes other Verilog, of another version."""
    monkeypatch.delenv("AMARANTH_USE_YOSYS", raising=False)
    usual = proofs(formal=True)
    program = tmp_path / "yosys"
    program.write_text("#!/bin/sh\necho 'Yosys 0.99 (other)'\necho 'module other; endmodule'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    if chosen is not None:
        monkeypatch.setenv("AMARANTH_USE_YOSYS", chosen)
    assert proofs(formal=True) == usual
    assert os.environ.get("AMARANTH_USE_YOSYS") == chosen


def test_readme_has_the_promise_of_each_proof():
    found = proofs(formal=True)
    readme = found["formal/README.md"]
    for path, text in found.items():
        if path.endswith(".sv"):
            name = Path(path).stem
            (head,) = (line for line in text.splitlines() if line.startswith(f"// {name}: "))
            promise = head.partition(": ")[2].replace("``", "`")
            assert f"| `{name}` | {promise} |" in readme


@pytest.mark.synth
def test_makefile_proves_what_holds_and_nothing_else(tmp_path):
    if shutil.which("make") is None:
        missing("make is not installed")
    for path, text in proofs(formal=True).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    def make(target):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["make", "-C", tmp_path / "formal", target],
            env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = make("all")
    assert done.returncode == 0, done.stdout + done.stderr
    proved = len(list((tmp_path / "formal").glob("*.sv")))
    assert done.stdout.count("Temporal induction successful") == proved
    bench = tmp_path / "formal" / "skid_buffer.sv"
    bench.write_text(bench.read_text().replace("assert (", "assert (!", 1))
    done = make("skid_buffer")
    assert done.returncode != 0
    assert "Assert failed in skid_buffer" in done.stdout
