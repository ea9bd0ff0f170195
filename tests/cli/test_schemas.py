"""Output of commands with ``--json``, and JSON files, against the schemas that ship."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from importlib import util
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest

import rlx
from benchmarks.host.networks.mlp import mlp
from rlx import f32
from rlx.cli import main
from rlx.cli.schemas import SCHEMAS
from rlx.ir import Graph
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.ops.real import RealReduceProd
from rlx.support.files.outputs import Producer, write_folder
from rlx.targets import builder
from rlx_fpga.devices import device
from rlx_sim.synthesis.build import HardwareBuild
from rlx_sim.synthesis.nextpnr import RoutedDesign, TimingPath
from support import ROOT
from support.networks.quantized_net import float_network, samples

OPEN = ("estimate", "estimate-comparison", "manifest", "verify")
"""Further keys are the target's."""

SLOW = ("demo", "quantize", "report", "estimate-comparison")
"""Take a second or more."""

QUANTIZE = "quantize float.rlx -o q.rlx --calib samples.npz"

COMMANDS = {
    "bench": ["bench digits --seconds 0", "bench mlp.onnx --seconds 0 --against onnxruntime"],
    "build": ["build core", "build core --seeds 0"],
    "check": ["check digits --target fpga", "check refused --target cortexm",
              "check float.rlx --target cortexm"],
    "compare": ["compare float.rlx float.rlx --data samples.npz",
                "compare float.rlx float.rlx --data samples.npz --exact --only-outputs"],
    "demo": ["demo"],
    "diff": ["diff out out", "diff old out"],
    "diff-bindings": ["diff net net --bindings", "diff digits net --bindings"],
    "diff-models": ["diff digits digits", "diff digits float.rlx"],
    "devices": ["devices"],
    "doctor": ["doctor"],
    "draw": ["draw digits -o net.svg", "draw digits -o net.html"],
    "emit": ["emit digits --target cortexm -o new",
             "emit digits --target cortexm --cpu cortex-m7 --force -o new"],
    "error": ["inspect nothing.tflite", "emit", "nothing"],
    "estimate": ["estimate digits --target cortexm",
                 "estimate digits --target cortexm --part stm32f746 --clock 100MHz",
                 "estimate digits --target fpga",
                 "estimate digits --target fpga --device ice40-up5k --architecture dataflow",
                 "estimate float.rlx --target cortexm --weight-bits 4"],
    "estimate-comparison": ["estimate digits --cpus all", "estimate digits --devices all",
                            "estimate float.rlx --cpus all"],
    "examples": ["examples"],
    "explain": ["explain", "explain E112"],
    "export": ["export digits -o new.tflite", "export digits -o new.onnx"],
    "host": ["host float.rlx", "host digits --fusion", "host net --bindings",
             "host digits --bindings --memory --roofline measured"],
    "import": ["import digits -o new.rlx"],
    "inspect": ["inspect digits", "inspect net", "inspect float.rlx"],
    "new": ["new cmake project"],
    "passes": ["passes digits", "passes net --pipeline default", "passes digits --dump-dir stages"],
    "paths": ["paths", "paths --schemas"],
    "profile": ["profile digits --runs 2",
                "profile digits --runs 2 --machine measured --trace trace.json"],
    "quantize": [QUANTIZE, f"{QUANTIZE} --weights auto --bits 6"],
    "report": ["report out --no-run", "report out --verified verified.json --diff old",
               "report out --no-run --data digits.npz", "report timed --no-run"],
    "run": ["run digits", "run digits --frames 3", "run digits --input digits.npz"],
    "targets": ["targets"],
    "verify": ["verify out --with host", "verify out --with host --budget rlx.toml"],
}  # fmt: skip

FILES = {"manifest": "manifest.json", "network": "report/network.json"}
"""Files of an output folder."""


class Builder:
    """Gives results without running tools."""

    def build(self, folder, *, seeds, **_):
        path = TimingPath("u_top.a", "u_top.b", 3.5, 4.5)
        routed = [RoutedDesign(1, 125.0, {}, path), RoutedDesign(2, 100.0, {}, None)][:seeds]
        row = {"resource": "lut", "estimate": 8781, "synthesis": 8800, "available": 83640}
        kinds = dict.fromkeys(("lut", "ff", "dsp", "bram"), 4400)
        layer = {"layer": "n0_conv2d", "op": "q.conv2d", "node": "conv", "estimate": kinds,
                 "synthesis": kinds}  # fmt: skip
        rest = {"layer": "ports and control", "op": None, "node": None, "estimate": None}
        return HardwareBuild(
            device=device("ecp5-85k"),
            top="digits_top",
            cells={"LUT4": 8800},
            resources=[
                {**row, "resource": kind, "placed": 8900 if seeds else None} for kind in kinds
            ],
            layers=[layer, {**rest, "estimate": kinds, "synthesis": kinds}],
            placement="placement.svg" if seeds else None,
            routed=routed,
            interval=263,
            problems=("expected 400 MHz, reached 112.5 MHz",),
            notes=("a note",),
            tools={"yosys": "0.60"},
        )


