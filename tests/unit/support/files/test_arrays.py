"""Arrays from files that nobody has checked: read, or refused with a place and a remedy."""

import contextlib
import io
import struct
import zipfile

import numpy as np
import pytest

import rlx.support.files.arrays
from rlx.cli import main
from rlx.support.errors import FrontendError
from rlx.support.files.arrays import read_arrays, read_npy, stored_arrays
from support.messages import raises


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def headed(header, content=b"", version=1):
    """A ``.npy`` file with any text as its header."""
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + content


def shaped(shape, descr="|i1"):
    return headed(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", bytes(64))


def npz(method=zipfile.ZIP_STORED, **members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", ">i2", ">u4", "i8", "f2", ">f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_writes_is_read(tmp_path, dtype, shape, order):
    count = int(np.prod(shape))
    array = np.asarray(np.arange(count).reshape(shape), dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    found = read_npy(tmp_path / "x.npy")
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == shape
    assert np.array_equal(found, array)
    assert found.flags.writeable


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_are_read(tmp_path, version):
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, np.arange(4, dtype=np.int8), version)
    assert read_npy(tmp_path / "x.npy").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_read_by_name(tmp_path, save):
    arrays = {"x": np.arange(6, dtype=np.int8).reshape(2, 3), "a/b:0": np.zeros(2, np.uint8)}
    save(tmp_path / "x.npz", **arrays)
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("readme.txt", "no array")
    found = read_arrays(tmp_path / "x.npz")
    assert {name: array.tolist() for name, array in found.items()} == {
        "x": [[0, 1, 2], [3, 4, 5]], "a/b:0": [0, 0],
    }  # fmt: skip


ITEMS = "'fortran_order': False, 'shape': (3,)"
SINGLE = {
    "empty": (b"", "is neither a .npy nor a .npz file: it is empty"),
    "csv": (b"1,2,3\n", "is neither a .npy nor a .npz file: it begins with b'1,2,3"),
    "cut start": (b"\x93NUMPY\x01", "expected an array in NumPy's format"),
    "cut length": (b"\x93NUMPY\x01\x00\x76", "has a header that is cut or too long"),
    "cut header": (npy(np.zeros(3, np.int8))[:40], "has a header that is cut or too long"),
    "long header": (headed(" " * 20000), "has a header that is cut or too long"),
    "version": (b"\x93NUMPY\x09\x00\x76\x00", "has version 9.0 of NumPy's form"),
    "cut content": (npy(np.zeros(3, np.int8))[:-1], "expected 3 bytes after its header"),
    "more content": (npy(np.zeros(3, np.int8)) + b"x", "expected 3 bytes after its header"),
    "huge": (shaped("(60000000000,)"), "bytes after its header"),
    "overflow": (shaped("(4611686018427387904, 64)"), "has a header that is not NumPy's"),
    "product": (shaped("(999999999999999999, 999999999999999999)"), "bytes after its header"),
    "digits": (shaped("(" + "9" * 5000 + ",)"), "has a header that is not NumPy's"),
    "power": (shaped("(2**62,)"), "has a header that is not NumPy's"),
    "bool": (shaped("(True,)"), "has a header that is not NumPy's"),
    "negative": (shaped("(-1,)"), "has a header that is not NumPy's"),
    "no tuple": (shaped("(64)"), "has a header that is not NumPy's"),
    "comma": (shaped("(1,,2)"), "has a header that is not NumPy's"),
    "number": (shaped("64"), "has a header that is not NumPy's"),
    "text": (shaped("'a'"), "has a header that is not NumPy's"),
    "rank": (shaped("(" + "1," * 40 + ")"), "has 40 dimensions, at most 32 are read"),
    "nested": (headed("(" * 5000), "has a header that is not NumPy's"),
    "list": (headed("[1, 2]"), "has a header that is not NumPy's"),
    "code": (headed("{'descr': exit(), " + ITEMS + "}"), "has a header that is not NumPy's"),
    "missing": (headed("{'descr': '|i1', 'shape': (3,)}"), "has a header that is not NumPy's"),
    "swapped": (
        headed("{'descr': True, 'fortran_order': (3,), 'shape': '|i1'}"),
        "has a header that is not NumPy's",
    ),
    "objects": (npy(np.array([{}], object)), "holds Python objects, not numbers"),
    "void": (shaped("(64,)", "|V1"), "holds elements '|V1', not numbers"),
    "complex": (npy(np.zeros(2, complex)), "holds elements '<c16', not numbers"),
    "words": (npy(np.array(["a"])), "holds elements '<U1', not numbers"),
    "dates": (npy(np.zeros(2, "M8[s]")), "holds elements '<M8[s]', not numbers"),
    "unknown": (shaped("(64,)", "zz"), "holds elements 'zz', not numbers"),
    "odd size": (shaped("(64,)", "<i3"), "holds elements '<i3', not numbers"),
}


@pytest.mark.parametrize(("content", "message"), SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_array_is_refused(tmp_path, content, message, packed):
    path = tmp_path / "x.npy"
    path.write_bytes(npz(x=content) if packed else content)
    if packed and "is neither" in message:
        message = "expected an array in NumPy's format"
    with raises(FrontendError):
        read_arrays(path)


GOOD = npy(np.zeros(1000, np.int8))


def changed(content, at, value):
    return content[:at] + value + content[at + len(value) :]


def with_flag(content):
    """Mark the member as encrypted, in both of its headers."""
    second = content.index(b"PK\x01\x02")
    return changed(changed(content, 6, b"\x01"), second + 8, b"\x01")


def with_method(content, method):
    second = content.index(b"PK\x01\x02")
    return changed(changed(content, 8, bytes([method])), second + 10, bytes([method]))


PACKED = {
    "cut": (npz(x=GOOD)[:-30], "is a damaged .npz file: "),
    "start only": (b"PK\x03\x04", "is a damaged .npz file: "),
    "encrypted": (with_flag(npz(x=GOOD)), "is encrypted"),
    "bzip2": (npz(zipfile.ZIP_BZIP2, x=GOOD), "is compressed by bzip2"),
    "lzma": (npz(zipfile.ZIP_LZMA, x=GOOD), "is compressed by LZMA"),
    "unknown": (with_method(npz(x=GOOD), 99), "is compressed by method 99"),
    "content": (changed(npz(x=GOOD), 300, b"\x01"), "is damaged: Bad CRC-32"),
    "deflate": (changed(npz(zipfile.ZIP_DEFLATED, x=GOOD), 40, b"\xff" * 8), "is damaged: "),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), PACKED.values(), ids=PACKED)
def test_damaged_npz_is_refused(tmp_path, content, message):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(FrontendError, match=rf"^x.npz: (x.npy: )?{message}.*\n  hint: "):
        read_arrays(tmp_path / "x.npz")


def test_any_damaged_byte_is_read_or_refused(tmp_path):
    path = tmp_path / "x.npz"
    for content in (npz(zipfile.ZIP_DEFLATED, x=GOOD[:200]), npz(x=npy(np.arange(9))), GOOD[:200]):
        for at in range(len(content)):
            for value in (b"\x00", b"\xff", bytes([content[at] ^ 1])):
                path.write_bytes(changed(content, at, value))
                with contextlib.suppress(FrontendError):
                    read_arrays(path)


def test_size_is_limited_before_anything_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(rlx.support.files.arrays, "MAX_UNPACKED_BYTES", 5000)
    path = tmp_path / "x.npz"
    path.write_bytes(npz(zipfile.ZIP_DEFLATED, x=GOOD, y=GOOD))
    assert set(read_arrays(path)) == {"x", "y"}
    path.write_bytes(npz(zipfile.ZIP_DEFLATED, **{f"x{n}": GOOD for n in range(5)}))
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    with raises(FrontendError):
        read_arrays(path)


def test_npz_in_place_of_npy_is_refused(tmp_path):
    (tmp_path / "x.npy").write_bytes(npz(x=GOOD))
    with raises(FrontendError):
        read_npy(tmp_path / "x.npy")


VECTORS = {
    "no frames": (npy(np.zeros((0, 64), np.int8)), "input 'image': its vectors hold no frames"),
    "y empty": (npz(x=npy(np.zeros((2, 64), np.int8)), y=npy(np.zeros((0, 10), np.int8))),
                "expected outputs y: they are int8[0, 10], but 2 frames need [2, 1, 10]"),
    "y scalar": (npz(x=npy(np.zeros((2, 64), np.int8)), y=npy(np.int8(3))),
                 "expected outputs y: they are int8[], but 2 frames need [2, 1, 10]"),
    "y of another size": (npz(x=npy(np.zeros((2, 64), np.int8)), y=npy(np.zeros((2, 7), np.int8))),
                          "expected outputs y: they are int8[2, 7], but 2 frames need [2, 1, 10]"),
    "y with fewer frames": (
        npz(x=npy(np.zeros((2, 64), np.int8)), y=npy(np.zeros((1, 10), np.int8))),
        "expected outputs y: they are int8[1, 10], but 2 frames need [2, 1, 10]"),
    "nothing": (npz(), "input 'image': the vectors hold nothing for it"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), VECTORS.values(), ids=VECTORS)
def test_vectors_that_do_not_fit_the_model(tmp_path, capsys, content, message):
    from support import ROOT

    path = tmp_path / "v.npz"
    path.write_bytes(content)
    status = main(["run", str(ROOT / "examples/digits/digits.rlx"), "--input", str(path)])
    errors = capsys.readouterr().err.splitlines()
    assert (status, errors[0]) == (2, f"error[RLX-E001]: {message}")
    assert errors[1].startswith("  try: ")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_stored_arrays_are_read_in_blocks(tmp_path, save, rows):
    arrays = {
        "x": np.arange(7 * 6, dtype=np.float32).reshape(7, 2, 3),
        "turned": np.asfortranarray(np.arange(14).reshape(7, 2)),
        "number": np.array(4.0),
    }
    save(tmp_path / "a.npz", **arrays)
    found = stored_arrays(tmp_path / "a.npz")
    assert {name: (s.shape, s.dtype) for name, s in found.items()} == {
        name: (a.shape, a.dtype) for name, a in arrays.items()
    }
    for name, array in arrays.items():
        blocks = list(found[name].blocks(rows))
        assert all(len(b) <= rows for b in blocks)
        whole = np.concatenate(blocks).reshape(array.shape)
        assert np.array_equal(whole, array)
        assert whole.dtype == array.dtype


def test_the_place_of_an_array_is_that_of_its_elements(tmp_path):
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.savez(tmp_path / "a.npz", x=array, longer=array, big=array.astype(">i4"))
    np.savez_compressed(tmp_path / "packed.npz", x=array)
    np.save(tmp_path / "a.npy", array)
    found = stored_arrays(tmp_path / "a.npz")
    plain = (found["x"], found["longer"], *stored_arrays(tmp_path / "a.npy").values())
    for stored in plain:
        content = stored.path.read_bytes()[stored.offset :]
        assert np.array_equal(np.frombuffer(content, np.int32, 6), array.reshape(-1))
        assert stored.nbytes == 24
    assert found["big"].offset is None
    assert stored_arrays(tmp_path / "packed.npz")["x"].offset is None


def test_a_stored_npy_file_is_read_in_blocks(tmp_path):
    array = np.arange(10, dtype=">i2").reshape(5, 2)
    np.save(tmp_path / "a.npy", array)
    (stored,) = stored_arrays(tmp_path / "a.npy").values()
    assert np.array_equal(np.concatenate(list(stored.blocks(2))), array)


def test_a_stored_array_that_is_cut_or_damaged_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(4000.0))
    (stored,) = stored_arrays(path).values()
    content = bytearray(path.read_bytes())
    content[20_000] ^= 1
    path.write_bytes(content)
    with raises(FrontendError):
        list(stored.blocks(100))
    (tmp_path / "b.npz").write_bytes(content[:9000])
    with raises(FrontendError):
        stored_arrays(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(b"nothing")
    with raises(FrontendError):
        stored_arrays(tmp_path / "c.npz")
