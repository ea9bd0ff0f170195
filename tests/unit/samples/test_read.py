"""Files of samples become arrays for the inputs of a network."""

from __future__ import annotations

import sys
import wave

import numpy as np
import pytest
from PIL import Image

from rlx.ir import DType, Graph, QuantParams, TensorType, f32, i8
from rlx.samples import Scaling, labels_in, read, read_classes, read_names, vectors_for
from rlx.support.errors import FrontendError, RlxError, ToolMissingError, UsageError
from support.messages import raises

PIXELS = QuantParams.per_tensor(1 / 255, -128)


def inputs(*types):
    graph = Graph("net")
    for k, type_ in enumerate(types):
        graph.input(f"in{k}", type_)
    return graph.inputs


GREY = inputs(i8(1, 3, 4, 1, quant=PIXELS))
COLOUR = inputs(f32(1, 3, 2, 5))
SOUND = inputs(f32(1, 6, 1))
NUMBERS = inputs(i8(1, 2, 2, quant=PIXELS))


def picture(path, array, mode=None):
    Image.fromarray(array, mode).save(path)
    return path


@pytest.fixture
def grey(tmp_path):
    return picture(tmp_path / "grey.png", np.arange(12, dtype=np.uint8).reshape(3, 4) * 20)


def sound(path, samples, *, width=2, channels=1):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(samples.tobytes())
    return path


def test_pixels_are_spread_over_an_8_bit_input(grey):
    found = read([grey], GREY)
    wanted = (np.arange(12).reshape(1, 3, 4, 1) * 20 - 128).astype(np.int8)
    np.testing.assert_array_equal(found.arrays["in0"], wanted)
    assert found.arrays["in0"].dtype == np.int8
    assert found.names == ("grey.png",)
    assert found.notes[0].startswith("pixels of 0 to 255 became the integers -128 to 127")


@pytest.mark.parametrize("shape", [(1, 3, 4, 1), (1, 1, 3, 4), (3, 4), (3, 4, 1)])
def test_pixels_are_0_to_1_for_real_numbers(grey, shape):
    (array,) = read([grey], inputs(f32(*shape))).arrays.values()
    np.testing.assert_allclose(array.reshape(-1), np.arange(12) * 20 / 255, rtol=1e-6)
    assert array.shape[1:] == (shape[1:] if shape[0] == 1 else shape)


def test_channels_are_those_of_the_input(tmp_path):
    rgb = np.random.default_rng(0).integers(0, 256, (2, 5, 3)).astype(np.uint8)
    path = picture(tmp_path / "rgb.png", rgb)
    (array,) = read([path], COLOUR).arrays.values()
    np.testing.assert_allclose(array[0], np.moveaxis(rgb, -1, 0) / 255, rtol=1e-6)
    (grey,) = read([path], inputs(f32(1, 2, 5, 1))).arrays.values()
    wanted = np.asarray(Image.open(path).convert("L")) / 255
    np.testing.assert_allclose(grey[0, :, :, 0], wanted, rtol=1e-6)


def test_scaling_is_that_of_training(tmp_path):
    rgb = np.full((2, 5, 3), (0, 51, 255), np.uint8)
    path = picture(tmp_path / "rgb.png", rgb)
    scaling = Scaling(mean=(0.5, 0.2, 0.0), std=(0.5, 0.1, 2.0))
    (array,) = read([path], inputs(f32(1, 2, 5, 3)), scaling).arrays.values()
    np.testing.assert_allclose(array[0, 0, 0], [-1, 0, 0.5], atol=1e-6)
    with raises(UsageError):
        read([path], COLOUR, Scaling(mean=(1.0, 2.0)))


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name, level in (("b", 9), ("a", 5), ("c", 7)):
        picture(tmp_path / f"{name}.png", np.full((3, 4), level, np.uint8))
    (tmp_path / "labels.txt").write_text("of no interest")
    found = read([tmp_path], GREY)
    assert found.names == ("a.png", "b.png", "c.png")
    assert found.arrays["in0"][:, 0, 0, 0].tolist() == [5 - 128, 9 - 128, 7 - 128]


