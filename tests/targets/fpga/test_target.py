"""The target as the compiler sees it: options, files, report, names, the same bytes every time."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlx.driver.driver import emit, lower
from rlx.driver.sweep import estimate_values
from rlx.ir import DType, Graph, QuantParams, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QClamp,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMul,
    QReshape,
    QSoftmax,
    QTranspose,
    Window,
)
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError, UsageError
from rlx.support.process import kept_environment
from rlx.support.text.names import KEYWORDS, origin_text
from rlx.targets import load
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.architectures import ARCHITECTURES
from rlx_fpga.architectures.dataflow.lower import Plan
from support.messages import raises

pytestmark = pytest.mark.usefixtures("as_typed")


def network(model="net", names=("x", "conv", "sum", "dense", "probabilities", "class")):
    """Return a convolution with a shortcut, a dense layer, softmax and an index."""
    rng = np.random.default_rng(0)
    x_name, conv_name, sum_name, dense_name, soft_name, class_name = names
    graph = Graph(model)
    quant = QuantParams.per_tensor(0.05, 3)
    x = graph.input(x_name, TensorType((1, 5, 5, 4), DType.I8, quant))
    weights = graph.constant(rng.integers(-127, 128, (4, 3, 3, 4)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, 4).astype(np.int32))
    convolution = QConv2d(
        window=Window.same((5, 5), (3, 3)), x_zero_point=3, zero_point=3,
        rescale=Rescale.of(0.001, 0.002, 0.001, 0.003),
    )  # fmt: skip
    y = graph.apply(convolution, x, weights, bias, name=conv_name)
    half = Rescale.of(0.5)
    add = QAdd(
        x_zero_point=3, y_zero_point=3, x_rescale=half, y_rescale=half,
        rescale=Rescale.of(0.9 * 2.0**-19), zero_point=3,
    )  # fmt: skip
    y = graph.apply(add, x, y, name=sum_name)
    y = graph.apply(QReshape(shape=(1, 100)), y)
    weights = graph.constant(rng.integers(-127, 128, (4, 100)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, 4).astype(np.int32))
    dense = QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=-5)
    y = graph.apply(dense, y, weights, bias, name=dense_name)
    multiplier, shift, minimum = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=shift, diff_min=minimum)
    graph.output(graph.apply(softmax, y, name=soft_name), names=[soft_name])
    graph.output(graph.apply(QArgmax(), y, name=class_name), names=[class_name])
    return GraphModule(graph, Stage.MIR)


def files_of(module, **options):
    return dict(TARGET.emit(module, FpgaOptions(**options)).files)


def test_target_comes_in_by_the_entry_point():
    assert load("fpga") is TARGET


def test_emission_holds_the_folder_and_the_report():
    emission = TARGET.emit(network(), FpgaOptions(dsp=60))
    memories = [path for path in emission.files if path.startswith("mem/")]
    assert memories == [
        "mem/net_conv_bias.mem", "mem/net_conv_weights_0.mem",
        "mem/net_conv_constants.mem", "mem/net_sum_x_table0.mem",
        "mem/net_dense_bias.mem", "mem/net_dense_weights_0.mem",
        "mem/net_probabilities_table.mem",
    ]  # fmt: skip
    cells = [path for path in emission.files if path.startswith("rtl/cells/")]
    kinds = {path.removeprefix("rtl/cells/net_").rpartition("_")[0] for path in cells}
    assert {"conv2d", "add", "dense", "softmax", "argmax", "skid_buffer", "requantize"} <= kinds
    assert sorted(set(emission.files) - {*memories, *cells}) == [
        "README.md", "lint.vlt", "litex/net_litex.py", "net.core", "report.json",
        "rtl/net_core.sv", "rtl/net_rom.sv",
        "rtl/net_top.sv", "synth/Makefile", "synth/ecp5-85k.tcl", "synth/ecp5-85k.ys",
        "synth/ecp5_near.v", "synth/net.lpf", "synth/net.sdc", "synth/net_top_pins.sv",
        "tb/harness.cpp", "tb/net_tb.gtkw", "tb/net_tb.sucl", "tb/net_tb.sv", "tb/net_top.gtkw",
        "tb/net_top.sucl",
        "tb/run.py", "tb/test_net.py",
    ]  # fmt: skip
    signals = emission.facts["signals"]
    assert emission.facts == {"prefix": "net", "signals": signals}
    assert {"s_axis_tdata", "s_axis_tvalid"} <= signals.keys()
    report = json.loads(emission.files["report.json"])
    interface = report.pop("interface")
    assert report == emission.report
    assert {**report, "fits": True} == TARGET.estimate(network(), FpgaOptions(dsp=60))
    assert [row["op"] for row in report["layers"]] == [
        "q.conv2d", "q.add", "q.dense", "q.softmax", "q.argmax",
    ]  # fmt: skip
    assert report["sources"]["dense"] == "dense"
    assert report["multipliers"] == sum(row["multipliers"] for row in report["layers"]) <= 60
    assert report["interval"] == max(row["cycles"] for row in report["layers"])
    assert [port["name"] for port in interface["inputs"]] == ["s_axis"]
    assert interface["inputs"][0]["zero_point"] == 3
    assert [(port["name"], port["dtype"], port["shape"]) for port in interface["outputs"]] == [
        ("m_axis_probabilities", "int8", [1, 4]), ("m_axis_class", "int32", [1]),
    ]  # fmt: skip


def test_shortcut_gets_a_queue():
    report = TARGET.estimate(network(), FpgaOptions())
    (row,) = (row for row in report["layers"] if row["op"] == "q.add")
    assert row["queue_bits"] > 0


def test_folding_can_be_given():
    options = FpgaOptions(fold=(("dense", 2, 5), ("conv", 1, 2)))
    rows = {row["name"]: row for row in TARGET.estimate(network(), options)["layers"]}
    assert (rows["dense"]["pe"], rows["dense"]["simd"]) == (2, 5)
    assert (rows["conv"]["pe"], rows["conv"]["simd"]) == (1, 2)


def test_more_multipliers_are_never_slower():
    budgets = (3, 4, 8, 20, 60)
    found = [TARGET.estimate(network(), FpgaOptions(dsp=n))["interval"] for n in budgets]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"dsp": 0},
            DoesNotFitError,
            r"^ecp5-85k: the smallest design found needs \d+ DSP slices?",
        ),
        ({"fold": (("n9_dense", 1, 1),)}, UsageError, r"^no layer is called 'n9_dense'"),
        ({"fold": (("dense", 3, 1),)}, UsageError, r"^layer 'dense' cannot have pe 3"),
    ],
)
def test_emit_refuses_options_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        TARGET.emit(network(), FpgaOptions(**options))


def test_port_without_quantization_says_so():
    assert "unknown" in TARGET.emit(network(), FpgaOptions()).files["README.md"]


def test_refusals_tell_the_reason():
    graph = Graph("g")
    x = graph.input("x", TensorType((1, 2, 3, 4), DType.I8))
    y = graph.apply(QTranspose(axes=(0, 2, 1, 3)), x)
    assert "needs the tensor in memory" in TARGET.lowering(y.node, FpgaOptions()).reason
    clamp = graph.apply(QClamp(low=0), x).node
    assert isinstance(TARGET.lowering(clamp, FpgaOptions()), Plan)
    assert TARGET.knows(QTranspose)
    assert TARGET.reason(QTranspose, FpgaOptions()) is None


def transposed():
    """Return a graph that reorders codes: no stream can."""
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 2, 3, 4), DType.I8))
    graph.output(graph.apply(QTranspose(axes=(0, 2, 1, 3)), x, name="t"))
    return graph


@pytest.mark.parametrize("architecture", ["engine", "parallel"])
def test_each_architecture_answers_for_itself(architecture):
    module, options = GraphModule(transposed(), Stage.MIR), FpgaOptions(architecture=architecture)
    lowered = lower(module, TARGET, options=options)
    assert lowered.dispatch.ready
    assert TARGET.estimate(lowered.module, options)["interval"] > 0


@pytest.mark.parametrize(
    ("architecture", "first", "others"),
    [
        ("dataflow", "q.transpose (%2 't')", "engine lacks q.mul; parallel lacks q.mul"),
        ("engine", "q.mul (%3 'm')", "dataflow lacks q.transpose; parallel lacks q.mul"),
    ],
)
def test_no_refusal_leads_to_another_one(architecture, first, others):
    """Each op by itself has an architecture, all of them together have none."""
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 2, 3, 4), DType.I8))
    y = graph.input("y", TensorType((1, 3, 2, 4), DType.I8))
    turned = graph.apply(QTranspose(axes=(0, 2, 1, 3)), x, name="t")
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    graph.output(graph.apply(op, turned, y, name="m"), names=["z"])
    module, options = GraphModule(graph, Stage.MIR), FpgaOptions(architecture=architecture)
    with pytest.raises(UnsupportedOpError) as caught:
        lower(module, TARGET, options=options)
    lines = str(caught.value).splitlines()
    assert lines[1].strip().startswith(first)
    assert lines[2] == (f"  hint: change the model: no --architecture has all of its ops, {others}")
    with pytest.raises(UnsupportedOpError) as compared:
        estimate_values(module, TARGET, "all", options)
    assert lines[1] in str(compared.value)
    assert lines[2].removeprefix("  hint: ") in str(compared.value)


def test_a_refusal_names_the_architectures_that_can():
    with pytest.raises(UnsupportedOpError) as caught:
        lower(GraphModule(transposed(), Stage.MIR), TARGET)
    assert str(caught.value).splitlines()[1:] == [
        "    q.transpose (%1 't'): permuting [1, 2, 3, 4] by (0, 2, 1, 3) needs the tensor in"
        " memory; --architecture engine or parallel can build it",
        "  hint: use --architecture engine or parallel",
    ]
    graph = Graph("net")
    x, y = (graph.input(name, TensorType((1, 4), DType.I8)) for name in "xy")
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    node = graph.append(op, x, y)
    for architecture in ("engine", "parallel"):
        refusal = TARGET.lowering(node, FpgaOptions(architecture=architecture))
        assert refusal.hint == "use --architecture dataflow"


def many_weights(outputs):
    """Return a dense layer of ``outputs`` times 256 weights, and an activation behind it."""
    rng = np.random.default_rng(0)
    graph = Graph("net")
    weights = graph.constant(rng.integers(-127, 128, (outputs, 256)).astype(np.int8))
    bias = graph.constant(np.zeros(outputs, np.int32))
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.003), zero_point=0)
    x = graph.input("x", TensorType((1, 256), DType.I8))
    graph.output(graph.apply(op, x, weights, bias))
    return TARGET.plan(GraphModule(graph, Stage.MIR), FpgaOptions())


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        ({}, r"ice40-up5k: the design does not fit: needs \d+ block RAMs, 30 available",
         "--weights stream, or --device ecp5-25k"),
        ({"bram": 1, "device": "ecp5-25k"},
         r"ecp5-25k: the design does not fit: needs \d+ block RAMs, 1 available", r"--bram \d+"),
    ],
)  # fmt: skip
def test_engines_that_are_too_large_are_refused(options, problem, hint):
    module, chosen = (
        many_weights(128),
        FpgaOptions(**{"architecture": "engine", "device": "ice40-up5k", **options}),
    )
    report = TARGET.estimate(module, chosen)
    assert report["fits"] is False
    assert report["short"] in problem.replace(r"\d+", str(report["bram"]))
    with pytest.raises(DoesNotFitError, match=f"^{problem}\n  hint: {hint}$"):
        TARGET.emit(module, chosen)
    assert TARGET.estimate(module, FpgaOptions())["fits"] is True


def test_parallel_designs_that_are_too_large_are_refused():
    with pytest.raises(DoesNotFitError, match=r"needs [\d,]+ LUTs, 100 available") as caught:
        TARGET.emit(many_weights(1), FpgaOptions(architecture="parallel", lut=100))
    assert caught.value.hint.startswith("--lut ")


def test_a_refusal_of_dataflow_names_the_engine_where_that_fits():
    with pytest.raises(DoesNotFitError) as caught:
        TARGET.estimate(many_weights(128), FpgaOptions(device="ice40-up5k"))
    assert caught.value.hint == "--device ecp5-25k, or --architecture engine --weights stream"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_output_that_is_a_constant_is_refused(architecture):
    graph = Graph("net")
    graph.input("x", TensorType((1, 4), DType.I8))
    graph.output(graph.constant(np.ones((1, 4), np.int8), name="one"))
    with raises(EmitError):
        TARGET.estimate(GraphModule(graph, Stage.LIR), FpgaOptions(architecture=architecture))


def test_parameters_must_be_bound():
    graph = Graph("g")
    graph.output(graph.param("w", TensorType((3,), DType.I8)))
    with raises(EmitError):
        TARGET.emit(GraphModule(graph, Stage.MIR), FpgaOptions())


HOSTILE = [
    '"; $system("x"); //', "*/ endmodule module evil(); /*", "module", "\\esc aped ", "a\nb",
    "`include \"/etc/passwd\"", "conv_queue", "{{ 7 * 7 }}", "ü\u202e", "'''", "${IFS}",
]  # fmt: skip


def uncommented(text):
    """Return the lines that are not comments."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("//")]


