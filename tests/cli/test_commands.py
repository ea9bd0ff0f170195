"""Output of the subcommands for a good model."""

import hashlib
import json

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir import Graph, GraphModule, i8
from rlx.ir.file import save
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QRequantize


def run_json(capsys, *arguments):
    """Run a subcommand with ``--json``; return the object that it prints."""
    status = main([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert (status, captured.err) == (0, "")
    return json.loads(captured.out)


def test_run_gives_the_same_outputs_each_time(capsys, tmp_path, digits_model):
    first = run_json(capsys, "run", digits_model, "--frames", 3, "-o", tmp_path / "y.npz")
    assert first["frames"] == 3
    assert first == run_json(capsys, "run", digits_model, "--frames", 3)
    with np.load(tmp_path / "y.npz") as outputs:
        assert outputs["probabilities"].shape == (3, 1, 10)


def test_inspect_counts_ops_and_macs(capsys, digits_model):
    report = run_json(capsys, "inspect", digits_model)
    text = json.dumps(report)
    assert "q.conv2d" in text
    assert str(8 * 8 * 8 * 9 + 4 * 4 * 16 * 72 + 256 * 10) in text.replace(",", "")


def test_targets_lists_what_is_installed(capsys):
    assert set(run_json(capsys, "targets")["targets"]) == {"cortexm", "fpga", "host"}


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_targets_shows_why_an_op_is_refused(capsys, target):
    ops = run_json(capsys, "targets", target)["ops"]
    assert ops["q.conv2d"] is None
    assert all(reason is None or len(reason) > 5 for reason in ops.values())


def test_targets_lists_what_options_take(capsys):
    devices = run_json(capsys, "targets", "fpga")["options"]["--device"]
    assert "83640 LUT4" in devices["ecp5-85k"]
    options = run_json(capsys, "targets", "cortexm")["options"]
    assert list(options) == ["--cpu", "--part"]
    assert options["--cpu"]["cortex-m35p"] == "kernels of cortex-m33"
    assert main(["targets", "fpga"]) == 0
    assert "ecp5-85k" in capsys.readouterr().out


def test_random_inputs_are_said_to_be(capsys, digits_model):
    assert main(["run", str(digits_model)]) == 0
    captured = capsys.readouterr()
    assert captured.err == "note: the inputs are random values; --input FILE for yours\n"
    assert "random" not in captured.out


def test_without_arguments_the_help_is_shown(capsys):
    assert main([]) == 0
    without = capsys.readouterr()
    assert main(["--help"]) == 0
    assert without == capsys.readouterr()
    assert without.out.startswith("Usage: rlx")


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_estimate_shows_macs_for_each_layer(capsys, target, digits_model):
    estimate = run_json(capsys, "estimate", digits_model, "--target", target)
    assert estimate["dispatch"]["ready"] is True
    assert sum(layer.get("macs", 0) or 0 for layer in estimate["layers"]) == 25600


@pytest.mark.parametrize("owner", ["--target=cortexm", "--target=fpga", "--backend=numpy"])
def test_check_reports_what_happens_to_each_op(capsys, owner, digits_model):
    report = run_json(capsys, "check", digits_model, owner)
    assert report["ready"] is True
    assert {"op": "q.conv2d", "count": 2, "path": "native"}.items() <= report["ops"][0].items()
    assert main(["check", str(digits_model), owner]) == 0
    assert "q.conv2d" in capsys.readouterr().out


def test_check_takes_policies(capsys, tmp_path):
    model = tmp_path / "model.rlx"
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    rescale = Rescale.of(0.3)
    graph.output(graph.apply(QRequantize(x_zero_point=0, rescale=rescale, zero_point=0), x))
    save(GraphModule.mir(graph), model)
    arguments = ("check", model, "--target", "cortexm")
    assert run_json(capsys, *arguments)["ops"][0]["path"] == "native"
    report = run_json(capsys, *arguments, "--policy", "q.requantize=common")
    assert (report["ops"][0]["path"], report["ready"]) == ("rewritten", True)


def _loop(x):
    return rlx.while_loop(lambda v: v.cast("i32").sum() > 0, lambda v: v, x)


def test_check_prints_what_is_refused_and_exits_with_its_status(capsys, tmp_path):
    model = tmp_path / "model.rlx"
    traced = rlx.trace("net", _loop, i8(1, 4))
    save(GraphModule.hir(traced.graph), model)
    assert main(["check", str(model), "--target", "cortexm", "--json"]) == 5
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert ("core.while", "refused") in [(o["op"], o["path"]) for o in report["ops"]]
    assert report["error"]["code"] == "RLX-E041"
    first, second, *_, last = captured.err.splitlines()
    assert first == "error[RLX-E041]: graph 'net': cortexm cannot compile 1 kind of op:"
    assert second.startswith("    core.while (%1): it has no loops")
    assert last == f"  try: {report['error']['try']}"
    assert main(["check", str(model), "--backend", "numpy"]) == 0
    assert "core.while" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "error[RLX-E001]: a target or a backend is needed, but not both\n"
                "  try: give --target NAME or --backend NAME\n"),
        (["--target", "cortexm", "--backend", "numpy"], 2,
         "error[RLX-E001]: a target or a backend is needed, but not both\n"
         "  try: give --target NAME or --backend NAME\n"),
        (["--backend", "other"], 6,
         "error[RLX-E060]: no backend is called 'other'\n"
         "  try: backends: numpy, native, wgpu, xla\n"),
    ],
)  # fmt: skip
def test_check_wants_one_owner(capsys, digits_model, arguments, status, message):
    assert main(["check", str(digits_model), *arguments]) == status
    assert capsys.readouterr().err == message


