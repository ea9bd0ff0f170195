"""``rlx diff``, and what ``rlx emit --force`` says about the folder that it replaced."""

import json
import re
import shutil

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.reports.folder_diff import Change, folder_diff, read_emitted
from rlx.support.files.outputs import read_manifest
from support import ROOT
from support.networks.exported_motion import motion_files

pytestmark = pytest.mark.slow

MNIST = ROOT / "examples" / "mnist" / "tinyconv.rlx"


@pytest.fixture(scope="module")
def folders(tmp_path_factory, digits_model):
    """Digits and MNIST for a Cortex-M4, MNIST for a Cortex-M55, digits for an FPGA."""
    root = tmp_path_factory.mktemp("diff")
    rlx.emit(digits_model, "cortexm", root / "digits", frames=1)
    rlx.emit(MNIST, "cortexm", root / "mnist", frames=1)
    rlx.emit(MNIST, "cortexm", root / "m55", frames=1, cpu="cortex-m55")
    rlx.emit(digits_model, "fpga", root / "fpga", frames=1)
    return root


@pytest.fixture
def diff(folders, capsys):
    def run(*arguments):
        status = main(["diff", *(str(folders / one) for one in arguments[:2]), *arguments[2:]])
        printed = capsys.readouterr()
        assert printed.err == ""
        return status, printed.out

    return run


def test_equal_folders(diff, folders):
    shutil.copytree(folders / "digits", folders / "copy")
    (folders / "copy" / "notes.txt").write_text("of the user", encoding="utf-8")
    status, text = diff("digits", "copy", "--exit-code")
    assert status == 0
    assert "equal: every file is the same" in text
    status, text = diff("digits", "copy", "--json", "--exit-code")
    assert (status, json.loads(text)["equal"]) == (0, True)


def test_another_network(diff):
    status, text = diff("digits", "mnist", "--json")
    assert status == 0
    found = json.loads(text)
    caller = {one["name"]: (one["before"], one["after"]) for one in found["caller"]}
    assert caller["prefix of all names"] == ("digits", "tinyconv")
    assert caller["input shape"] == ([1, 8, 8, 1], [1, 28, 28, 1])
    assert caller["output zero point"] == (-128, 32)
    figures = {one["name"]: (one["before"], one["after"], one["unit"]) for one in found["figures"]}
    assert figures["arena"] == (640, 6760, "B")
    assert figures["macs"] == (25_600, 192_064, "")
    layers = {one["name"]: one["kind"] for one in found["layers"]}
    assert layers["pool2"] == "added"
    assert layers["probabilities"] == "removed"
    assert layers["conv1"] == "changed"
    assert "include/digits.h" in found["files"]
    assert "golden/input_0.npy" in found["contents"]


def test_the_same_network_for_another_processor(diff):
    status, text = diff("mnist", "m55", "--exit-code")
    assert status == 1
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "option cpu cortex-m4 cortex-m55" in lines
    assert not any(line.startswith(("input", "output", "prefix")) for line in lines)
    assert "layers unchanged: 1" in lines
    assert max(map(len, lines)) < 250  # long attributes are not printed


def test_converted_ports_are_changes_for_the_caller(diff, folders, digits_model):
    rlx.emit(digits_model, "fpga", folders / "unsigned", frames=1, io="uint8")
    _, text = diff("fpga", "unsigned", "--json")
    caller = {one["name"]: (one["before"], one["after"]) for one in json.loads(text)["caller"]}
    for port in ("input", "output"):
        assert caller[f"{port} type"] == ("i8", "u8")
        assert caller[f"{port} zero point"] == (-128, 0)


