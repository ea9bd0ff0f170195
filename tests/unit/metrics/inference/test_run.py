"""``module.run``: what users hand over, and what they get."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QReshape
from rlx.ops.real import RealAdd, RealDequantize
from rlx.runtime import CompiledGraph
from rlx.support.errors import TargetNotFoundError, UsageError
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples/digits/digits.rlx"
FLOAT = ROOT / "examples/mnist/tinyconv_float.rlx"
HALF = QuantParams.per_tensor(0.5, 3)


@pytest.fixture(scope="module")
def digits():
    return rlx.load(DIGITS)


@pytest.fixture(scope="module")
def images():
    """Images of random integers, as the network takes them."""
    random = np.random.default_rng(1)
    return random.integers(-128, 127, (70, 8, 8, 1), np.int8, endpoint=True)


def reference(module, images):
    graph = module.graph
    return np.concatenate([evaluate(graph, {"image": image[np.newaxis]})[0] for image in images])


def real(images):
    """Return the floats that the network's input represents."""
    return (images.astype(np.float64) + 128) * 0.003921568859368563


def two_inputs():
    graph = Graph("sum")
    a, b = graph.input("a", f32(1, 3)), graph.input("b", f32(1, 3))
    total = graph.apply(RealAdd(), a, b, name="total")
    graph.output(total, a, names=["total", "same"])
    return graph


def test_a_batch_gives_the_integers_of_the_reference(digits, images):
    result = digits.run(images)
    assert len(result) == 70  # more than run together
    assert result.codes.dtype == np.int8
    np.testing.assert_array_equal(result.codes, reference(digits, images))
    np.testing.assert_array_equal(result.values, (result.codes.astype(float) + 128) / 256)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_numbers_are_quantized_by_the_scale_of_the_input(digits, images, dtype):
    result = digits.run(real(images).astype(dtype))
    np.testing.assert_array_equal(result.codes, reference(digits, images))


@pytest.mark.parametrize("shape", [(8, 8, 1), (1, 8, 8, 1), (8, 8), (64,), (1, 64)])
def test_one_sample_is_a_batch_of_one(digits, images, shape):
    result = digits.run(images[5].reshape(shape))
    assert len(result) == 1
    np.testing.assert_array_equal(result.codes, reference(digits, images[5:6]))


def test_lists_have_no_element_type_but_that_of_the_input(digits, images):
    result = digits.run(images[:2, :, :, 0].tolist())
    np.testing.assert_array_equal(result.codes, reference(digits, images[:2]))
    values = rlx.run(FLOAT, [[[0] * 28] * 28]).values
    np.testing.assert_array_equal(values, rlx.run(FLOAT, np.zeros((1, 28, 28, 1))).values)


def test_a_float_network_gives_what_the_reference_gives():
    module, random = rlx.load(FLOAT), np.random.default_rng(2)
    images = random.random((40, 28, 28, 1), np.float32)
    (image,) = module.graph.inputs
    wanted = [evaluate(module.graph, {image.name: one[np.newaxis]})[0] for one in images]
    np.testing.assert_allclose(module.run(images).values, np.concatenate(wanted), atol=1e-4)


def test_several_inputs_are_given_by_name_and_outputs_are_read_by_name():
    result = rlx.run(two_inputs(), {"a": [1, 2, 3], "b": [[0.5, 0, -1]]})
    assert list(result.outputs) == ["total", "same"]
    assert result.outputs["total"].values.tolist() == [[1.5, 2, 2]]
    assert result.outputs["same"].values.tolist() == [[1, 2, 3]]
    with raises(UsageError):
        _ = result.values


def test_an_output_that_no_input_changes_is_given_for_every_sample():
    graph = Graph("fixed")
    graph.output(graph.input("x", f32(1, 2)))
    two = graph.constant(np.ones((1, 2), np.float32))
    graph.output(*graph.outputs, graph.apply(RealAdd(), two, two), names=["x", "two"])
    result = rlx.run(graph, np.zeros((3, 2), np.float32))
    assert result.outputs["two"].values.tolist() == [[2, 2]] * 3


def test_files_come_with_labels(digits, images, tmp_path):
    found = digits.run(images).codes.argmax(axis=1)
    labels = found.copy()
    labels[:7] = (labels[:7] + 1) % 10
    np.savez(tmp_path / "some.npz", x=images, y=labels)
    result = digits.run(tmp_path / "some.npz")
    accuracy = result.accuracy()
    assert (accuracy.correct, accuracy.samples, accuracy.top1) == (63, 70, 0.9)
    assert accuracy.confusion[labels[0], found[0]] >= 1
    assert accuracy.confusion.sum() == 70
    assert repr(accuracy) == "<Accuracy: 63 of 70 correct, 90.00 %>"


