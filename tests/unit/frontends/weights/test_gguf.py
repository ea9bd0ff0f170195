"""GGUF and ONNX files as stores of weights."""

from __future__ import annotations

import contextlib
import struct

import ml_dtypes
import numpy as np
import pytest

from rlx.frontends.weights import WeightStore
from rlx.support.errors import RlxError
from rlx.support.limits import Limits
from support.files.mutation import mutate

W = np.arange(6, dtype=np.float32).reshape(2, 3)
TYPES = {
    "float32": 0, "float16": 1, "int8": 24, "int16": 25, "int32": 26, "int64": 27, "float64": 28,
    "bfloat16": 30,
}  # fmt: skip


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(tensors, metadata=(), *, version=3, alignment=32, kind=None):
    """Return the bytes of a file, as the specification of GGUF says."""
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    head += b"".join(metadata)
    data = b""
    for name, array in tensors:
        data += bytes(-len(data) % alignment)
        number = TYPES[array.dtype.name] if kind is None else kind
        dims = array.shape[::-1]
        head += text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
        head += struct.pack("<IQ", number, len(data))
        data += array.tobytes()
    return head + bytes(-len(head) % alignment) + data


METADATA = (
    text("general.architecture") + struct.pack("<I", 8) + text("llama"),
    text("general.alignment") + struct.pack("<II", 4, 64),
    text("flag") + struct.pack("<I?", 7, True),
    text("sizes") + struct.pack("<IIQ3f", 9, 6, 3, 1, 2, 3),
    text("words") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc"),
    text("nested") + struct.pack("<IIQIQH", 9, 9, 1, 2, 1, 5),
)


def write(path, content):
    path.write_bytes(content)
    return path


def refused(path, **options):
    with pytest.raises(RlxError) as caught:
        WeightStore.open(path, **options)
    assert caught.value.hint
    assert caught.value.message.isprintable()
    return caught.value


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", [*map(np.dtype, ("f4", "f2", "i1", "i2", "i4", "i8", "f8")),
                                   np.dtype(ml_dtypes.bfloat16)], ids=str)  # fmt: skip
def test_tensors_are_mapped(tmp_path, dtype, version):
    tensors = [("blk.0.w", W.astype(dtype)), ("a", W[0].astype(dtype))]
    content = gguf(tensors, METADATA, version=version, alignment=64)
    store = WeightStore.open(write(tmp_path / "w.gguf", content))
    assert list(store) == ["a", "blk.0.w"]
    for name, array in tensors:
        assert store[name].dtype == dtype
        np.testing.assert_array_equal(store[name], array)
        assert not store[name].flags.owndata


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gguf([("w", W)], kind=99), "'w' is of type 99 of GGML, which rlx does not know"),
        (gguf([("w", W)], kind=2), "'w' is Q4_0, in blocks of 32, but has the shape [2, 3]"),
        (gguf([("w", W)])[:4] + struct.pack(">I", 3) + bytes(99),
         "is a big-endian file of GGUF; read are little-endian ones"),
        (gguf([("w", W)], version=4), "is of version 4 of GGUF; read are 2 and 3"),
        (gguf([("w", W), ("w", W)]), "has two tensors called 'w'"),
        (gguf([("w", W)])[:-1], "'w' ends at byte "),
        (gguf([("w", W)])[:40], "ends at byte 40, before its header does"),
        (gguf([("w", W)], [text("x") + struct.pack("<I", 13)]), "has metadata of type 13"),
        (gguf([("w", W)], [text("general.alignment") + struct.pack("<II", 4, 0)]),
         "has general.alignment 0"),
        (gguf([], [text("x") + struct.pack("<IIQ", 9, 0, 1 << 62)]), "ends at byte"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 1 << 63, 0), "has 9223372036854775808 tensors;"),
        (gguf([("w", W.reshape((1,) * 20 + W.shape))]), "'w' has 22 dimensions; the limit is 8"),
        (gguf([("w", W)], [text("x") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 99]),
         "has metadata of type 9"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(tmp_path, content, message):
    assert refused(write(tmp_path / "w.gguf", content)).message.startswith(message)


def test_headers_over_a_limit_are_refused(tmp_path):
    path = write(tmp_path / "w.gguf", gguf([("w", W)], METADATA))
    message = "has a header of more than 100 bytes, the limit"
    assert refused(path, limits=Limits(document_bytes=100)).message == message


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_end_in_typed_errors(tmp_path, seed):
    path = write(tmp_path / "w.gguf", mutate(gguf([("w", W), ("b", W[0])], METADATA), seed))
    with contextlib.suppress(RlxError):
        for entry in (store := WeightStore.open(path)).entries:
            assert store[entry.name].shape == entry.type.shape


def test_constants_of_onnx_files(tmp_path):
    onnx = pytest.importorskip("onnx")
    from support.files import onnx_builder

    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    content = onnx_builder.model([node], {"x": [1, 2]}, {"y": [1, 3]}, {"w": W})
    store = WeightStore.open(write(tmp_path / "m.onnx", content))
    np.testing.assert_array_equal(store["w"], W)
    assert not store["w"].flags.writeable
    error = refused(write(tmp_path / "m.onnx", b"\xff" + content))
    assert error.code == "RLX-E007"