@pytest.fixture(scope="module")
def tool():
    spec = util.spec_from_file_location("schemas", ROOT / "tools" / "schemas.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tmp_path_factory, digits_model):
    """A folder of models, samples, emitted folders, and results of a build and a verification."""
    folder = tmp_path_factory.mktemp("schemas")
    graph = rlx.trace("net", lambda x: x.relu(), f32(1, 8)).graph
    save(GraphModule.hir(graph), folder / "net")
    product = Graph("product")
    product.output(product.apply(RealReduceProd(axes=(1,)), product.input("x", f32(1, 8))))
    save(GraphModule.mir(product), folder / "refused")
    save(GraphModule.hir(float_network()), folder / "float.rlx")
    onnx.save(mlp(1, (6, 4, 3)).model, folder / "mlp.onnx")
    np.savez(folder / "samples.npz", x=samples(8, seed=1), y=np.arange(8) % 5)
    shutil.copy(digits_model, folder / "digits")
    with np.load(digits_model.parent / "samples.npz") as arrays:
        np.savez(folder / "digits.npz", x=arrays["image"][:8], y=arrays["labels"][:8])
    for name, target, options in (
        ("out", "cortexm", {"frames": 2}),
        ("old", "cortexm", {"frames": 2, "cpu": "cortex-m55", "prefix": "other"}),
        ("timed", "cortexm", {"frames": 2, "part": "nrf52840"}),
    ):
        rlx.emit(folder / "digits", target, folder / name, **options)
    write_folder(folder / "core", {}, producer=Producer(rlx_version="0", target="fpga"))
    built = Builder().build(None, seeds=2).as_json()
    (folder / "build.json").write_text(json.dumps(built))
    verified = {"inputs": 2, "equal": 1, "mismatches": [{"frame": 1}], "notes": ["a note"],
                "runs": [{"simulator": "host", "equal": 1}], "tools": {}}  # fmt: skip
    (folder / "verified.json").write_text(json.dumps(verified))
    (folder / "rlx.toml").write_text('[digits.cortexm]\nflash = "8K"\ninstructions = "1M"\n')
    return folder


@pytest.fixture
def printed(made, capsys, monkeypatch):
    """Return the output of a command, as JSON values."""
    monkeypatch.chdir(made)
    load = builder.load
    monkeypatch.setattr(builder, "load", lambda target: load(target) and Builder())

    def run(command):
        main([*command.split(), "--json"])
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def conforms(tool):
    """Return a function that checks values against a schema; unknown keys are errors."""
    return partial(_conforms, tool)


def _conforms(tool, name, values):
    found = msgspec.convert(values, tool.json_type(SCHEMAS[name]), strict=True)
    if name not in OPEN:
        known = json.loads(msgspec.json.encode(found))
        assert known == values, "add the keys to rlx/cli/schemas and run tools/schemas.py"


def test_every_schema_is_tested():
    # Lines of progress are tested in ``test_progress.py``.
    assert COMMANDS.keys() | FILES.keys() | {"progress"} == SCHEMAS.keys()


def test_every_schema_is_listed():
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    listed = text.partition("JSON Schemas ship")[2].partition("```")[0]
    assert all(f"`{name}`" in listed for name in SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_up_to_date(tool, name):
    stored = (ROOT / "rlx" / "cli" / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    assert stored == tool.schema_text(name, SCHEMAS[name]), "run tools/schemas.py"


def test_no_schema_is_left_over():
    assert {
        path.stem for path in (ROOT / "rlx" / "cli" / "schemas").glob("*.json")
    } == SCHEMAS.keys()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        pytest.param(name, command, marks=[pytest.mark.slow] if name in SLOW else [], id=command)
        for name, commands in sorted(COMMANDS.items())
        for command in commands
    ],
)
def test_what_is_printed_conforms(conforms, printed, name, command):
    values = printed(command)
    assert ("error" in values) == (name == "error" or command.startswith("check refused"))
    conforms(name, values)


@pytest.mark.parametrize("name", FILES)
def test_files_conform(conforms, made, name):
    conforms(name, json.loads((made / "out" / FILES[name]).read_text(encoding="utf-8")))


@pytest.mark.slow
def test_hardware_conforms(conforms, made, printed):
    conforms("emit", printed("emit digits --target fpga --frames 2 -o hardware"))
    for name, file in FILES.items():
        conforms(name, json.loads((made / "hardware" / file).read_text(encoding="utf-8")))
    conforms("report", printed("report hardware --no-run --build build.json"))


@pytest.mark.slow
def test_what_is_missing_conforms(conforms, tmp_path):
    command = [sys.executable, "-m", "rlx", "doctor", "--json"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    found = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    values = json.loads(found.stdout)
    assert any(job["missing"] for job in values["jobs"])
    conforms("doctor", values)


def test_the_folder_is_named(capsys):
    assert main(["paths", "--schemas"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    schema = json.loads((folder / "verify.json").read_text(encoding="utf-8"))
    assert schema["title"] == "rlx verify"


def test_what_does_not_conform_is_found(conforms):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"error": {"code": 7}}, SCHEMAS["error"])
    with pytest.raises(AssertionError, match="add the keys"):
        conforms("examples", {"examples": [{"name": "", "summary": "", "needs": "", "new": 1}]})
