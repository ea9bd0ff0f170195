"""Golden files: what a changed weight, exchanged classes and another network look like."""

import numpy as np
import pytest

from rlx import frontends
from rlx.driver.differences import difference_of
from rlx.support.errors import DifferenceError, GoldenWarning, UsageError
from rlx.testing import Networks
from rlx.testing.golden import Golden, first_layer
from support import ROOT
from support.networks.exported_motion import motion_files

MODEL = ROOT / "examples/digits/digits.tflite"


def constant(shape):
    """Return the constant of a shape in the network, and its node's scales."""
    for node in frontends.load(MODEL).graph.nodes:
        value = getattr(node.op, "value", None)
        if value is not None and value.shape == shape:
            return value, node.result.type.quant
    raise AssertionError(shape)


def changed(path, *pairs):
    """Write the network with other bytes for some arrays."""
    content = MODEL.read_bytes()
    for old, new in pairs:
        assert content.count(old.tobytes()) == 1
        content = content.replace(old.tobytes(), new.tobytes())
    path.write_bytes(content)


@pytest.fixture
def golden(tmp_path):
    """Results of the network on random frames, as ``pytest --rlx-record`` writes them."""
    path = tmp_path / "digits.npz"
    Networks({}, tmp_path, record=True).load(MODEL).require_golden(path)
    return path


def refusal(tmp_path, model, golden):
    """Return the error of a network that does not give the golden results."""
    with pytest.raises(DifferenceError) as caught:
        Networks({}, tmp_path).load(model).require_golden(golden)
    return caught


def test_the_network_gives_its_own_results(tmp_path, golden):
    Networks({}, tmp_path).load(MODEL).require_golden(golden)
    assert golden.stat().st_size < 4096


@pytest.mark.parametrize(("inputs", "kind"), [([3, 3], "inputs"), ([3, 4], "outputs")])
def test_results_that_are_the_same_in_all_frames_are_warned_of(tmp_path, inputs, kind):
    alike = Golden({"x": np.array(inputs)}, {"y": np.zeros((2, 3), np.int8)}, ())
    with pytest.warns(GoldenWarning, match=f"all 2 frames have the same {kind}, so a network"):
        alike.check_variety(tmp_path / "net.npz")


@pytest.mark.parametrize("outputs", [[[1, 2]], [[1, 2], [1, 3]]])
def test_results_that_differ_and_single_frames_are_not_warned_of(tmp_path, outputs):
    Golden({"x": np.zeros(len(outputs))}, {"y": np.array(outputs)}, ()).check_variety(tmp_path)


def test_recording_the_same_frame_again_and_again_is_warned_of(tmp_path):
    path, frames = tmp_path / "digits.npz", np.zeros((3, 1, 8, 8, 1), np.int8)
    network = Networks({}, tmp_path, record=True).load(MODEL)
    with pytest.warns(GoldenWarning, match=f"{path}: all 3 frames have the same inputs"):
        network.require_golden(path, {"x": frames})
    with pytest.warns(GoldenWarning, match=f"{path}: all 3 frames have the same inputs"):
        Networks({}, tmp_path).load(MODEL).require_golden(path)


def test_a_changed_weight_names_values_and_the_first_layer(tmp_path, golden):
    weights, _ = constant((16, 3, 3, 8))
    other = weights.copy()
    other[3, 1, 1, 2] ^= 0x55
    changed(tmp_path / "new.tflite", (weights, other))
    caught = refusal(tmp_path, tmp_path / "new.tflite", golden)
    lines = caught.value.message.split("\n")
    assert lines[0].startswith("output 'probabilities': ")
    assert " of 16 frames differ, first in frame " in lines[0]
    assert lines[1].startswith("- expected ")
    assert lines[2].startswith("+ got      ")
    assert lines[3] == "first layer that differs: 3 of 6, conv2 (q.conv2d)"
    assert f"rlx diff OLD {tmp_path / 'new.tflite'}" in caught.value.hint
    assert "pytest --rlx-record" in caught.value.hint
    inside = [str(entry.path) for entry in caught.traceback[1:]]
    assert not [path for path in inside if not path.endswith(("networks.py", "test_golden.py"))]


def test_a_layer_has_the_name_of_its_node_in_an_onnx_file(tmp_path):
    old, new = motion_files(tmp_path, 0.0, 0.2)
    path = tmp_path / "motion.npz"
    Networks({}, tmp_path, record=True).load(old).require_golden(path)
    assert "node_Conv_31 (q.conv2d)" in [name for name, _ in Golden.read(path).layers]
    message = refusal(tmp_path, new, path).value.message
    assert message.endswith("first layer that differs: 10 of 18, node_Conv_31 (q.conv2d)")


