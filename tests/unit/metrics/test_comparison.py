"""``rlx.compare``: what can be compared, what is found, and criteria."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, QuantParams, f32, i8, i32
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.metrics.comparison import PRESETS, STRICT, Criteria
from rlx.metrics.node_match import matched_nodes
from rlx.ops import real
from rlx.ops.q import QClamp
from rlx.support.errors import DifferenceError, UsageError
from support.messages import raises
from support.networks.exported_motion import FRAMES, motion_files, motion_model
from support.networks.quantized_net import float_network, samples

NET = float_network()
DATA = samples(6, seed=3)


def line(offset=0.0, *, names=("y",), scale=1.0):
    """x * scale + offset, without names of nodes."""
    graph = Graph("line")
    x = graph.input("x", f32(1, 4))
    product = graph.apply(real.RealMul(), x, graph.constant(np.float32(scale)))
    total = graph.apply(real.RealAdd(), product, graph.constant(np.float32(offset)))
    graph.output(*[total] * len(names), names=list(names))
    return graph


def figures(a, b):
    """Figures of two arrays, each by its definition."""
    difference = np.abs(a.astype(np.float64) - b)
    lengths = np.linalg.norm(a) * np.linalg.norm(b.astype(np.float64))
    return {
        "max": difference.max(),
        "relative": (difference / np.maximum(np.abs(a), 1e-12)).max(),
        "mean": difference.mean(),
        "cosine": float(np.vdot(a, b)) / lengths,
        "sqnr_db": 10 * math.log10((a.astype(np.float64) ** 2).sum() / (difference**2).sum()),
        "unequal": int((a != b).sum()),
        "worst": np.unravel_index(difference.argmax(), a.shape),
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_its_definition(seed):
    random = np.random.default_rng(seed)
    a = random.normal(size=(70, 3, 5))
    b = np.where(random.random(a.shape) < 0.3, a, a + random.normal(size=a.shape) * 0.1)
    found = rlx.compare({"y": a}, {"y": b}).outputs[0].closeness
    wanted = figures(a, b)
    assert found.worst.index == wanted.pop("worst")
    assert (found.worst.reference, found.worst.found) == (
        a[found.worst.index],
        b[found.worst.index],
    )
    got = found.details()
    assert {k: pytest.approx(v, rel=1e-12) for k, v in wanted.items()} == {
        k: got[k] for k in wanted
    }


def test_the_worst_index_counts_samples_of_all_batches():
    count = 100  # more than run together
    x = np.zeros((count, 4), np.float32)
    x[77, 2] = 1.0
    found = rlx.compare(line(), line(scale=1.5), x)
    assert found.output.worst.index == (77, 2)
    assert (found.output.worst.reference, found.output.worst.found) == (1.0, 1.5)
    assert found.output.unequal == 1


def test_anything_that_runs_can_be_compared(tmp_path):
    save(GraphModule.hir(NET), tmp_path / "net.rlx")
    result = rlx.run(NET, DATA)

    @rlx.model(rlx.f32(1, 4))
    def double(x):
        return x + x

    same = [
        str(tmp_path / "net.rlx"),
        tmp_path / "net.rlx",
        GraphModule.hir(NET),
        rlx.Session().compile(NET),
        result,
        {name: output.array for name, output in result.outputs.items()},
    ]
    for one in same:
        found = rlx.compare(NET, one, DATA, criteria=STRICT)
        assert found.passed
        assert found.samples == 6
        assert rlx.compare(one, NET, DATA).output.maximum <= 1e-6
    x = np.ones((3, 4), np.float32)
    assert rlx.compare(double, {"y": 2 * x}, x).require("exact").output.exact
    builder = rlx.trace("double", lambda x: x * 2.0, rlx.f32(1, 4))
    assert rlx.compare(double, builder, x).require(STRICT).output.exact


def test_arrays_alone_need_no_data():
    assert rlx.compare({"y": [1, 2]}, {"y": [1, 2]}).output.exact
    with raises(UsageError):
        rlx.compare(NET, {"y": [1, 2]})


def test_nodes_without_names_are_matched_by_the_order_of_their_ops():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = rlx.compare(line(1.0), line(2.0), x)
    assert [(layer.op, layer.closeness.maximum) for layer in found.layers] == [
        ("real.mul", 0.0),
        ("real.add", 1.0),
    ]
    assert rlx.compare(line(1.0), line(2.0), x, nodes=False).layers == ()
    assert rlx.compare(rlx.Session().compile(line()), line(), x).layers == ()


def test_named_and_unnamed_nodes_are_in_order():
    graphs = []
    for clamp in (False, True):
        graph = Graph("g")
        x = graph.input("x", f32(1, 4))
        y = graph.apply(real.RealNeg(), graph.apply(real.RealExp(), x), name="negative")
        if clamp:
            y = graph.apply(real.RealSqrt(), y)
        graph.output(graph.apply(real.RealAbs(), y))
        graphs.append(graph)
    names = [layer.op for layer in matched_nodes(*graphs)]
    assert names == ["real.exp", "real.neg", "real.abs"]


def test_a_node_is_matched_only_with_one_of_its_shape():
    graphs = []
    for shape in ((1, 4), (1, 2)):
        graph = Graph("g")
        graph.output(graph.apply(real.RealExp(), graph.input("x", f32(*shape))))
        graphs.append(graph)
    assert matched_nodes(*graphs) == []


def test_nan_and_infinity_are_counted_and_in_no_average():
    a = np.array([[1.0, np.nan, 3.0], [np.inf, 5.0, 6.0]])
    b = np.array([[1.0, 2.0, np.inf], [np.inf, 5.5, 6.0]])
    found = rlx.compare({"y": a}, {"y": b}, criteria=Criteria(max_abs=1.0))
    close = found.output
    assert close.nonfinite == (2, 2)
    assert close.first_nonfinite.index == (0, 1)
    assert not close.exact
    assert (close.maximum, close.mean, close.unequal) == (0.5, 0.5 / 3, 3)
    assert not found.passed
    assert "outputs with NaN or infinity 1" in repr(found)
    with raises(DifferenceError):
        found.require()
    details = json.loads(json.dumps(found.as_json(), allow_nan=False))["outputs"][0]
    assert details["first_nonfinite"] == {"index": [0, 1], "first": "nan", "second": 2.0}
    assert details["nonfinite"] == {"first": 2, "second": 2}


def test_equal_infinities_are_no_pass_either():
    assert not rlx.compare({"y": [np.inf]}, {"y": [np.inf]}, criteria="exact").passed


def test_whole_numbers_of_64_bits_are_compared_as_they_are():
    big = np.array([2**53], np.int64)
    assert rlx.compare({"y": big}, {"y": big + 1}).output.unequal == 1


def test_integers_of_a_network_are_compared_with_integers_from_elsewhere():
    graph = Graph("clamp")
    quant = QuantParams.per_tensor(0.5, 3)
    x = graph.input("x", i8(1, 4).with_quant(quant))
    graph.output(graph.apply(QClamp(low=0, high=9), x), names=["y"])
    codes = np.array([[-3, 2, 8, 77]], np.int8)
    wanted = np.clip(codes, 0, 9)
    assert rlx.compare(graph, {"y": wanted}, codes, criteria="exact").passed
    reals = (wanted.astype(np.float64) - 3) * 0.5
    assert rlx.compare(graph, {"y": reals}, codes, criteria="exact").passed
    found = rlx.compare(graph, {"y": wanted + np.int8(1)}, codes, criteria="exact")
    assert (found.output.unequal, found.output.maximum, found.passed) == (4, 0.5, False)


def test_every_output_is_compared_by_name():
    one, two = line(names=("a", "b")), line(names=("b", "a"))
    found = rlx.compare(one, two, np.ones((2, 4), np.float32))
    assert [o.name for o in found.outputs] == ["a", "b"]
    assert (
        rlx.compare(one, {"b": np.ones((2, 4))}, np.ones((2, 4), np.float32)).outputs[0].name == "b"
    )


@pytest.mark.parametrize(
    "other",
    [
        line(names=("y", "z")),
        {"q": np.ones((2, 4)), "r": np.ones((2, 4))},
        {"y": np.ones((2, 5))},
        {"y": np.ones((3, 4))},
        {"y": np.float32(1)},
        {},
    ],
)
def test_what_cannot_be_compared(other):
    with raises(UsageError):
        rlx.compare(line(), other, np.ones((2, 4), np.float32))


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(max_abs=0.4),
        Criteria(max_rel=0.4),
        Criteria(cosine=0.99),
        Criteria(sqnr=20.0),
        Criteria(exact=True),
    ],
)
def test_each_criterion_is_judged_with_its_figure(criteria):
    a, b = {"y": [[1.0, 2.0]]}, {"y": [[1.5, 2.0]]}
    found = rlx.compare(a, b, criteria=criteria)
    assert found.passed is False
    with raises(DifferenceError):
        found.require()
    loose = Criteria(max_abs=0.5, max_rel=0.5, cosine=0.98, sqnr=13.0)
    assert found.require(loose).criteria == loose
    assert found.judged(loose).passed


def test_presets():
    assert {name: str(one) for name, one in PRESETS.items()} == {
        "exact": "exact",
        "strict": "max_abs <= 0.0001, max_rel <= 0.001, cosine >= 0.9999",
        "half": "max_abs <= 0.05, max_rel <= 0.05, cosine >= 0.999",
    }


def test_criteria_that_make_no_sense():
    with raises(UsageError):
        Criteria()
    with raises(UsageError):
        Criteria(max_abs=-1)
    with raises(UsageError):
        Criteria(cosine=math.nan)
    with raises(UsageError):
        rlx.compare({"y": [1]}, {"y": [1]}, criteria="strikt")
    with raises(UsageError):
        rlx.compare({"y": [1]}, {"y": [1]}).require()


def test_without_criteria_nothing_is_judged():
    found = rlx.compare({"y": [1]}, {"y": [2]})
    assert found.passed is None
    assert found.as_json()["passed"] is None


def test_what_people_see():
    found = rlx.compare(NET, NET, DATA, criteria="exact")
    text = str(found)
    assert text.startswith("outputs\noutput")
    assert "conv1" in text
    assert "passed yes" in repr(found)
    assert "\n" not in repr(found)
    html = found._repr_html_()
    assert html.count("<table") >= 3
    assert "conv1" in html


def test_each_layer_is_in_the_table_once_by_its_one_name(tmp_path):
    files = motion_files(tmp_path, 0.0, 0.2)
    found = rlx.compare(*map(rlx.load, files), FRAMES)
    assert [(layer.name, layer.op) for layer in found.layers] == [
        ("motion_quantize", "real.quantize"),
        ("motion_transpose", "q.transpose"),
        ("node_Conv_30", "q.conv2d"),
        ("node_max_pool1d", "q.max_pool2d"),
        ("node_Conv_31", "q.conv2d"),
        ("node_max_pool1d_1", "q.max_pool2d"),
        ("node_view", "q.reshape"),
        ("node_linear", "q.dense"),
        ("node_softmax", "q.softmax"),
        ("node_softmax_dequantize", "real.dequantize"),
    ]
    rows = found.tables()[1].rows
    assert [row[0] for row in rows] == [layer.name for layer in found.layers]
    differing = {layer.name for layer in found.layers if not layer.closeness.exact}
    worst = [layer.name for layer in found.worst]
    assert len(set(worst)) == len(worst) == 3
    assert set(worst) < differing - {"node_view"}


def test_a_float_network_and_its_integers_share_the_names(tmp_path):
    path = tmp_path / "motion.onnx"
    path.write_bytes(motion_model())
    (quantized,) = motion_files(tmp_path, 0.0)
    found = rlx.compare(rlx.load(path), rlx.load(quantized), FRAMES)
    assert [row[0] for row in found.tables()[1].rows] == [
        "motion_transpose", "node_Conv_30", "node_max_pool1d", "node_Conv_31",
        "node_max_pool1d_1", "node_view", "node_linear", "node_softmax",
    ]  # fmt: skip


def test_integers_without_a_scale_are_matched_too():
    graph = Graph("top")
    x = graph.input("x", f32(1, 4))
    graph.output(graph.apply(real.RealCast(dtype=i32().dtype), x, name="whole"))
    (layer,) = rlx.compare(graph, graph, np.ones((1, 4), np.float32)).layers
    assert (layer.op, layer.closeness.exact) == ("real.cast", True)


def test_a_compiled_integer_network_keeps_every_bit(tmp_path):
    folder = Path(__file__).parents[3] / "examples" / "digits"
    digits = rlx.load(folder / "digits.rlx")
    with np.load(folder / "samples.npz") as stored:
        images, labels = stored["image"][:20], stored["labels"][:20]
    compiled = rlx.Session().compile(digits)
    np.save(tmp_path / "labels.npy", labels)
    by_path = rlx.compare(digits, compiled, images, labels=tmp_path / "labels.npy")
    found = rlx.compare(digits, compiled, images, labels=labels)
    assert by_path.top1 == found.top1
    assert found.require("exact").output.count == 200
    assert found.agreement == 1.0
    assert found.top1[0] == found.top1[1] == rlx.run(digits, images).accuracy(labels).top1


def test_half_precision_keeps_its_criteria():
    half = rlx.Session().compile(
        NET, rlx.CompileOptions(precision=rlx.PrecisionPolicy.named("f16"))
    )
    found = rlx.compare(NET, half, DATA).require(Criteria(max_abs=5e-2, cosine=0.999))
    assert not found.output.exact
    with raises(DifferenceError):
        found.require("exact")


def test_states_are_inputs_of_a_sample():
    graph = Graph("counter")
    total = graph.state("total", f32(1, 4))
    added = graph.apply(real.RealAdd(), total, graph.input("x", f32(1, 4)), name="added")
    graph.output(added, graph.apply(real.RealExp(), added), names=["total", "y"])
    random = np.random.default_rng(0)
    data = {name: random.normal(size=(3, 4)).astype(np.float32) for name in ("x", "total")}
    result = rlx.run(graph, data)
    np.testing.assert_array_equal(result.outputs["total"].array, data["x"] + data["total"])
    compiled = rlx.Session().compile(graph)
    compiled.bind_state("total", np.full((1, 4), 7.0))
    found = rlx.compare(graph, compiled, data, criteria="strict")
    assert found.passed
    assert [o.name for o in found.outputs] == ["total", "y"]
    assert compiled.read_state("total").tolist() == [[7.0] * 4]
    assert rlx.compare(graph, graph, data).layers[0].name == "added"


def test_samples_without_states_are_the_steps_of_a_sequence():
    graph = Graph("counter")
    total = graph.state("total", f32(1, 2), initial=3)
    added = graph.apply(real.RealAdd(), total, graph.input("x", f32(1, 2)))
    graph.output(added, total, names=["total", "y"])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    result = rlx.run(graph, x)
    assert list(result.outputs) == ["y"]
    assert result.outputs["y"].array.tolist() == [[3, 3], [3, 4], [5, 7]]


def test_integers_under_another_name_are_those_of_the_output():
    graph = Graph("codes")
    x = graph.input("x", i8(1, 3).with_quant(QuantParams.per_tensor(0.5, -3)))
    graph.output(graph.apply(QClamp(low=-100, high=100), x), names=["y"])
    codes = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    found = rlx.compare(graph, {"from elsewhere": codes}, {"x": codes})
    found.require("exact")
    assert found.outputs[0].closeness.maximum == 0


def test_what_is_no_network_is_refused():
    with raises(UsageError):
        rlx.compare(lambda x: x, {"y": np.zeros((1, 2))})


def test_tables_relate_differences_to_the_largest_value():
    a, b = np.array([[0.0, -2.0]]), np.array([[0.5, -3.0]])
    closeness = rlx.compare({"y": a}, {"y": b}).outputs[0].closeness
    assert closeness.relative == 0.5 / 1e-12
    assert closeness.relative_to_largest == 0.5
    zeros = rlx.compare({"y": a * 0}, {"y": b}).outputs[0].closeness
    assert zeros.relative_to_largest is None


def test_layers_with_scaled_channels_are_named_and_not_compared():
    equalized, plain = (
        rlx.quantize(NET, samples(48, 1), equalize=on, min_sqnr=-np.inf, min_agreement=0.0)
        for on in (True, False)
    )
    comparison = rlx.compare(NET, equalized, DATA)
    compared = {layer.name for layer in comparison.layers}
    every = {layer.name for layer in rlx.compare(NET, plain, DATA).layers}
    assert comparison.equalized
    assert compared
    assert compared | set(comparison.equalized) == every
    assert not compared & set(comparison.equalized)
    assert min(layer.closeness.sqnr_db for layer in comparison.layers) > 20
    assert "equalized layers, not compared" in comparison.figures()
    # Both have the same scaled channels.
    assert rlx.compare(equalized, equalized, DATA).equalized == ()
    assert {layer.name for layer in rlx.compare(equalized, equalized, DATA).layers} >= every


def test_figures_have_short_texts():
    a, b = np.array([[0.0, -2.0]]), np.array([[0.5, -3.0]])
    (output,) = rlx.compare({"y": a}, {"y": b}).outputs
    figures = "SQNR 5.1 dB, largest difference 1, 2 of 2 unequal"
    assert repr(output) == f"<output 'y': {figures}>"
    assert repr(output.closeness) == f"<Closeness: {figures}>"
    (equal,) = rlx.compare({"y": a}, {"y": a}).outputs
    assert repr(equal) == "<output 'y': equal>"
    (bad,) = rlx.compare({"y": a}, {"y": b * np.inf}).outputs
    assert repr(bad).endswith("2 of 2 unequal, 2 values NaN or infinite>")
    judged = rlx.compare({"y": a}, {"y": b}).judged("exact").outputs[0]
    assert repr(judged) == f"<output 'y': {figures}; {judged.failures[0]}>"
    layer = rlx.compare(NET, NET, DATA).layers[0]
    assert repr(layer) == f"<{layer.op} {layer.name!r}: equal>"
