"""``rlx emit --dump-dir``, ``--print-ir-before``, ``--print-ir-after`` and ``--verify-each``."""

import re
from itertools import pairwise

import numpy as np
import pytest

import rlx
from rlx import targets
from rlx.cli import main
from rlx.driver import driver
from rlx.ir import Graph, GraphModule, QuantParams, f32, i8
from rlx.ir.file import save
from rlx.ir.parser import parse_graph
from rlx.ops import nn
from rlx.ops.q import QClamp, QPad
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes import Pipeline
from rlx.passes.pipelines import PIPELINES
from rlx.runtime.lowering import STEPS, lower
from rlx.runtime.numpy_backend import BACKEND
from rlx.runtime.options import CompileOptions
from rlx.support.config import current
from rlx.support.files.outputs import read_manifest

QUANT = QuantParams.per_tensor(0.5, 0)


def network():
    """Return a network with ports in float, a float island and two clamps."""
    graph = Graph("net")
    x = graph.input("x", f32(1, 4))
    quantized = graph.apply(RealQuantize(quant=QUANT), x)
    clamped = graph.apply(QClamp(low=0), graph.apply(QClamp(low=-3), quantized))
    real = graph.apply(RealDequantize(quant=QUANT), clamped)
    table = graph.apply(RealQuantize(quant=QUANT), graph.apply(nn.NnSilu(), real))
    padded = graph.apply(QPad(before=(0, 1), after=(0, 1), value=0), table)
    graph.output(padded, names=["y"])
    return GraphModule.hir(graph)


@pytest.fixture
def emit(tmp_path, capsys, monkeypatch):
    """Run ``rlx emit`` in a folder of the test's own; return status, output, errors."""
    monkeypatch.chdir(tmp_path)
    save(network(), tmp_path / "net.rlx")

    def run(*arguments, target="cortexm"):
        status = main(["emit", "net.rlx", "--target", target, *arguments])
        return (status, *capsys.readouterr())

    return run


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_steps_are_written_and_the_output_stays_the_same(emit, tmp_path, target):
    assert emit("-o", "plain", target=target)[0] == 0
    options = ["--dump-dir", "stages", "--print-ir-after", "all", "--verify-each"]
    assert emit("-o", "out", *options, target=target)[0] == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "plain")
    files = sorted(p.name for p in (tmp_path / "stages").glob("*.txt"))
    assert [name[:2] for name in files] == [f"{n:02}" for n in range(len(files))]
    assert [name[3:-4] for name in files][:4] == [
        "given", "ports", "islands", "fuse-clamps-round-1",
    ]  # fmt: skip
    texts = [(tmp_path / "stages" / name).read_text() for name in files]
    assert all(a != b for a, b in pairwise(texts))
    assert "nn.silu" in texts[0]
    assert "nn.silu" not in texts[2]
    assert list(read_manifest(tmp_path / "stages").files) == files
    assert parse_graph(texts[0]).name == "net"


def test_graphs_are_printed_where_a_step_changes_them(emit):
    status, out, err = emit(
        "-o", "out", "--print-ir-before", "fuse-clamps", "--print-ir-after", "fuse-chains",
        "--print-ir-after", "fuse-pads",
    )  # fmt: skip
    assert status == 0
    assert "graph " not in out
    assert re.findall(r"^# .*", err, re.MULTILINE) == [
        "# before fuse-clamps, round 1", "# after fuse-chains, round 1",
    ]  # fmt: skip
    before, after = (f"graph{text}" for text in err.split("graph")[1:])
    count = [part.count("= q.clamp(") for part in (before, after)]
    assert count == [2, 0]


def test_json_stays_one_object(emit):
    status, out, err = emit("-o", "out", "--json", "--print-ir-after", "all")
    assert (status, out[0], out.rstrip()[-1]) == (0, "{", "}")
    assert err.startswith('# after given\ngraph "net" {\n')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--print-ir-after fuse-pad", "no step is called 'fuse-pad'\n  try: did you mean 'fuse-p"),
        ("--print-ir-before fuse", "no step is called 'fuse'"),
        ("--dump-dir out", "--dump-dir and --out are one folder, or one is in the other"),
        ("--dump-dir out/stages", "--dump-dir and --out are one folder, or one is in the other"),
        ("--dump-dir .", "--dump-dir and --out are one folder, or one is in the other"),
        ("--dump-dir net.rlx", "net.rlx: there is a file, not a folder"),
    ],
)
def test_refusals_write_nothing(emit, tmp_path, options, message):
    status, _, err = emit("-o", "out", *options.split())
    assert status == 2 or "RLX-E003" in err
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["net.rlx"]