def test_samples_of_a_sound_are_1_at_most(tmp_path):
    stored = np.array([0, 1 << 14, -(1 << 15), 100, -1, 32767], "<i2")
    found = read([sound(tmp_path / "a.wav", stored)], SOUND)
    np.testing.assert_array_equal(found.arrays["in0"][0, :, 0], stored / np.float32(1 << 15))
    bytes_ = np.array([0, 128, 255, 129, 127, 64], np.uint8)
    found = read([sound(tmp_path / "b.wav", bytes_, width=1)], SOUND)
    np.testing.assert_array_equal(found.arrays["in0"][0, :, 0], (bytes_ - 128.0) / 128)


def test_samples_of_16_bits_are_taken_by_an_int16_input(tmp_path):
    stored = np.array([0, 5, -5, 100, -1, 32767], "<i2")
    found = read([sound(tmp_path / "a.wav", stored)], inputs(TensorType((1, 6), DType.I16)))
    assert found.arrays["in0"].dtype == np.int16
    assert found.arrays["in0"].tolist() == [stored.tolist()]


def test_channels_of_a_sound_are_the_last_axis(tmp_path):
    path = sound(tmp_path / "a.wav", np.arange(12, dtype="<i2"), channels=2)
    found = read([path], inputs(f32(1, 6, 2)))
    np.testing.assert_array_equal(found.arrays["in0"][0, :, 1] * (1 << 15), np.arange(1, 12, 2))