def test_doctor_names_a_command_for_each_missing_tool(capsys):
    main(["doctor", "--json"])
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert all(t["install"] for t in tools if not t["version"])
    assert {"cc", "verilator", "target fpga"} <= {t["name"] for t in tools}


def test_doctor_is_grouped_by_job(capsys, monkeypatch):
    from rlx_sim import toolchain

    search = toolchain.search
    hidden = ("nextpnr-ecp5", "qemu-system-arm", "unicorn", "clang")
    monkeypatch.setattr(toolchain, "search", lambda n: None if n in hidden else search(n))
    assert main(["-q", "doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "✓ emit for cortexm: ready" in lines
    assert "✗ place and route for ECP5: missing nextpnr-ecp5: pip install 'rlx[synth]'" in lines
    assert (
        "✗ C for Cortex-M: missing qemu-system-arm: Debian: apt-get install qemu-system-arm"
        " or unicorn: pip install 'rlx[zig]'"
    ) in lines
    assert any(line.startswith("  not needed: clang (emitted C") for line in lines)
    jobs = {job["name"]: job for job in run_json(capsys, "doctor")["jobs"]}
    assert jobs["emit for fpga"]["ready"]
    assert jobs["place and route for ECP5"]["missing"] == [
        {"part": "router", "install": {"nextpnr-ecp5": "pip install 'rlx[synth]'"}}
    ]


def test_doctor_lists_all_tools_with_wide(capsys):
    assert main(["-q", "doctor", "--wide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("tool  ")
    assert any(line.startswith("verilator ") for line in lines)


def test_self_test_needs_as_many_vectors(capsys, tmp_path, digits_model):
    command = ["emit", str(digits_model), "--target", "cortexm", "--frames", "2"]
    assert main([*command, "--self-test", "3", "-o", str(tmp_path / "a")]) == 2
    assert capsys.readouterr().err == (
        "error[RLX-E001]: --self-test: expected at least 3 golden vectors, got 2\n"
        "  try: use --frames 3 to get more vectors, or --self-test 2\n"
    )
    assert main([*command, "--self-test", "2", "-o", str(tmp_path / "a")]) == 0


@pytest.mark.parametrize("fault", ["cut", "scalar", "no frames", "hash"])
def test_golden_vectors_that_cannot_be_read(capsys, tmp_path, digits_model, fault):
    folder = tmp_path / "net"
    assert main(["emit", str(digits_model), "--target", "cortexm", "-o", str(folder)]) == 0
    path = folder / "golden" / "input_0.npy"
    if fault == "cut":
        path.write_bytes(path.read_bytes()[:26])
    elif fault != "hash":
        np.save(path, np.int8(3) if fault == "scalar" else np.zeros((0, 1, 8, 8, 1), np.int8))
    manifest = json.loads((folder / "manifest.json").read_text())
    content = path.read_bytes()
    sha256 = 1.5 if fault == "hash" else hashlib.sha256(content).hexdigest()
    manifest["files"]["golden/input_0.npy"] = {"bytes": len(content), "sha256": sha256}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    capsys.readouterr()
    assert main(["verify", str(folder)]) == 2
    place, what = {
        "cut": (path, "has a header that is cut or too long"),
        "scalar": (path, "holds no frames"),
        "no frames": (path, "holds no frames"),
        "hash": (folder / "manifest.json", "is malformed"),
    }[fault]
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error[RLX-E070]: {place}: {what}"
    assert hint.startswith("  try: ")


def test_help_begins_with_two_commands_on_lines_of_their_own(capsys):
    assert main(["--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line.startswith("rlx ")] == [
        "rlx demo                                    see it work",
        "rlx emit model.tflite --target cortexm -o out && rlx verify out",
    ]