def anonymous(files):
    """Return a core's code with numbers in the place of its layers' names, without spaces."""
    rows = json.loads(files["report.json"])["layers"]
    code = "\n".join(uncommented(files["rtl/net_core.sv"]))
    code = re.sub(r"\bnet_(\w+)(?=_[0-9a-f]{6}\b)", lambda m: m[0].upper(), code)
    numbers = {row["instance"]: f"layer{k}" for k, row in enumerate(rows)}
    names = "|".join(sorted(map(re.escape, numbers), key=len, reverse=True))
    text = re.sub(rf"(?<![A-Za-z0-9])({names})(?=_|\W)", lambda m: numbers[m[1]], code)
    return "".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(HOSTILE), 3))
def test_names_of_the_model_are_mangled_in_code(start):
    names = tuple(HOSTILE[(start + k) % len(HOSTILE)] for k in range(6))
    plain = files_of(network(), prefix="net")
    hostile = files_of(network(model=HOSTILE[start], names=names), prefix="net")
    report = json.loads(hostile["report.json"])
    instances = [row["instance"] for row in report["layers"]]
    assert len(set(instances)) == len(instances) == 5
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", one) for one in instances)
    assert not KEYWORDS & set(instances)
    assert all(re.fullmatch(r"[\w./-]+", row["name"], re.ASCII) for row in report["layers"])
    assert anonymous(plain) == anonymous(hostile)
    (row,) = (one for one in hostile["README.md"].splitlines() if "| q.conv2d |" in one)
    assert row.split(" | ")[2] == f"`{origin_text(names[1])}`"
    assert report["layers"][0]["origins"] == [names[1]]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_model_name_becomes_an_identifier(name):
    files = files_of(network(model=name))
    (top,) = (path for path in files if path.endswith("_top.sv"))
    assert re.fullmatch(r"rtl/[A-Za-z][A-Za-z0-9_]*_top\.sv", top)


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_environment(tmp_path):
    program = (
        "import sys; sys.path[:0] = sys.argv[1].split(); import test_target as t;"
        "from pathlib import Path; t.write(Path(sys.argv[2]))"
    )
    here = f"{Path(__file__).parent} {Path(__file__).parents[2]}"
    # The cache holds translated tools; another one would only cost time.
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    contents = []
    for number, changes in enumerate(
        (
            {"PYTHONHASHSEED": "0"},
            {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"},
        )
    ):
        folder = tmp_path / f"place{number}"
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", program, here, "out"],
            cwd=folder, check=True,
            env=kept_environment() | {"HOME": str(folder), "XDG_CACHE_HOME": cache} | changes,
        )  # fmt: skip
        root = folder / "out"
        found = sorted(path for path in root.rglob("*") if path.is_file())
        contents.append({path.relative_to(root): path.read_bytes() for path in found})
    assert contents[0] == contents[1]
    assert not any(str(tmp_path).encode() in text for text in contents[0].values())