@pytest.mark.parametrize("text", ["1,2,3,-128\n4,5,6,127\n", "a;b;c;d\n1;2;3;-128\n4;5;6;127"])
def test_whole_numbers_of_a_table_are_those_of_the_input(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    (array,) = read([tmp_path / "t.csv"], NUMBERS).arrays.values()
    assert (array.dtype, array.shape) == (np.int8, (2, 2, 2))
    assert array.reshape(2, 4).tolist() == [[1, 2, 3, -128], [4, 5, 6, 127]]


def test_a_table_may_hold_real_numbers_and_classes(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,Label,c,d\n0.5,1,3,0,0\n\n1,1e-1,0,0,0\n")
    found = read([tmp_path / "t.csv"], NUMBERS).arrays
    assert found["y"].tolist() == [3, 0]
    assert found["in0"].dtype == np.float32
    np.testing.assert_allclose(found["in0"].reshape(2, 4)[:, :2], [[0.5, 1], [1, 0.1]])
    assert read_classes(tmp_path / "t.csv").tolist() == [3, 0]


def test_real_numbers_become_golden_vectors_without_classes():
    graph = Graph("net")
    graph.output(graph.input("x", i8(1, 3, quant=PIXELS)))
    arrays = {"x": np.array([[0, 0.502, 1]]), "labels": np.array([2])}
    found, notes = vectors_for(graph, arrays)
    assert list(found) == ["x"]
    assert found["x"].tolist() == [[-128, 0, 127]]
    assert notes == [
        "input 'x': floats were quantized with its scale 0.00392157 and zero point -128"
    ]
    with raises(UsageError):
        vectors_for(graph, {"x": np.array([[0, np.nan, 1]])})


def test_outputs_are_no_classes():
    graph = Graph("net")
    graph.output(graph.input("x", i8(1, 3)))
    x = np.zeros((2, 3), np.int8)
    assert labels_in(graph, {"x": x, "y": x}) is None
    assert labels_in(graph, {"x": x, "y": np.array([1, 0])}) is not None


def test_names_and_classes_are_read(tmp_path):
    (tmp_path / "names.txt").write_text("yes\nno way\n\x1b[31mred\n\n")
    assert read_names(tmp_path / "names.txt")[:2] == ["yes", "no way"]
    assert "\x1b" not in read_names(tmp_path / "names.txt")[2]
    np.save(tmp_path / "classes.npy", np.arange(3))
    with raises(UsageError):
        read_names(tmp_path / "classes.npy")
    np.savez(tmp_path / "all.npz", x=np.zeros((2, 3)), y=np.array([1, 2]))
    assert read_classes(tmp_path / "all.npz").tolist() == [1, 2]
    np.save(tmp_path / "y.npy", np.array([1, 2]))
    assert read_classes(tmp_path / "y.npy").tolist() == [1, 2]
    np.savez(tmp_path / "two.npz", a=np.zeros(2), b=np.zeros(2))
    with raises(UsageError):
        read_classes(tmp_path / "two.npz")


MISTAKES = {
    "size": (lambda p: picture(p / "a.png", np.zeros((4, 4), np.uint8)), GREY),
    "16 bits": (lambda p: picture(p / "a.png", np.zeros((3, 4), np.uint16)), GREY),
    "no picture": (lambda p: picture(p / "a.png", np.zeros((3, 4), np.uint8)), inputs(f32(1, 9))),
    "not quantized": (lambda p: picture(p / "a.png", np.zeros((3, 4), np.uint8)),
                      inputs(TensorType((1, 3, 4), DType.I32))),
    "two inputs": (lambda p: picture(p / "a.png", np.zeros((3, 4), np.uint8)),
                   inputs(f32(1, 3, 4), f32(1, 2))),
    "length": (lambda p: sound(p / "a.wav", np.zeros(7, "<i2")), SOUND),
    "channels": (lambda p: sound(p / "a.wav", np.zeros(6, "<i2"), channels=2), SOUND),
    "24 bits": (lambda p: sound(p / "a.wav", np.zeros(18, np.uint8), width=3), SOUND),
    "no file": (lambda p: p / "none.npz", GREY),
    "empty folder": (lambda p: p, GREY),
}  # fmt: skip


@pytest.mark.parametrize(("make", "values"), MISTAKES.values(), ids=MISTAKES)
def test_files_that_do_not_fit_are_refused(tmp_path, make, values):
    with raises(UsageError):
        read([make(tmp_path)], values)


TABLES = {
    "rows": "1,2,3,4\n1,2,3\n",
    "word": "1,2,3,4\n1,2,x,4\n",
    "nothing": "a,b\n",
    "empty": "",
    "columns": "1,2,3\n",
    "range": "1,2,3,200\n",
    "class": "a,b,c,d,y\n1,2,3,4,0.5\n",
    "field": "1," + "1" * 200_000 + ",1,1\n",
    "bytes": b"\xff\xfe1,2",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_tables_that_are_none_are_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with raises(RlxError):
        read([path], NUMBERS)


def test_arrays_are_not_scaled(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 12), np.int8))
    with raises(UsageError):
        read([tmp_path / "x.npy"], GREY, Scaling(scale=2.0))


@pytest.mark.parametrize("name", ["a.JPG", "a.mp3"])
def test_other_pictures_and_sounds_are_to_be_converted(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xff\xd8\xff\xe0")
    with raises(UsageError):
        read([tmp_path / name], GREY)


def test_a_picture_of_another_kind_is_no_png(tmp_path):
    Image.fromarray(np.zeros((3, 4), np.uint8)).save(tmp_path / "a.png", format="BMP")
    with raises(FrontendError):
        read([tmp_path / "a.png"], GREY)


def test_kinds_are_not_mixed(tmp_path, grey):
    sound(tmp_path / "a.wav", np.zeros(6, "<i2"))
    with raises(UsageError):
        read([tmp_path], GREY)


def test_damaged_files_are_refused_and_never_crash(tmp_path, grey):
    stored = sound(tmp_path / "a.wav", np.zeros(6, "<i2"))
    for path, values in ((grey, GREY), (stored, SOUND)):
        content = path.read_bytes()
        for at in range(0, len(content), 3):
            for damaged in (content[:at], content[:at] + b"\xff" + content[at + 1 :]):
                path.write_bytes(damaged)
                try:
                    read([path], values)
                except RlxError as error:
                    assert error.hint  # noqa: PT017 - some damage is none


def test_a_cut_sound_is_refused(tmp_path):
    path = sound(tmp_path / "a.wav", np.zeros(6, "<i2"))
    path.write_bytes(path.read_bytes()[:-4])
    with raises(FrontendError):
        read([path], SOUND)


def test_pictures_need_pillow(grey, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with raises(ToolMissingError):
        read([grey], GREY)
