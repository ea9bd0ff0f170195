"""``rlx quantize`` and ``rlx compare`` as a user types them."""

import json
import sys

import numpy as np
import pytest

from rlx import frontends
from rlx.cli import main
from rlx.ir import Graph, QuantParams, f32
from rlx.ir.evaluate import evaluate
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.ops.nn import NnRelu
from rlx.ops.real import RealAdd, RealDequantize, RealQuantize
from support.files.tflite_builder import TfliteBuilder
from support.networks.quantized_net import float_network, samples


@pytest.fixture
def folder(tmp_path, monkeypatch):
    graph = float_network()
    save(GraphModule.hir(graph), tmp_path / "net.rlx")
    for name, seed in (("calib", 1), ("test", 2)):
        x = samples(40, seed)
        y = [evaluate(graph, {"image": one[np.newaxis]})[0].argmax() for one in x]
        np.savez(tmp_path / f"{name}.npz", x=x, y=np.array(y))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


QUANTIZE = ("quantize", "net.rlx", "-o", "q.rlx", "--calib", "calib.npz")


def test_quantize_then_compare(folder, capsys):
    status, out, err = run(capsys, *QUANTIZE, "--test", "test.npz", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["measured_on"] == "test data"
    assert report["calibration_samples"] == 40
    assert len(report["worst"]) == 3
    assert report["comparison"]["top1"]["first"] == 1.0
    assert {"loss", "sqnr_db", "bits", "minimum", "scale"} <= report["layers"][0].keys()
    status, out, _ = run(capsys, "compare", "net.rlx", "q.rlx", "--data", "test.npz", "--json")
    assert status == 0
    found = json.loads(out)
    for key in ("top1", "agreement", "output", "samples"):
        assert found[key] == report["comparison"][key]
    assert report["equalized"]  # so most layers have scaled channels, and are not compared
    assert len(found["layers"]) >= 2


def test_weights_are_limited_to_bytes_with_a_unit(folder, capsys):
    whole = json.loads(run(capsys, *QUANTIZE, "--json")[1])["weight_bytes"]
    few = ("--weights", "auto", "--min-sqnr", "0", "--min-agreement", "0", "--json")
    by_unit = [run(capsys, *QUANTIZE, *few, "--flash", text) for text in ("0.25K", "256")]
    assert by_unit[0] == by_unit[1]
    assert json.loads(by_unit[0][1])["weight_bytes"] <= 256 < whole
    status, _, err = run(capsys, *QUANTIZE, *few, "--flash", "1Q")
    assert (status, "write it as 65536 or 64K" in err) == (2, True)


def test_the_network_is_written_to_an_rlx_file_only(folder, capsys):
    for name in ("q.txt", "q"):
        status, _, err = run(capsys, "quantize", "net.rlx", "-o", name, "--calib", "calib.npz")
        assert status == 2
        assert "expected a name for a .rlx file" in err
        assert not (folder / name).exists()


def test_one_array_for_two_inputs_is_refused_with_the_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    graph = Graph("net")
    graph.output(graph.apply(RealAdd(), graph.input("a", f32(1, 4)), graph.input("b", f32(1, 4))))
    save(GraphModule.hir(graph), tmp_path / "net.rlx")
    np.save("x.npy", np.zeros((3, 4), np.float32))
    status, _, err = run(capsys, "quantize", "net.rlx", "-o", "q.rlx", "--calib", "x.npy")
    assert status == 2
    assert "holds one array, and the network has 2 inputs" in err
    assert "give a .npz file with an array for each input: 'a', 'b'" in err


def test_criteria_give_the_exit_status(folder, capsys):
    assert run(capsys, *QUANTIZE)[0] == 0
    compare = ("compare", "net.rlx", "q.rlx", "--data", "test.npz")
    status, out, _ = run(capsys, *compare, "--exact", "--only-outputs")
    assert status == 1
    assert out.endswith("NOT MET: exact\n")
    assert "numbers differ, the largest difference: " in out
    assert "conv1" not in out
    status, out, _ = run(capsys, *compare, "--cosine", "0.9", "--max-abs", "0.5")
    assert (status, out.splitlines()[-1]) == (0, "met: max_abs <= 0.5, cosine >= 0.9")
    assert "conv1" in out
    status, out, _ = run(capsys, *compare, "--criteria", "half", "--max-rel", "1e9", "--json")
    found = json.loads(out)
    assert found["passed"] is (status == 0)
    assert found["criteria"] == "max_abs <= 0.05, max_rel <= 1e+09, cosine >= 0.999"
    status, _, err = run(capsys, *compare, "--criteria", "hlf")
    assert status == 2
    assert "no criteria are called 'hlf'" in err
    assert "did you mean 'half'?" in err


def test_samples_may_be_a_table(folder, capsys):
    with np.load("calib.npz") as arrays:
        rows, classes = arrays["x"].reshape(40, -1), arrays["y"]
    lines = [
        ",".join([*(repr(float(v)) for v in row), str(label)])
        for row, label in zip(rows, classes, strict=True)
    ]
    heading = ",".join([*(f"p{i}" for i in range(rows.shape[1])), "label"])
    (folder / "calib.csv").write_text("\n".join([heading, *lines]))
    assert run(capsys, *QUANTIZE)[0] == 0
    wanted = (folder / "q.rlx").read_bytes()
    assert run(capsys, *QUANTIZE[:4], "--calib", "calib.csv", "--json")[0] == 0
    assert (folder / "q.rlx").read_bytes() == wanted
    compared = [
        json.loads(run(capsys, "compare", "net.rlx", "q.rlx", "--data", file, "--json")[1])
        for file in ("calib.npz", "calib.csv")
    ]
    assert compared[0] == compared[1]
    status, _, err = run(capsys, *QUANTIZE, "--scale", "1/16")
    assert status == 2
    assert err.startswith("error[RLX-E001]: calib.npz: expected pictures or sounds")


def test_a_model_with_its_own_scales_needs_no_samples(folder, capsys):
    own = QuantParams.per_tensor(0.5, 3)
    graph = Graph("own")
    x = graph.apply(RealQuantize(quant=own), graph.input("x", f32(1, 4)))
    y = graph.apply(NnRelu(), graph.apply(RealDequantize(quant=own), x))
    graph.output(graph.apply(RealDequantize(quant=own), graph.apply(RealQuantize(quant=own), y)))
    save(GraphModule.hir(graph), folder / "own.rlx")
    status, out, err = run(capsys, "quantize", "own.rlx", "-o", "q.rlx")
    assert (status, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "output: largest difference 0, mean 0, cosine 1.000000, SQNR none, on random numbers"
        " (16 samples)",
        "wrote q.rlx with the scales of own.rlx; next: rlx inspect q.rlx",
    ]
    status, out, err = run(capsys, "quantize", "own.rlx", "-o", "q.rlx", "--json")
    assert (status, json.loads(out)["measured_on"]) == (0, "random data")
    np.savez(folder / "own.npz", x=np.float32([[1, 2, 3, 4]]))
    status, out, err = run(capsys, "quantize", "own.rlx", "-o", "q.rlx", "--test", "own.npz")
    assert (status, err) == (0, "")
    assert "SQNR none, on test data\n" in out
    ops = [node.op.name for node in frontends.load(folder / "q.rlx").graph.op_nodes]
    assert ops[0] == "real.quantize"
    assert ops[-1] == "real.dequantize"
    assert all(name.startswith("q.") for name in ops[1:-1])


def test_what_people_read(folder, capsys):
    status, out, _ = run(capsys, *QUANTIZE, "--weights", "auto", "--bits", "5")
    assert status == 0
    assert "correct: 100.00% -> " in out
    assert "on the calibration data (give --test for others)" in out
    assert "most sensitive layers: " in out
    assert "wrote q.rlx" in out
    status, out, _ = run(capsys, "compare", "net.rlx", "q.rlx", "--data", "test.npz")
    assert status == 0
    assert "lowest SQNR: " in out


def test_the_same_command_twice_writes_the_same_bytes(folder, capsys):
    files = []
    for _ in range(2):
        assert run(capsys, *QUANTIZE, "--weights", "4")[0] == 0
        files.append((folder / "q.rlx").read_bytes())
    assert files[0] == files[1]
    assert any(n.op.name == "q.conv2d" for n in frontends.load(folder / "q.rlx").graph.op_nodes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.png", "p.svg"])
def test_pictures(folder, capsys, name):
    pytest.importorskip("matplotlib")
    contents = []
    for _ in range(2):
        assert run(capsys, *QUANTIZE, "--plot", name)[0] == 0
        contents.append((folder / name).read_bytes())
    assert contents[0] == contents[1]
    assert contents[0][:4] in (b"\x89PNG", b"<?xm")
    command = ("compare", "net.rlx", "q.rlx", "--data", "test.npz", "--plot", f"c{name}")
    assert run(capsys, *command)[0] == 0
    assert (folder / f"c{name}").stat().st_size > 1000


def test_a_picture_in_no_folder(folder, capsys):
    pytest.importorskip("matplotlib")
    assert run(capsys, *QUANTIZE)[0] == 0
    command = ("compare", "net.rlx", "q.rlx", "--data", "test.npz", "--plot", "none/c.png")
    status, _, err = run(capsys, *command)
    assert status == 2
    assert "error[RLX-E070]: none/c.png: cannot write the file: no such file or directory" in err


def test_without_matplotlib_nothing_is_computed(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = run(capsys, *QUANTIZE, "--plot", "p.png")
    assert (status, out) == (6, "")
    assert err == (
        "error[RLX-E061]: plot: matplotlib is not installed\n"
        "  try: install it with: pip install 'rlx[plot]'\n"
    )
    assert not (folder / "q.rlx").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            [*QUANTIZE[:-1], "none.npz"],
            2,
            "error[RLX-E001]: calibration data: no file 'none.npz'\n"
            "  try: give a .npy, .npz, .png, .wav or .csv file\n",
        ),
        (
            QUANTIZE[:4],
            5,
            "error[RLX-E030]: graph 'net': 1 value without a scale:\n    core.input %0 'image'",
        ),
        (
            [*QUANTIZE[:4], "--weights", "4"],
            2,
            "error[RLX-E001]: --weights: nothing is calibrated without samples\n"
            "  try: give --calib SAMPLES.npz, or leave it out",
        ),
        (
            [*QUANTIZE, "--max-drop", "much"],
            2,
            "error[RLX-E001]: --max-drop: expected a share from 0 to 1, got 'much'\n"
            "  try: write it as 0.5% or 0.005\n",
        ),
        (
            [*QUANTIZE, "--bits", "4"],
            2,
            "error[RLX-E001]: mean bits and flash choose widths, but every weight is to have 8"
            " bits\n  try: use the weights 'auto'\n",
        ),
        (
            [*QUANTIZE, "--plot", "p.gif"],
            2,
            "error[RLX-E001]: a picture cannot be written as 'p.gif'\n"
            "  try: end the name in .png or .svg\n",
        ),
        (
            [*QUANTIZE, "--weights", "auto", "--flash", "3"],
            3,
            "error[RLX-E112]: weights: with the fewest bits everywhere",
        ),
        (
            [*QUANTIZE, "--weights", "2", "--max-drop", "0.1%"],
            3,
            "error[RLX-E112]: graph 'net': the integer network loses ",
        ),
    ],
)  # fmt: skip
def test_mistakes(folder, capsys, arguments, status, message):
    found, out, err = run(capsys, *arguments)
    assert (found, out) == (status, "")
    assert err.startswith(message)
    assert not (folder / "q.rlx").exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_samples(folder):
    """Ten times the samples: batches, histograms and moments are as large as before."""
    import tracemalloc

    from rlx.calibration.quantize import quantize_graph
    from rlx.calibration.settings import Settings

    graph, peaks = float_network(), []
    for count in (300, 3000):
        path = folder / f"{count}.npz"
        np.savez(path, x=samples(count))
        tracemalloc.start()
        quantize_graph(
            graph, path, settings=Settings(weights="4", min_sqnr=-99.0, min_agreement=0.0)
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        path.unlink()
    assert peaks[1] < 1.1 * peaks[0]


def test_float_operators_between_integer_ones(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unary.tflite").write_bytes(island("LEAKY_RELU", 1, alpha=0.1))
    (tmp_path / "binary.tflite").write_bytes(island("ADD", 2))
    assert run(capsys, "emit", "unary.tflite", "--target", "cortexm", "-o", "out")[0] == 0
    assert run(capsys, "verify", "out", "--with", "host")[0] == 0
    status, _, err = run(capsys, "emit", "binary.tflite", "--target", "cortexm", "-o", "sum")
    assert status == 5
    assert "try: it holds its own scales: rlx quantize binary.tflite -o binary.q.rlx" in err
    for name in ("unary", "binary"):
        command = ("quantize", f"{name}.tflite", "-o", f"{name}.q.rlx")
        assert run(capsys, *command, "--min-sqnr", "0")[0] == 0
        out = f"{name}_out"
        assert run(capsys, "emit", f"{name}.q.rlx", "--target", "cortexm", "-o", out)[0] == 0
        assert run(capsys, "verify", out, "--with", "host")[0] == 0


def island(code, count, **options):
    """Return an int8 network whose operator ``code`` on ``count`` operands is in float."""
    model, quant = TfliteBuilder(), {"scale": 0.0625, "zero_point": 3}
    x = model.tensor([1, 8], name="x", **quant)
    floats = []
    for _ in range(count):
        weights = np.random.default_rng(len(floats)).integers(-127, 128, (8, 8)).astype(np.int8)
        y, z = model.tensor([1, 8], **quant), model.tensor([1, 8], "float32")
        model.operator("FULLY_CONNECTED", [x, model.constant(weights, scale=0.004), -1], [y])
        model.operator("DEQUANTIZE", [y], [z])
        floats.append(z)
    y, z = model.tensor([1, 8], "float32"), model.tensor([1, 8], scale=0.1, zero_point=-20)
    model.operator(code, floats, [y], **options)
    model.operator("QUANTIZE", [y], [z])
    return model.build([x], [z])