def write(folder):
    """Emit the network into ``folder``; called in another process."""
    emit(network(), TARGET, folder)


@pytest.mark.synth
@pytest.mark.parametrize("device", ["ecp5-25k", "artix7-35t", "zu3eg"])
def test_synthesis_counts_what_was_estimated(device):
    emission = TARGET.emit(network(), FpgaOptions(dsp=12, device=device, synth=True))
    report = emission.report
    found = report["synthesis"]
    assert found["device"] == device
    assert found["dsp"] == report["dsp"] == report["multipliers"]
    pairs = any("_multiply_shared #" in text for text in emission.files.values())
    assert pairs == (device != "ecp5-25k")
    assert found["bram"] == report["bram"]
    assert report["ff"] == pytest.approx(found["ff"], rel=0.2)
    assert report["lut"] == pytest.approx(found["lut"], rel=0.2)
    assert json.loads(emission.files["report.json"])["synthesis"] == found
    rows = emission.files["README.md"].partition("Cells after synthesis")[2].splitlines()
    layers = [row["name"] for row in report["layers"]]
    assert [row.split(" | ")[0] for row in rows[4 : 4 + len(layers)]] == [f"| {n}" for n in layers]
    assert rows[4 + len(layers)] == (
        f"| whole design | {found['lut']} | {found['ff']} | {found['dsp']} | {found['bram']:g} |"
    )