def exchange(module, op, operands, places):
    """Exchange two rows of the constant operands of the first node of an op."""
    node = next(node for node in module.graph.nodes if node.op.name == op)
    for operand in operands:
        array = node.operands[operand].constant
        assert np.any(array[places[0]] != array[places[1]])
        array.setflags(write=True)
        array[places] = array[places[::-1]]
        array.setflags(write=False)


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
@pytest.mark.parametrize(
    ("change", "shown"),
    [
        # Two classes with their biases, their weights alone, two biases.
        (
            ("q.dense", (1, 2), [3, 7]),
            "weights: 2 of 10 output channels, first at [3]; bias: 2 of 10 values, first at [3];"
            " order of outputs 3, 7 -> 7, 3",
        ),
        (("q.dense", (1,), [3, 7]), "weights: 2 of 10 output channels, first at [3]"),
        (("q.conv2d", (2,), [0, 1]), "bias: 2 of 8 values, first at [0]"),
    ],
)
def test_exchanged_weights_are_seen(change, shown, target, folders, tmp_path, digits_model, capsys):
    """Their range stays the same."""
    module = rlx.load(digits_model)
    exchange(module, *change)
    rlx.emit(module, target, tmp_path / "new", frames=1)
    usual = {"cortexm": "digits", "fpga": "fpga"}[target]
    assert main(["diff", str(folders / usual), str(tmp_path / "new")]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    layers = [line.split(maxsplit=2)[2] for line in lines if line.startswith("~")]
    assert layers == [f"{change[0]} {shown}"]


def test_layouts_of_weights_at_run_time_are_compared(tmp_path, capsys, digits_model):
    module = rlx.load(digits_model)
    options = {"weights_at": "run-time", "frames": 1}
    rlx.emit(module, "cortexm", tmp_path / "old", **options)
    rlx.emit(module, "cortexm", tmp_path / "small", cpu="cortex-m0", **options)
    exchange(module, "q.dense", (1, 2), [3, 7])
    rlx.emit(module, "cortexm", tmp_path / "new", **options)
    layout = read_manifest(tmp_path / "old").producer.facts["weights_file"]["layout"]

    def shown(new):
        assert main(["diff", str(tmp_path / "old"), str(tmp_path / new)]) == 0
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    text = f"layout of the weights unchanged, {layout}: the code of either accepts the weights of"
    assert f"{text} both" in shown("new")
    lines = shown("small")
    assert any(line.startswith(f"layout of the weights {layout} ") for line in lines)
    assert not any("unchanged, " in line for line in lines)
    assert any("see --fix-ranges of rlx quantize" in line for line in lines)


def test_folders_of_an_older_rlx_have_no_hashes_and_pictures(folders, tmp_path):
    old, new = (read_emitted(folders / "digits") for _ in range(2))
    for layer in old.network["layers"]:
        del layer["operands"], layer["rows"]
        if layer["weights"] is not None:
            del layer["weights"]["picture"]
    assert not folder_diff(old, new).layers
    assert not folder_diff(new, old).layers


def test_ports_of_hardware_that_differ_are_named(folders, tmp_path, digits_model, capsys):
    rlx.emit(digits_model, "fpga", tmp_path / "wide", frames=1, stream_bits=32)
    assert main(["diff", str(folders / "fpga"), str(tmp_path / "wide")]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert sorted(line for line in lines if line.startswith("port ")) == [
        "port frame_error_o none output, 1 bit",
        "port m_axis_tdata output, 8 bits output, 32 bits",
        "port m_axis_tkeep none output, 4 bits",
        "port s_axis_tdata input, 8 bits input, 32 bits",
        "port s_axis_tkeep none input, 4 bits",
    ]


def test_other_targets(diff):
    found = json.loads(diff("digits", "fpga", "--json")[1])
    assert {"name": "target", "before": "cortexm", "after": "fpga", "unit": ""} in found["caller"]


def test_architectures_of_an_fpga_have_the_same_layers(diff, folders, digits_model):
    rlx.emit(digits_model, "fpga", folders / "engine", frames=1, architecture="engine")
    _, text = diff("fpga", "engine", "--json")
    found = json.loads(text)
    assert len(found["layers"]) + found["unchanged"] == 5
    assert {layer["kind"] for layer in found["layers"]} == {"changed"}
    assert "softmax" in (folders / "engine" / "README.md").read_text(encoding="utf-8")


def test_graphs_of_models(digits_model, capsys):
    assert main(["diff", str(digits_model), str(MNIST), "--exit-code"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["--- digits", "+++ tinyconv"]
    rows = [" ".join(line.split()) for line in lines]
    assert "+ pool1 q.max_pool2d added" in rows
    assert "- probabilities q.softmax removed" in rows
    assert "~ image core.input shape 1x8x8x1 -> 1x28x28x1" in rows
    (conv1,) = [row for row in rows if row.startswith("~ conv1 ")]
    assert "; window differs; rescale: 8 of 8 channels; " in conv1
    assert main(["diff", str(digits_model), str(digits_model), "--exit-code"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["layers unchanged: 7"]


def test_nodes_of_models_with_an_option(digits_model, capsys):
    assert main(["diff", str(digits_model), str(MNIST), "--ir", "--exit-code"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['--- "digits"', '+++ "tinyconv"']
    assert "  q.softmax: 1 -> 0" in lines
    assert any(line.startswith("- %") and "q.softmax" in line for line in lines)
    assert main(["diff", str(digits_model), str(digits_model), "--ir"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["13 nodes unchanged"]


def test_a_changed_weight_of_a_model_is_one_line_for_each_layer(tmp_path, capsys):
    old, new = map(str, motion_files(tmp_path, 0.0, 0.2))
    assert main(["diff", old, new]) == 0
    text = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in text.splitlines() if line.startswith("~")]
    assert [row.split()[1] for row in rows] == ["node_Conv_31", "node_linear", "node_softmax"]
    assert rows[0] == (
        "~ node_Conv_31 q.conv2d weights: 20 of 384 values, first at [3, 0, 0, 0];"
        " weights scale: 1 of 16 channels;"
        " bias: 1 of 16 values, first at [3]; rescale: 1 of 16 channels"
    )
    assert max(map(len, text.splitlines())) < 200
    assert main(["diff", old, new, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layers"][0]["name"] == "node_Conv_31"
    assert found["unchanged_layers"] == 8
    assert any("getitem_3" in one["after"] for one in found["changed"])


def test_folders_name_figures_as_reports_and_count_files(tmp_path, capsys, digits_model):
    (network,) = motion_files(tmp_path, 0.0)
    for name, model in (("old", digits_model), ("new", network)):
        rlx.emit(model, "fpga", tmp_path / name, frames=1)
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    text = capsys.readouterr().out
    names = [line.split("  ")[0] for line in text.splitlines()]
    assert {"frames in flight", "rate", "interval", "latency", "LUT", "FF"} <= set(names)
    assert not {"fill", "fps", "lut", "ff"} & set(names)
    (only,) = [line for line in text.splitlines() if line.startswith("files, only")]
    assert re.search(r"rtl/cells/ \(\d+ files\)", only)
    assert "rtl/cells/net" not in only
    assert only.endswith("; --json lists each")
    assert len(only) < 300


def test_values_with_the_same_text_differ():
    assert str(Change("weights", "384 from -1 to 1", "384 from -1 to 1")) == "weights differ"
    assert str(Change("scale", 0.1, 0.1 + 1e-12)) == "scale differs"
    assert str(Change("scale", 0.1, 0.2)) == "scale 0.1 -> 0.2"


def test_bindings_of_models(digits_model, capsys):
    command = ["diff", str(digits_model), str(MNIST), "--bindings", "--exit-code"]
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "digits -> tinyconv"
    assert any(line.split()[:4] == ["input", "image", "changed", "shape"] for line in lines)
    assert main(["diff", str(digits_model), str(digits_model), "--bindings", "--exit-code"]) == 0
    assert capsys.readouterr().out == "no differences\n"


@pytest.mark.parametrize(
    "option", ["--bindings", "--ir", "--limit operations=1e12", "--format tflite"]
)
def test_options_of_models_are_refused_with_folders(folders, capsys, option):
    folder = str(folders / "digits")
    assert main(["diff", folder, folder, *option.split()]) == 2
    err = capsys.readouterr().err
    assert f"{option.split()[0]} has no effect on output folders" in err


def test_a_limit_holds_for_both_models(digits_model, capsys):
    limits = ["--limit", "operations=1000"]
    assert main(["diff", str(digits_model), str(digits_model), *limits]) == 4
    assert "the limit is 1000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("digits", "digits/README.md"), "cannot compare the folder"),
        (("digits", "digits/src"), "cannot be read: no such file"),
        (("none", "digits/README.md"), "no file"),
        (("digits", "none"), "no file"),
    ],
)
def test_refused(folders, capsys, names, message):
    assert main(["diff", *(str(folders / name) for name in names)]) == 2
    assert message in capsys.readouterr().err


def test_a_changed_folder_and_one_of_an_older_rlx_are_refused(folders, tmp_path, capsys):
    changed = tmp_path / "changed"
    shutil.copytree(folders / "digits", changed)
    (changed / "src" / "digits.c").write_text("", encoding="utf-8")
    assert main(["diff", str(folders / "digits"), str(changed)]) == 2
    assert "differs from the manifest" in capsys.readouterr().err
    manifest = json.loads((changed / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"] = {}
    (changed / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (changed / "report" / "network.json").unlink()
    assert main(["diff", str(folders / "digits"), str(changed)]) == 2
    assert "made by an older rlx" in capsys.readouterr().err


def emit(capsys, model, out, *options):
    arguments = [model, "--target", "cortexm", "-o", out, "--frames", 1, *options]
    assert main(["emit", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_emit_force_says_what_changed(tmp_path, capsys, digits_model):
    out = tmp_path / "c"
    assert "changed: " not in emit(capsys, digits_model, out)
    assert "changed: nothing\n" in emit(capsys, digits_model, out, "--force")
    text = emit(capsys, MNIST, out, "--prefix", "digits", "--force")
    (line,) = [line for line in text.splitlines() if line.startswith("changed: ")]
    assert "input shape 1x8x8x1 -> 1x28x28x1" in line
    assert "arena 640 -> 6,760 B" in line
    assert "layers 1 added, 1 removed, 5 changed" in line
    assert "prefix of all names" not in line
    found = json.loads(emit(capsys, digits_model, out, "--force", "--json"))["changes"]
    assert {"name": "arena", "before": 6760, "after": 640, "unit": "B"} in found["figures"]
    again = emit(capsys, digits_model, out, "--force", "--frames", 2)
    assert "changed: only the contents of golden/input_0.npy, golden/output_0.npy" in again


def test_emit_force_over_something_else_says_nothing(tmp_path, capsys, digits_model):
    (tmp_path / "c").mkdir()
    assert "changed: " not in emit(capsys, digits_model, tmp_path / "c", "--force")


def test_the_difference_is_false_without_one(folders):
    digits, mnist = (read_emitted(folders / name) for name in ("digits", "mnist"))
    assert not folder_diff(digits, digits)
    assert folder_diff(digits, mnist)
    assert folder_diff(digits, digits).summary == ""