def test_exchanged_classes_are_called_so(tmp_path, golden):
    order = [1, 0, *range(2, 10)]
    weights, quant = constant((10, 256))
    bias, _ = constant((10,))
    scales = np.array(quant.scale, np.float32)
    pairs = [(array, array[order]) for array in (weights, bias, scales)]
    changed(tmp_path / "new.tflite", *pairs)
    message = refusal(tmp_path, tmp_path / "new.tflite", golden).value.message
    assert "\nelements 0 and 1 are exchanged in every frame" in message
    assert message.endswith("first layer that differs: 5 of 6, dense (q.dense)")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"b": np.zeros((2, 3), np.int8)}, "expected the outputs a, got b"),
        ({"a": np.zeros((2, 4), np.int8)}, "output 'a': expected int8[2, 3], got int8[2, 4]"),
        ({"a": np.zeros((2, 3), np.int16)}, "output 'a': expected int8[2, 3], got int16[2, 3]"),
    ],
)
def test_other_outputs_are_refused(tmp_path, outputs, message):
    old = Golden({}, {"a": np.zeros((2, 3), np.int8)}, (("q.dense", "1"),))
    new = Golden({}, outputs, (("q.dense", "1"), ("q.reshape", "2")))
    with pytest.raises(DifferenceError) as caught:
        old.require(new, model=tmp_path / "net.rlx", path=tmp_path / "net.npz")
    assert caught.value.message.startswith(message)


def test_the_first_layer_is_the_first_with_other_results():
    old = (("a (q.dense)", "1"), ("add (q.add)", "2"), ("softmax (q.softmax)", "3"))
    for new, text in (
        (old, "no layer differs"),
        (old[:2], "the layers are equal, but there are 2 in place of 3"),
        ((("b (q.dense)", "1"), *old[1:]), "no layer differs"),
        ((old[0], ("mul (q.mul)", "4"), old[2]),
         "first layer that differs: 2 of 3, mul (q.mul), which was add (q.add)"),
    ):  # fmt: skip
        assert first_layer(old, new) == text


@pytest.mark.parametrize("content", [None, {"x": np.zeros(3)}])
def test_what_is_no_golden_file_is_refused(tmp_path, content):
    path = tmp_path / "file.npz"
    if content is not None:
        np.savez(path, **content)
    with pytest.raises(UsageError, match="golden file\n  hint: pytest --rlx-record writes"):
        Networks({}, tmp_path).load(MODEL).require_golden(path)


def test_differences_as_text():
    expected = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    assert difference_of(expected, expected.copy()) is None
    other = expected.copy()
    other[1, 2, 3] = -1
    first, *values = difference_of(expected, other).split("\n")
    assert first == "1 of 2 frames differ, first in frame 1 at [2, 3]: expected 23, got -1"
    assert values == [
        "- expected ...   14   15   16   17   18   19   20   21   22   23",
        "+ got      ...   14   15   16   17   18   19   20   21   22   -1",
    ]
    rolled = np.roll(expected, 1, axis=2)
    assert difference_of(expected, rolled).endswith(
        "the elements have another order in every frame: 0 is at 1, 1 is at 2, 2 is at 3, 3 is at"
        " 0, 4 is at 5, 5 is at 6, 6 is at 7, 7 is at 4, 8 is at 9, 9 is at 10, 10 is at 11, 11 is"
        " at 8"
    )


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        # One column of two equal constants changes in one frame.
        ([[0.0, 0.0, 0.5]] * 3, [[0.0, 0.0, 0.5], [0.0, 0.25, 0.5], [0.0, 0.0, 0.5]]),
        # A column takes the values of another, which stays.
        ([[1, 2, 3], [4, 5, 6]], [[1, 1, 3], [4, 4, 6]]),
        # Either of two equal columns may be the one that moved.
        ([[1, 1, 3], [4, 4, 6]], [[3, 1, 1], [6, 4, 4]]),
        # The order changes in one frame only.
        ([[1, 2], [3, 4]], [[2, 1], [3, 4]]),
    ],
)
def test_other_values_are_not_called_another_order(expected, actual):
    text = difference_of(np.array(expected), np.array(actual))
    assert len(text.split("\n")) == 3


def test_equal_columns_that_stay_do_not_hide_exchanged_ones():
    expected = np.array([[0, 1, 2, 0], [0, 3, 4, 0]])
    text = difference_of(expected, expected[:, [0, 2, 1, 3]])
    assert text.endswith("\nelements 1 and 2 are exchanged in every frame: another order of them?")