@pytest.mark.synth
def test_synthesis_counts_what_was_estimated_without_multipliers():
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 12, 12, 1), DType.I8))
    weights = graph.constant(rng.integers(-127, 128, (4, 3, 3, 1)).astype(np.int8))
    convolution = QConv2d(
        window=Window.same((12, 12), (3, 3)), x_zero_point=3, zero_point=3,
        rescale=Rescale.of(0.001, 0.002, 0.001, 0.003),
    )  # fmt: skip
    y = graph.apply(convolution, x, weights, graph.constant(np.arange(4, dtype=np.int32)))
    y = graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), y)
    y = graph.apply(QReshape(shape=(1, y.type.size)), y)
    weights = graph.constant(rng.integers(-127, 128, (5, y.type.size)).astype(np.int8))
    dense = QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=-5)
    bias = graph.constant(np.arange(5, dtype=np.int32) * 90)
    graph.output(graph.apply(dense, y, weights, bias))
    module = GraphModule(graph, Stage.MIR)
    report = TARGET.emit(module, FpgaOptions(device="ice40-hx8k", synth=True)).report
    found = report["synthesis"]
    assert found["dsp"] == report["dsp"] == report["multipliers"] == 0
    # A queue of more than a few words before an array can become a block RAM unexpectedly.
    assert found["bram"] == report["bram"] > 0
    for name in ("lut", "ff"):
        assert report[name] == pytest.approx(found[name], rel=0.2)


def test_a_rate_that_an_engine_does_not_reach_is_refused():
    options = FpgaOptions(architecture="engine", device="ecp5-85k")
    interval, clock = TARGET.estimate(network(), options)["interval"], options.clock_hz
    fast = replace(options, fps=clock / interval + 1)
    rate = int(clock / interval)
    with pytest.raises(
        DoesNotFitError,
        match=rf"by the architecture 'engine': its initiation interval is {interval:,} cycles, .*\n"
        rf"  hint: --fps {rate}, or --clock \d+MHz",
    ):
        TARGET.emit(network(), fast)
    estimate = TARGET.estimate(network(), fast)
    assert not estimate["fits"]
    assert estimate["short"].endswith(f" of {int(fast.fps):,} frames/s")
    assert TARGET.estimate(network(), replace(options, fps=float(rate)))["interval"] == interval
