"""``--io``: what goes into emitted programs and comes out, from the command line."""

import json

import numpy as np
import pytest

from rlx.cli import main
from rlx.cli.model_command import with_name
from rlx.ir import DType, Graph, GraphModule, QuantParams, TensorType, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.file import save
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QArgmax, QClamp, QConvert, QDense, QRequantize, QTranspose
from rlx.ops.real import RealCast, RealDequantize, RealQuantize, RealTanh
from rlx.support.files.golden import read_golden
from rlx.targets import CONVERT, PARTLY, QUANTIZE
from support.files.tflite_builder import TfliteBuilder, run_tflm

INPUT = QuantParams.per_tensor(0.0625, 3)
OUTPUT = QuantParams.per_tensor(0.125, -7)
TAKEN_OFF = [
    "input 'x' is int8 (the conversion from float32 was removed): real = 0.0625 * (q - 3)",
    "output 'y' is int8 (the conversion to float32 was removed): real = 0.125 * (q + 7)",
]


def dense(graph, x):
    random = np.random.default_rng(0)
    weights = graph.constant(random.integers(-127, 128, (4, 8)).astype(np.int8))
    bias = graph.constant(random.integers(-999, 999, 4).astype(np.int32))
    op = QDense(x_zero_point=3, rescale=Rescale.of(0.006), zero_point=-7)
    return graph.apply(op, x, weights, bias, name="dense", quant=OUTPUT)


def float_graph():
    graph = Graph("net")
    x = graph.apply(RealQuantize(quant=INPUT), graph.input("x", f32(1, 8)))
    graph.output(graph.apply(RealDequantize(quant=OUTPUT), dense(graph, x)), names=["y"])
    return graph


def uint8_graph():
    graph = Graph("net")
    ends = QuantParams.per_tensor(0.0625, 131), QuantParams.per_tensor(0.125, 121)
    x = graph.input("x", TensorType((1, 8), DType.U8, ends[0]))
    one = Rescale.of(1.0)
    op = QConvert(x_zero_point=131, rescale=one, zero_point=3, dtype=DType.I8)
    y = dense(graph, graph.apply(op, x, quant=INPUT))
    op = QConvert(x_zero_point=-7, rescale=one, zero_point=121, dtype=DType.U8)
    graph.output(graph.apply(op, y, quant=ends[1]), names=["y"])
    return graph


@pytest.fixture(params=[float_graph, uint8_graph], ids=["float", "uint8"])
def model(request, tmp_path):
    return saved(request.param(), tmp_path)


def saved(graph, folder):
    path = folder / "model.rlx"
    save(GraphModule.mir(graph), path)
    return path


def emit(model, out, *options):
    return main(["emit", str(model), "-o", str(out), *options])


TYPES = {"int8": np.int8, "uint8": np.uint8, "float": np.float32}


@pytest.mark.slow
@pytest.mark.parametrize("io", TYPES)
def test_golden_vectors_have_the_types_of_the_program_and_it_computes_them(
    capsys, tmp_path, model, io
):
    out = tmp_path / "out"
    assert emit(model, out, "--target", "cortexm", "--io", io, "--self-test", "2") == 0
    golden = read_golden(out)
    assert {a.dtype for a in (*golden.inputs, *golden.outputs)} == {np.dtype(TYPES[io])}
    assert main(["verify", str(out), "--with", "host,sanitize"]) == 0
    capsys.readouterr()