def test_the_best_classes_come_first_and_of_equal_ones_the_first():
    graph = Graph("same")
    x = graph.input("x", i8(1, 2, 2, quant=HALF))
    graph.output(graph.apply(QReshape(shape=(1, 4)), x, quant=HALF))
    result = rlx.run(graph, np.array([[[3, 7], [7, -128]]], np.int8))
    best = result.top(3, labels=["a", "b", "c", "d"])
    assert [tuple(one) for one in best[0]] == [(1, 2.0, "b"), (2, 2.0, "c"), (0, 0.0, "a")]
    assert [one.label for one in result.top(9)[0]] == ["1", "2", "0", "3"]
    with raises(UsageError):
        result.top(labels=["a", "b"])


def test_a_network_of_real_outputs_has_values_only():
    graph = Graph("reals")
    graph.output(graph.apply(RealDequantize(quant=HALF), graph.input("x", i8(1, 2))))
    result = rlx.run(graph, np.array([3, 5], np.int8))
    assert result.values.tolist() == [[0, 1]]
    with raises(UsageError):
        _ = result.codes


@pytest.mark.parametrize(("shape", "data"), [((1, 2, 3), 1.0), ((1, 6), 2.0)])
def test_a_reconstruction_has_no_classes(shape, data):
    graph = Graph("same")
    x = graph.input("x", f32(*shape))
    graph.output(graph.apply(RealAdd(), x, x))
    result = rlx.run(graph, np.full((4, *shape), data))
    assert not result.has_classes
    assert (result.values == 2 * data).all()
    with raises(UsageError):
        result.top()


@pytest.mark.parametrize(
    "data",
    [
        np.zeros((2, 8, 8), np.uint8),
        np.zeros((2, 9, 8)),
        np.zeros((0, 8, 8, 1)),
        [[1] * 64, [2]],
        [[200] * 64],
        np.full((1, 8, 8, 1), np.nan),
        {"picture": np.zeros((8, 8))},
        "nothing.npz",
    ],
)
def test_data_that_do_not_fit_are_refused(digits, data):
    with raises(UsageError):
        digits.run(data)


def test_one_array_is_not_enough_for_two_inputs():
    with raises(UsageError):
        rlx.run(two_inputs(), [1, 2, 3])


def test_a_notebook_shows_the_classes(digits, images):
    result = digits.run(images)
    best = result.top(1)[0][0].label
    assert repr(result).startswith(
        f"<Result of 70 samples: probabilities: i8[1, 10]; classes {best}"
    )
    html = result._repr_html_()
    assert "70 samples" in html
    assert html.count("<tr>") == 9


def test_names_of_outputs_are_escaped():
    graph = Graph("hostile")
    x = graph.input("x", f32(1, 2))
    graph.output(x, x, names=["<script>", "b"])
    assert "<script>" not in rlx.run(graph, [1.0, 2.0])._repr_html_()


def test_samples_run_together_as_asked(monkeypatch):
    graph = rlx.trace("double", lambda x: x * 2.0, rlx.f32(1, 2))
    sizes = []
    run_raw = CompiledGraph.run_raw

    def recorded(compiled, inputs):
        sizes.append(len(inputs["x"]))
        return run_raw(compiled, inputs)

    monkeypatch.setattr(CompiledGraph, "run_raw", recorded)
    data = np.arange(10.0).reshape(5, 2)
    for batch in (2, 1):
        assert rlx.run(graph, data, batch=batch).values.tolist() == (2 * data).tolist()
    assert sizes == [2, 2, 1, 1, 1, 1, 1, 1]


def test_samples_that_are_mixed_do_not_run_together():
    graph = rlx.trace("total", lambda x: x.sum(0), rlx.f32(1, 2))
    assert rlx.run(graph, np.ones((3, 1, 2)), batch=1).values.tolist() == [[1, 1]] * 3
    with raises(UsageError):
        rlx.run(graph, np.ones((3, 1, 2)), batch=2)


def test_backends_are_chosen_by_name():
    graph = rlx.trace("double", lambda x: x * 2.0, rlx.f32(1, 2))
    assert rlx.run(graph, np.ones((1, 2)), backend="numpy").values.tolist() == [[2, 2]]
    with pytest.raises(TargetNotFoundError, match=r"^no backend is called 'none'"):
        rlx.run(graph, np.ones((1, 2)), backend="none", device="tpu")