def test_a_folder_of_somebody_else_is_kept(emit, tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "notes.txt").write_text("mine")
    for options in ([], ["--force"]):
        _, _, err = emit("-o", "out", "--dump-dir", "stages", *options)
        assert "the folder is not empty and holds no manifest.json of rlx" in err
    assert not (tmp_path / "out").exists()
    assert [p.name for p in (tmp_path / "stages").iterdir()] == ["notes.txt"]


def test_a_folder_of_stages_is_replaced_with_force_alone(emit, tmp_path):
    assert emit("-o", "out", "--dump-dir", "stages")[0] == 0
    before = contents(tmp_path / "stages")
    assert "stages: the folder exists" in emit("-o", "other", "--dump-dir", "stages")[2]
    assert not (tmp_path / "other").exists()
    assert emit("-o", "out", "--dump-dir", "stages", "--force")[0] == 0
    assert contents(tmp_path / "stages") == before


def test_a_compilation_that_fails_leaves_the_steps_until_then(emit, tmp_path, monkeypatch):
    class Broken(type(PIPELINES["default"].passes[0])):
        __slots__ = ()

        def apply(self, graph):
            raise ValueError("broken")

    broken = Pipeline("default", (Broken(), *PIPELINES["default"].passes))
    monkeypatch.setitem(PIPELINES, "default", broken)
    status, _, err = emit("-o", "out", "--dump-dir", "stages")
    assert status != 0
    assert "internal error: ValueError: broken (in pass decompose)\n" in err
    files = sorted(p.name for p in (tmp_path / "stages").iterdir())
    assert files == ["00-given.txt", "01-ports.txt", "02-islands.txt", "manifest.json"]
    assert not (tmp_path / "out").exists()


def test_verify_each_holds_for_one_command(emit, monkeypatch):
    with rlx.config.override(verify_each=False):
        seen = []
        original = driver.lower

        def lowered(*arguments, **options):
            seen.append(current().verify_each)
            return original(*arguments, **options)

        monkeypatch.setattr(driver, "lower", lowered)
        emit("-o", "a", "--verify-each")
        emit("-o", "b")
        assert (seen, current().verify_each) == ([True, False], False)


def test_python_observes_the_steps_that_have_names(tmp_path):
    steps = []
    rlx.emit(network(), "cortexm", tmp_path / "out", observe=lambda *seen: steps.append(seen))
    assert [str(step) for step, _ in steps[:4]] == ["given", "ports", "islands", "decompose"]
    assert {step.name for step, _ in steps} == set(driver.step_names(targets.load("cortexm")))
    assert steps[-1][1].plan is not None


def test_the_host_observes_the_steps_that_have_names():
    graph = Graph("net")
    x = graph.input("x", f32(2, 4))
    graph.output(graph.apply(nn.NnLinear(), x, graph.constant(np.ones((3, 4), np.float32))))
    steps = []
    options = CompileOptions(precision="bf16")
    lower(graph, BACKEND, options, observe=lambda *seen: steps.append(seen))
    assert {step.name for step, _ in steps} == set(STEPS)


def test_the_host_prints_its_steps(tmp_path, capsys):
    save(network(), tmp_path / "net.rlx")
    status = main(["passes", str(tmp_path / "net.rlx"), "--print-ir-after", "fit"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert out.startswith('# after fit\ngraph "net" {\n')
    assert "nn.silu" not in out


def test_many_files_sort_in_the_order_of_the_steps(tmp_path):
    from rlx.passes import Step
    from rlx.runtime.dump import StageDump

    with StageDump(tmp_path / "stages") as dump:
        for number in range(101):
            graph = Graph(f"g{number}")
            graph.output(graph.input("x", i8(1)))
            dump(Step("a pass/of:others", number), GraphModule.mir(graph))
    files = sorted(p.name for p in (tmp_path / "stages").glob("*.txt"))
    assert files[:2] == ["000-a-pass-of-others-round-0.txt", "001-a-pass-of-others-round-1.txt"]
    assert files[-1] == "100-a-pass-of-others-round-100.txt"