@pytest.mark.qemu
@pytest.mark.parametrize("io", ["float", "float,arena", "uint8"])
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4"])
def test_firmware_computes_them_too(capsys, tmp_path, io, cpu):
    out = tmp_path / "out"
    model = saved(float_graph(), tmp_path)
    assert emit(model, out, "--target", "cortexm", "--io", io, "--cpu", cpu) == 0
    assert main(["verify", str(out), "--with", "qemu"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_a_line_says_what_was_taken_off(capsys, tmp_path, target):
    model, out = saved(float_graph(), tmp_path), tmp_path / "out"
    assert emit(model, out, "--target", target) == 0
    assert [
        line for line in capsys.readouterr().out.splitlines() if "was removed" in line
    ] == TAKEN_OFF
    assert json.loads((out / "manifest.json").read_text())["ports"] == TAKEN_OFF
    assert main(["estimate", str(model), "--target", target, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ports"] == TAKEN_OFF


@pytest.mark.slow
@pytest.mark.parametrize("io", TYPES)
def test_an_index_of_int64_goes_out_as_int32(capsys, tmp_path, io):
    graph, out = Graph("net"), tmp_path / "out"
    x = graph.apply(RealQuantize(quant=INPUT), graph.input("x", f32(1, 8)))
    index = graph.apply(QArgmax(axis=1), dense(graph, x))
    graph.output(graph.apply(RealCast(dtype=DType.I64), index), names=["class"])
    assert emit(saved(graph, tmp_path), out, "--target", "cortexm", "--io", io) == 0
    line = "output 'class' is int32 (the conversion to int64 was removed)"
    assert line in capsys.readouterr().out.splitlines()
    assert [a.dtype for a in read_golden(out).outputs] == [np.int32]
    assert main(["verify", str(out), "--with", "host"]) == 0
    capsys.readouterr()


def test_the_documents_have_scale_and_zero_point(capsys, tmp_path):
    model = saved(float_graph(), tmp_path)
    assert emit(model, tmp_path / "c", "--target", "cortexm") == 0
    header = (tmp_path / "c" / "include" / "net.h").read_text()
    assert "#define NET_INPUT_SCALE 0.0625f\n#define NET_INPUT_ZERO_POINT (3)" in header
    assert emit(model, tmp_path / "f", "--target", "fpga", "--io", "uint8") == 0
    ports = json.loads((tmp_path / "f" / "report.json").read_text())["interface"]
    assert {"dtype": "uint8", "scale": 0.0625, "zero_point": 131}.items() <= ports["inputs"][
        0
    ].items()
    assert "uint8[1, 8] | 0.0625 * (q - 131)" in (tmp_path / "f" / "README.md").read_text()
    capsys.readouterr()


@pytest.mark.sim
@pytest.mark.parametrize("io", ["int8", "uint8"])
def test_a_core_computes_them_too(capsys, tmp_path, io):
    out = tmp_path / "out"
    model = saved(float_graph(), tmp_path)
    assert emit(model, out, "--target", "fpga", "--io", io) == 0
    assert {a.dtype for a in read_golden(out).inputs} == {np.dtype(TYPES[io])}
    assert main(["verify", str(out), "--with", "verilator"]) == 0
    capsys.readouterr()


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "io"), [("fpga", "uint8"), ("cortexm", "uint8"), ("cortexm", "float")]
)
def test_a_report_counts_correct_classes_through_them(capsys, tmp_path, target, io):
    model, out = saved(float_graph(), tmp_path), tmp_path / "out"
    x = np.random.default_rng(1).uniform(-8, 8, (40, 1, 8)).astype(np.float32)
    scores = [evaluate(float_graph(), {"x": frame})[0] for frame in x]
    np.savez(tmp_path / "data.npz", x=x[:, 0], y=np.concatenate(scores).argmax(-1))
    assert emit(model, out, "--target", target, "--io", io) == 0
    capsys.readouterr()
    options = ("--no-run", "--data", str(tmp_path / "data.npz"), "--json")
    assert main(["report", str(out), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["accuracy"]["correct"].values()) == {len(x)}


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["engine", "parallel"])
def test_every_architecture_inverts_at_its_ports(capsys, tmp_path, architecture):
    out = tmp_path / "out"
    model = saved(uint8_graph(), tmp_path)
    options = ("--architecture", architecture, "--io", "uint8", "--control", "axi-lite")
    assert emit(model, out, "--target", "fpga", *options) == 0
    assert main(["verify", str(out)]) == 0
    capsys.readouterr()


def test_vectors_may_be_real_numbers_or_what_the_program_takes(capsys, tmp_path):
    graph = float_graph()
    model, out = saved(graph, tmp_path), tmp_path / "out"
    x = np.linspace(-9, 9, 24, dtype=np.float32).reshape(3, 1, 8)
    y = np.stack([evaluate(graph, {"x": frame})[0] for frame in x])
    quantized = RealQuantize(quant=INPUT).evaluate(x)[0]
    stored = RealQuantize(quant=OUTPUT).evaluate(y)[0]
    given = ({"x": x, "y": y}, {"x": quantized}, {"x": quantized, "y": stored})
    for vectors in given:
        np.savez(tmp_path / "vectors.npz", **vectors)
        options = ("--target", "cortexm", "--vectors", str(tmp_path / "vectors.npz"), "--force")
        assert emit(model, out, *options) == 0
        golden = read_golden(out)
        assert np.array_equal(golden.inputs[0], quantized)
        assert np.array_equal(golden.outputs[0], stored)
    assert main(["run", str(model), "--input", str(tmp_path / "vectors.npz")]) == 2
    capsys.readouterr()


def tflite_file(path, dtype):
    """Write a file with QUANTIZE at both ends, and return what the interpreter gives for 40 frames.

    The scales are such that numbers are rounded, and that the ends of the range saturate.
    """
    random = np.random.default_rng(1)
    model = TfliteBuilder()
    real = dtype == "float32"
    points = (131, 121) if dtype == "uint8" else (3, -7)
    ends = [
        {} if real else {"scale": scale, "zero_point": point}
        for scale, point in zip((0.05, 0.1), points, strict=True)
    ]
    first = model.tensor((1, 8), dtype, name="x", **ends[0])
    x = model.tensor((1, 8), scale=0.05, zero_point=3)
    w = model.constant(random.integers(-127, 128, (4, 8)).astype(np.int8), scale=0.01)
    b = model.constant(random.integers(-999, 999, 4).astype(np.int32), scale=0.0005)
    y = model.tensor((1, 4), scale=0.1, zero_point=-7)
    last = model.tensor((1, 4), dtype, name="y", **ends[1])
    model.operator("QUANTIZE", [first], [x])
    model.operator("FULLY_CONNECTED", [x, w, b], [y], fusedActivationFunction="NONE")
    model.operator("DEQUANTIZE" if real else "QUANTIZE", [y], [last])
    data = model.build([first], [last])
    path.write_bytes(data)
    frames = random.integers(-340, 340, (40, 1, 8)) / np.float32(40)
    if not real:
        frames = random.integers(0, 256, (40, 1, 8)).astype(np.uint8)
    frames = np.asarray(frames, dtype)
    return frames, np.stack([run_tflm(data, frame)[0] for frame in frames])


@pytest.mark.parametrize(("dtype", "io"), [("float32", "float"), ("uint8", "uint8")])
def test_a_file_gives_the_interpreters_bits(capsys, tmp_path, dtype, io):
    model, out = tmp_path / "model.tflite", tmp_path / "out"
    x, y = tflite_file(model, dtype)
    np.savez(tmp_path / "vectors.npz", x=x, y=y)
    vectors = ("--vectors", str(tmp_path / "vectors.npz"))
    assert emit(model, out, "--target", "cortexm", "--io", io, *vectors) == 0
    assert read_golden(out).outputs[0].tobytes() == y.tobytes()
    assert main(["verify", str(out), "--with", "host"]) == 0
    # And with the conversions taken off, the same numbers.
    assert emit(model, tmp_path / "int8", "--target", "cortexm", *vectors) == 0
    (found,) = read_golden(tmp_path / "int8").outputs
    steps = found.astype(np.int32) + 7
    assert np.array_equal(steps, np.rint(y / 0.1) if dtype == "float32" else y.astype(int) - 121)
    capsys.readouterr()


def test_run_takes_and_gives_real_numbers(capsys, tmp_path):
    graph = float_graph()
    model = saved(graph, tmp_path)
    x = np.linspace(-9, 9, 16, dtype=np.float32).reshape(2, 1, 8)
    np.save(tmp_path / "x.npy", x)
    command = ["run", str(model), "--input", str(tmp_path / "x.npy"), "--json"]
    assert main([*command, "-o", str(tmp_path / "y.npz")]) == 0
    (summary,) = json.loads(capsys.readouterr().out)["outputs"]
    y = np.load(tmp_path / "y.npz")["y"]
    assert y.dtype == np.float32
    assert np.array_equal(y, np.stack([evaluate(graph, {"x": frame})[0] for frame in x]))
    assert (summary["minimum"], summary["maximum"]) == (y.min(), y.max())
    assert main(["run", str(model)]) == 0
    capsys.readouterr()


def test_a_core_has_no_real_numbers(capsys, tmp_path):
    model = saved(float_graph(), tmp_path)
    assert emit(model, tmp_path / "out", "--target", "fpga", "--io", "float") == 2
    assert capsys.readouterr().err == (
        "error[RLX-E001]: --io float: expected a quantized type: a core cannot convert from or to"
        " floats\n"
        "  try: leave it out, and convert in software: the report has scale and zero point\n"
    )


def test_one_sentence_says_why_an_input_is_refused(capsys, tmp_path):
    graph = Graph("net")
    x = graph.input("x", f32(4))
    for quant in (INPUT, OUTPUT):
        graph.output(graph.apply(RealQuantize(quant=quant), x))
    assert emit(saved(graph, tmp_path), tmp_path / "out", "--target", "fpga") == 5
    assert capsys.readouterr().err == (
        "error[RLX-E041]: input 'x': cannot remove the conversion of the input: it is quantized"
        " in 2 ways\n  try: quantize it with one scale for all its uses\n"
    )


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_a_network_of_real_numbers_is_to_be_quantized(capsys, tmp_path, target):
    graph = Graph("net")
    x = graph.input("x", f32(4))
    graph.output(graph.apply(RealTanh(), x))
    model = saved(graph, tmp_path)
    assert main(["emit", str(model), "--target", target, "-o", str(tmp_path / "out")]) == 5
    assert capsys.readouterr().err.endswith(f"  try: {with_name(QUANTIZE, model)}\n")


def test_a_network_of_integers_and_floats_is_not_to_be_quantized(capsys, tmp_path):
    graph = Graph("net")
    x = graph.input("x", i8(4, quant=INPUT))
    y = graph.apply(QClamp(low=0), x, quant=INPUT)
    graph.output(graph.apply(RealTanh(), graph.apply(RealDequantize(quant=INPUT), y)))
    model = saved(graph, tmp_path)
    assert main(["check", str(model), "--target", "cortexm"]) == 5
    assert f"try: {PARTLY}\n" in capsys.readouterr().err


def test_an_integer_file_without_changes_has_no_lines(capsys, tmp_path, digits_model):
    assert main(["estimate", str(digits_model), "--target", "cortexm", "--json"]) == 0
    assert "ports" not in json.loads(capsys.readouterr().out)
    assert emit(digits_model, tmp_path / "out", "--target", "fpga") == 0
    assert "ports" not in json.loads((tmp_path / "out" / "manifest.json").read_text())
    capsys.readouterr()


def channels_first_graph():
    """Return a network of images that are channels first in the model: they are exchanged."""
    graph = Graph("net")
    x = graph.apply(RealQuantize(quant=INPUT), graph.input("x", f32(1, 3, 4, 5)))
    x = graph.apply(QTranspose(axes=(0, 2, 3, 1)), x, quant=INPUT)
    op = QRequantize(x_zero_point=3, rescale=Rescale.of(0.5), zero_point=-7)
    y = graph.apply(op, x, quant=OUTPUT)
    graph.output(graph.apply(RealDequantize(quant=OUTPUT), y), names=["y"])
    return graph


@pytest.mark.parametrize("architecture", ["dataflow", "engine"])
def test_a_core_takes_images_channels_last(capsys, tmp_path, architecture):
    graph, out = channels_first_graph(), tmp_path / "out"
    model = saved(graph, tmp_path)
    x = np.random.default_rng(0).standard_normal((5, 3, 4, 5)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    command = ["--target", "fpga", "--architecture", architecture]
    assert emit(model, out, *command, "--vectors", str(tmp_path / "x.npz")) == 0
    line = "it is channels last: [1, 4, 5, 3], in the model [1, 3, 4, 5]"
    assert line in capsys.readouterr().out
    golden = read_golden(out)
    wanted = np.stack([evaluate(graph, {"x": one[None]})[0] for one in x])
    numbers = (golden.outputs[0].astype(np.float32) + 7) * np.float32(0.125)
    assert np.array_equal(numbers, wanted)
    assert golden.inputs[0].shape == (5, 1, 4, 5, 3)
    assert "int8[1, 4, 5, 3]" in (out / "README.md").read_text()


@pytest.mark.sim
def test_a_core_computes_images_that_are_channels_first_in_the_model(capsys, tmp_path):
    model, out = saved(channels_first_graph(), tmp_path), tmp_path / "out"
    assert emit(model, out, "--target", "fpga") == 0
    assert main(["verify", str(out), "--with", "verilator"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("quantized", "hint"), [(False, QUANTIZE), (True, CONVERT)])
def test_a_network_with_scales_of_its_own_needs_no_samples(capsys, tmp_path, quantized, hint):
    graph = Graph("net")
    x = graph.input("x", f32(1, 8))
    for _ in range(2):
        if quantized:
            quantized_x = graph.apply(RealQuantize(quant=INPUT), x)
            x = graph.apply(RealDequantize(quant=INPUT), quantized_x)
        x = graph.apply(RealTanh(), x)
    graph.output(x, names=["y"])
    model = saved(graph, tmp_path)
    assert emit(model, tmp_path / "out", "--target", "cortexm") == 5
    assert f"try: {with_name(hint, model)}\n" in capsys.readouterr().err
