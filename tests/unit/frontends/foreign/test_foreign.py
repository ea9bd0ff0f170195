"""A file that rlx does not read is named by its content, and the message shows the way to ONNX."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib

import numpy as np
import onnx
import pytest
from safetensors.numpy import save

from rlx import frontends
from rlx.frontends.foreign.foreign import KINDS
from rlx.support.errors import FormatError, FrontendError, UsageError
from support import ROOT
from support.messages import raises

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(88)
READS = "rlx reads TFLite, ONNX and its own .rlx files"


def archive(**members: bytes) -> bytes:
    """Return a zip archive; a name has / in place of two underscores, and . in place of one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/").replace("_", "."), content)
    return stream.getvalue()


def field(number: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer; the content is shorter than 128 bytes."""
    return bytes((number << 3 | 2, len(content))) + content


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, x=np.zeros(3))
    return stream.getvalue()


def npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    return stream.getvalue()


def tar() -> bytes:
    return b"m.tflite".ljust(257, b"\0") + b"ustar\0" + bytes(249)


STATE_DICT = b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01X\x04\x00\x00\x00conv"
NODE = field(1, field(1, b"input") + field(2, b"Placeholder"))
EXECUTES = b"cos\nsystem\n(S'touch executed'\ntR."

FILES = {
    "a Keras model (HDF5)": ("m.h5", HDF5 + b"keras_version"),
    "a file of Keras weights (HDF5) without the network": ("m.weights.h5", HDF5 + b"layers"),
    "an HDF5 file": ("samples.hdf5", HDF5),
    "a Keras model (.keras)": (
        "m.keras",
        archive(metadata_json=b"{}", config_json=b"{}", model_weights_h5=HDF5),
    ),
    "a program of torch.export (.pt2)": (
        "m.pt2",
        archive(m__archive_format=b"pt2", m__models__model_json=b"{}"),
    ),
    "a TorchScript model": (
        "m.pt",
        archive(m__data_pkl=b"\x80\x02c__torch__\n", m__code____torch___py=b"", m__version=b"3"),
    ),
    "a PyTorch state dict: weights without the network": (
        "m.pt",
        archive(m__data_pkl=STATE_DICT, m__version=b"3"),
    ),
    "a PyTorch file": ("m.pth", archive(m__data_pkl=b"\x80\x02cnet\nNet\n", m__version=b"3")),
    "a PyTorch file of the form before 1.6": (
        "m.pth",
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + STATE_DICT,
    ),
    "a file of NumPy arrays": ("x.npz", npz()),
    "a NumPy array": ("x.npy", npy()),
    "a zip archive": ("m.zip", archive(m_tflite=b"")),
    "a Python pickle": ("m.pkl", b"\x80\x04" + EXECUTES),
    "a TensorFlow SavedModel without its folder": ("saved_model.pb", b"\x08\x01" + field(2, b"")),
    "a frozen TensorFlow graph": ("m.pb", NODE),
    "a GGUF language model": ("m.gguf", b"GGUF\x03\0\0\0" + bytes(16)),
    "a Core ML model": ("m.mlmodel", b"\x08\x07" + field(2, field(1, field(1, b"image")))),
    "an ONNX Runtime model (.ort)": ("m.ort", b"\x10\0\0\0ORTM" + bytes(40)),
    "an ncnn model": ("m.param", b"7767517\n75 83\n"),
    "an OpenVINO model": ("m.xml", b'<?xml version="1.0"?>\n<net name="m"><layers></layers></net>'),
    "a TensorFlow.js model": ("model.json", b'{"modelTopology": {}, "weightsManifest": []}'),
    "a pointer of Git LFS, not the file itself": (
        "m.tflite",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    ),
    "a web page (HTML)": ("m.onnx", b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>"),
    "a gzip archive": ("m.tflite.gz", b"\x1f\x8b\x08" + bytes(20)),
    "an xz archive": ("m.xz", b"\xfd7zXZ\0" + bytes(20)),
    "a bzip2 archive": ("m.bz2", b"BZh91AY" + bytes(20)),
    "a Zstandard archive": ("m.zst", b"\x28\xb5\x2f\xfd" + bytes(20)),
    "a 7-Zip archive": ("m.7z", b"7z\xbc\xaf\x27\x1c" + bytes(20)),
    "a tar archive": ("m.tar", tar()),
    "an image": ("x.png", b"\x89PNG\r\n\x1a\n" + bytes(20)),
    "a sound file": ("x.wav", b"RIFF\x24\0\0\0WAVEfmt " + bytes(20)),
    "a program": ("firmware.elf", b"\x7fELF" + bytes(60)),
    "a Python program": ("net.py", b"import torch\n"),
    "a table of numbers (CSV)": ("x.csv", b"0.5,1.5\n2,3\n"),
    "a text file": ("notes.txt", b"the weights are on the server\n"),
}


NAMED = ("a Python program", "a file of Keras weights (HDF5) without the network")


def refused(path) -> FormatError:
    with pytest.raises(FormatError) as caught:
        frontends.load(path)
    assert (caught.value.code, caught.value.exit_status) == ("RLX-E008", 4)
    return caught.value


@pytest.mark.parametrize("what", FILES)
def test_a_file_is_named_by_its_content(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    name, content = FILES[what]
    (tmp_path / name).write_bytes(content)
    error = refused(tmp_path / name)
    assert (error.where, error.message) == (name, f"is {what}; {READS}")
    assert len(error.hint.split()) > 4
    assert "{" not in error.hint
    assert [p.name for p in tmp_path.iterdir()] == [name], "nothing of the file was executed"


@pytest.mark.parametrize("what", [what for what in FILES if what not in NAMED])
def test_the_content_counts_and_not_the_name(tmp_path, what):
    """Of files that something but their name identifies."""
    (tmp_path / "m.tflite").write_bytes(FILES[what][1])
    assert refused(tmp_path / "m.tflite").message == f"is {what}; {READS}"


def test_every_kind_is_tested():
    assert [kind.what for kind in KINDS if kind.what not in FILES] == []


def test_lines_of_python_are_python(tmp_path):
    for name, content in FILES.values():
        (tmp_path / name).write_bytes(content)
        lines = refused(tmp_path / name).hint.splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("import ")), None)
        if start is not None:
            code = [line for line in lines[start:] if not line.startswith("$")]
            compile("\n".join(code), name, "exec")


def test_a_keras_model_comes_with_the_lines_that_convert_it(tmp_path):
    path = tmp_path / "kws.h5"
    path.write_bytes(FILES["a Keras model (HDF5)"][1])
    hint = refused(path).hint
    assert "from_keras_model(tf.keras.models.load_model('kws.h5'))" in hint
    assert "tf.lite.OpsSet.TFLITE_BUILTINS_INT8" in hint
    assert hint.endswith("open('kws.tflite', 'wb').write(converter.convert())")


def test_a_pytorch_file_comes_with_the_lines_that_export_it(tmp_path):
    path = tmp_path / "net.pt"
    path.write_bytes(FILES["a PyTorch state dict: weights without the network"][1])
    hint = refused(path).hint
    assert "model.load_state_dict(torch.load('net.pt', weights_only=True))" in hint
    assert "$ rlx quantize net.onnx --calib SAMPLES.npz -o net.rlx" in hint


def test_a_pytorch_file_that_is_cut_short_is_still_one(tmp_path):
    content = FILES["a PyTorch state dict: weights without the network"][1]
    (tmp_path / "m.pt").write_bytes(content[: content.index(b"PK\x01\x02")])
    assert "a PyTorch state dict" in refused(tmp_path / "m.pt").message


def test_weights_without_a_graph(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(save({"w": np.zeros(3, np.float32)}))
    error = refused(path)
    assert error.message == f"is a file of weights (safetensors) without the network; {READS}"
    assert "$ rlx import GRAPH.onnx --weights w.safetensors -o w.rlx" in error.hint


def test_own_files_are_not_taken_for_weights():
    assert frontends.load(ROOT / "examples" / "digits" / "digits.rlx").graph.nodes


def test_onnx_files_that_begin_like_core_ml_are_read(tmp_path):
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])],
    )
    for producer in ("", "pytorch", "skl2onnx"):
        model = onnx.helper.make_model(
            graph,
            producer_name=producer,
            opset_imports=[onnx.helper.make_opsetid("", 17)],
            ir_version=8,
        )
        (tmp_path / "m.bin").write_bytes(model.SerializeToString())
        assert frontends.load(tmp_path / "m.bin").graph.inputs


def test_an_archive_of_a_million_names_is_read_in_no_time(tmp_path):
    entry = struct.pack("<4s22xHH", b"PK\x03\x04", 4, 0) + b"a/b\n"
    (tmp_path / "m.zip").write_bytes(entry * 1_000_000)
    assert "a zip archive" in refused(tmp_path / "m.zip").message


@pytest.mark.parametrize("name", ["m.tflite", "m.onnx", "m.rlx", "m"])
def test_an_empty_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with raises(FrontendError):
        frontends.load(tmp_path / name)


def test_random_bytes_are_of_no_format(tmp_path):
    path = tmp_path / "m.bin"
    path.write_bytes(zlib.compress(bytes(1000)))
    assert refused(path).message.startswith("neither the first bytes nor the name show what it is")


@pytest.mark.parametrize(
    ("files", "what", "hint"),
    [
        (["saved_model.pb", "variables"], "a TensorFlow SavedModel", "from_saved_model('m')"),
        (["Manifest.json", "Data"], "a Core ML package", "was made from another file"),
        (["config.json", "model.safetensors"], "a checkpoint of the library transformers",
         "optimum-cli export onnx --model m OUT"),
        (["checkpoint", "model.index"], "a TensorFlow checkpoint: weights without the network",
         "from_saved_model"),
        (["manifest.json", "report.json"], "an output folder of rlx", 'rlx.verify("m")'),
    ],
)  # fmt: skip
def test_a_folder_is_named(tmp_path, files, what, hint):
    for name in files:
        path = tmp_path / "m" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    error = refused(tmp_path / "m")
    assert error.message == f"is {what}; {READS}"
    assert hint in error.hint


def test_any_other_folder_names_its_models(tmp_path):
    for name in ("b.onnx", "a.tflite", "c.rlx", "d.tflite", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    with raises(UsageError):
        frontends.load(tmp_path)


def test_hints_of_several_lines_are_indented(tmp_path):
    (tmp_path / "m.h5").write_bytes(FILES["a Keras model (HDF5)"][1])
    lines = str(refused(tmp_path / "m.h5")).splitlines()
    assert lines[1].startswith("  hint: convert it")
    assert [line for line in lines[2:] if not line.startswith(" " * 10)] == []
