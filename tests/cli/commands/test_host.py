"""``rlx host`` as a user types it."""

import json

import numpy as np
import pytest

from rlx.cli import main
from rlx.ir import Dim, Graph, GraphModule, f32
from rlx.ir.file import save
from rlx.ops import nn

MACHINE = {
    "name": "flat",
    "flops": {"f32": 1e9},
    "bandwidth": [[1 << 40, 1e9]],
    "overhead_s": 0.0,
}


def network(*shape):
    graph = Graph("net")
    x = graph.input("x", f32(*shape))
    y = graph.apply(nn.NnLinear(), x, graph.constant(np.ones((3, 4), np.float32)), name="dense")
    graph.output(y, graph.apply(nn.NnSoftmax(), graph.apply(nn.NnRelu(), y)), names=["y", "z"])
    return GraphModule.hir(graph)


def offsets(bindings):
    return [entry["offset"] for entry in (*bindings["inputs"], *bindings["outputs"])]


@pytest.fixture
def host(tmp_path, capsys):
    def run(*arguments, shape=(2, 4)):
        path = tmp_path / "net.rlx"
        save(network(*shape), path)
        status = main(["host", str(path), *arguments])
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def digits(digits_model, capsys):
    def run(*arguments):
        status = main(["host", str(digits_model), *arguments])
        return (status, *capsys.readouterr())

    return run


@pytest.mark.parametrize("shape", [(2, 4), (Dim("batch"), 4), (2, Dim("length"), 4)], ids=str)
def test_fusion(host, shape):
    status, out, _ = host("--fusion", shape=shape)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "net: 7 ops become 3 (softmax 1; 1 missed)"
    assert any(line.startswith("softmax  fused.softmax    5  real.reduce_max") for line in lines)
    assert any("is an output of the graph" in line for line in lines)


def test_fusion_as_json(host):
    report = json.loads(host("--fusion", "--json")[1])
    assert report.keys() == {"fusion"}
    fusion = report["fusion"]
    assert (fusion["before"], fusion["after"], fusion["counts"]) == (7, 3, {"softmax": 1})
    assert fusion["missed"][0]["reason"] == "output of the graph"


def test_a_policy_holds_for_every_part(host):
    keep = ("--fusion-policy", "keep")
    _, out, _ = host("--fusion", "--fusion-policy", "softmax=keep")
    assert out.startswith("net: 7 ops become 6 (elementwise 1; 4 missed)")
    assert "the policy of softmax is keep" in out
    parts = ("--memory", "--bindings", "--json")
    fused, unfused = (json.loads(host(*parts, *policy)[1]) for policy in ((), keep))
    assert fused["memory"] != unfused["memory"]
    assert offsets(fused["bindings"]) != offsets(unfused["bindings"])
    status, _, err = host("--fusion-policy", "softmix=keep")
    assert status == 2
    assert "no pattern of fusion is called 'softmix'" in err
    assert "did you mean 'softmax'?" in err


def test_memory(digits):
    status, out, _ = digits("--memory")
    assert status == 0
    assert out.splitlines()[0] == "memory of digits"
    assert "weights    3,920 B  constants, equal ones once" in out
    memory = json.loads(digits("--memory", "--json")[1])["memory"]
    assert memory["workspace"] > 0
    assert memory["total"] == memory["arena"] + memory["weights"] + memory["workspace"]


def test_parts_stand_below_each_other(digits):
    default = digits()[1]
    assert default == digits("--fusion", "--memory")[1]
    memory, fusion, bindings = (digits(part)[1] for part in ("--memory", "--fusion", "--bindings"))
    assert default == f"{memory}\n{fusion}"
    assert digits("--bindings", "--memory")[1] == f"{memory}\n{bindings}"
    assert json.loads(digits("--json")[1]).keys() == {"memory", "fusion"}


def test_bindings(digits):
    lines = digits("--bindings")[1].splitlines()
    assert lines[0] == "digits: arena of 640 bytes, aligned to 64"
    assert lines[2].split() == ["input", "image", "i8[1,", "8,", "8,", "1]", "64", "512", "no"]


@pytest.mark.parametrize("part", ["--memory", "--bindings"])
def test_sizes_must_be_numbers(host, part):
    status, _, err = host(part, shape=(2, Dim("length"), 4))
    assert status == 2
    assert "length" in err.partition("try:")[0]


def test_roofline_with_the_limits_of_a_file(digits, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(MACHINE))
    status, out, _ = digits("--roofline", str(path))
    assert status == 0
    assert out.splitlines()[0] == "digits on flat: lower bounds"
    assert "compute" in out
    printed = digits("--memory", "--roofline", str(path), "--json")[1]
    assert json.loads(printed)["roofline"]["macs"] == 25600
    path.write_text(printed)  # what was printed is a description too
    assert digits("--roofline", str(path))[1] == out


def test_a_file_that_describes_no_machine(digits, tmp_path):
    status, _, err = digits("--roofline", str(tmp_path / "nothing.json"))
    assert (status, "no file" in err) == (2, True)
    path = tmp_path / "machine.json"
    missing = f"{path}: expected the description of a machine: has no 'name'"
    for text, message in (("{", "expected JSON"), ("[]", missing), ('{"machine": 1}', missing)):
        path.write_text(text)
        status, _, err = digits("--roofline", str(path))
        assert status == 2
        assert message in err
