"""Files of weights: several of them, and what is malformed, hostile or gone."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

import rlx
from rlx.cli import main
from rlx.frontends.weights import WeightStore
from rlx.ir import Graph, GraphModule, f32
from rlx.ops.real import RealCast, RealMatmul
from rlx.support.errors import FrontendError, RlxError, UsageError
from rlx.support.limits import Limits
from support.files.mutation import mutate
from support.messages import raises

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([0.5, -1.5], np.float32)
ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def sharded(tmp_path):
    save_file({"w": W}, tmp_path / ONE)
    save_file({"b": B, "unlisted": B}, tmp_path / TWO)
    return index(tmp_path, {"w": ONE, "b": TWO})


def index(folder, weight_map):
    path = folder / "model.safetensors.index.json"
    content = {"metadata": {"total_size": 32}, "weight_map": weight_map}
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def refused(path, *more, **options):
    with pytest.raises(RlxError) as caught:
        WeightStore.open(path, *more, **options)
    assert caught.value.hint
    assert caught.value.message.isprintable()
    return caught.value


def test_an_index_joins_its_parts(sharded):
    store = WeightStore.open(sharded)
    assert list(store) == ["w", "b"]
    np.testing.assert_array_equal(store["w"], W)
    np.testing.assert_array_equal(store["b"], B)
    assert [e.file.name for e in store.entries] == [ONE, TWO]


def test_several_files_have_no_name_in_common(sharded, tmp_path):
    np.savez(tmp_path / "more.npz", c=B, b=B)
    error = refused(tmp_path / TWO, tmp_path / "more.npz")
    assert isinstance(error, FrontendError)
    assert (error.where, error.message) == ("more.npz", f"'b' is in {TWO} too")
    assert len(WeightStore.open(sharded.with_name(ONE), tmp_path / "more.npz")) == 3


@pytest.mark.parametrize(
    "name",
    ["../secret.safetensors", "/etc/secret.safetensors", "a/b.safetensors", "..\\x.safetensors",
     "C:x.safetensors", "..", "", "weights.bin"],
)  # fmt: skip
def test_an_index_names_files_of_its_folder_only(tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    save_file({"w": W}, tmp_path / "secret.safetensors")
    error = refused(index(inner, {"w": name}))
    assert isinstance(error, FrontendError)
    assert error.message == f"expected a .safetensors file in the folder of the index, got {name!r}"


@pytest.mark.parametrize(
    ("weight_map", "message"),
    [
        ({"w": "gone.safetensors"}, "'gone.safetensors' does not exist"),
        ({"x": ONE}, f"'x' is not in '{ONE}', as the index says"),
        ({"w": 3}, "expected a 'weight_map' from names to files"),
        ([], "expected a 'weight_map' from names to files"),
    ],
)
def test_an_index_that_is_wrong_is_refused(sharded, weight_map, message):
    error = refused(index(sharded.parent, weight_map))
    assert error.code == "RLX-E007"
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "expected a 'weight_map' from names to files"),
        ('{"weight_map": {"w": "a", "w": "b"}}', "its text has a name twice"),
    ],
)
def test_an_index_that_is_no_index_is_refused(tmp_path, text, message):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text)
    assert refused(path).message == message


def test_damaged_parts_are_named(sharded):
    part = sharded.with_name(TWO)
    part.write_bytes(part.read_bytes()[:-1])
    error = refused(sharded)
    assert error.where == f"model.safetensors.index.json: '{TWO}'"
    assert error.message.startswith("not a readable safetensors file")


def test_limits_hold_before_anything_is_read(sharded):
    assert "the limit" in refused(sharded, limits=Limits(document_bytes=20)).message
    assert refused(sharded, limits=Limits(tensors=1)).message == "has 2 tensors; the limit is 1"
    part = sharded.with_name(TWO)
    assert refused(part, limits=Limits(tensors=1)).message == "has 2 tensors; the limit is 1"
    assert len(WeightStore.open(part, limits=Limits(file_bytes=1))) == 2
    part.write_bytes(struct.pack("<Q", 1 << 60) + bytes(100))
    error = refused(part)
    assert error.message == "has a header of 1152921504606846976 bytes, but 108 bytes in all"
    assert "--limit" not in error.hint


def test_compressed_arrays_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("rlx.frontends.weights.files.MAX_UNPACKED_BYTES", 1000)
    np.savez_compressed(tmp_path / "w.npz", w=np.zeros(1000))
    error = refused(tmp_path / "w.npz")
    assert error.message == "unpacks to 8000 bytes, more than the 1000 that are read"
    np.savez(tmp_path / "w.npz", w=np.zeros(1000))
    assert len(WeightStore.open(tmp_path / "w.npz")) == 1


def test_names_that_are_twice_in_a_file_are_refused(tmp_path):
    np.savez(tmp_path / "w.npz", w=W)
    with zipfile.ZipFile(tmp_path / "w.npz") as archive:
        content = archive.read("w.npy")
    archive = zipfile.ZipFile(tmp_path / "w.npz", "a")
    with archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("w.npy", content)
    error = refused(tmp_path / "w.npz")
    assert (error.where, error.message) == ("w.npz: w.npy", "is there twice")


def test_objects_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "w.npz", w=np.array([{}], object))
    assert "holds Python objects, not numbers" in refused(tmp_path / "w.npz").message


def test_files_that_are_not_there_are_refused(tmp_path):
    assert isinstance(refused(tmp_path / "no.npz"), UsageError)
    assert isinstance(refused(tmp_path), UsageError)
    (tmp_path / "empty").write_bytes(b"")
    assert isinstance(refused(tmp_path / "empty"), FrontendError)


@pytest.mark.parametrize("name", [ONE, "w.npz"])
def test_files_that_change_are_refused(tmp_path, name):
    path = tmp_path / name
    save_file({"w": W}, path) if name == ONE else np.savez(path, w=W)
    store = WeightStore.open(path)
    np.testing.assert_array_equal(store["w"], W)
    store.release()
    times = path.stat()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))
    with raises(FrontendError):
        store["w"]
    path.unlink()
    with raises(FrontendError):
        store["w"]


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "packed.npz"])
def test_damaged_files_end_in_typed_errors(tmp_path, name, seed):
    path = tmp_path / name
    if name == "w.safetensors":
        save_file({"w": W, "b": B, "t": np.array([True, False])}, path)
    else:
        (np.savez if name == "w.npz" else np.savez_compressed)(path, w=W, b=B)
    path.write_bytes(mutate(path.read_bytes(), seed))
    with contextlib.suppress(RlxError):
        for entry in (store := WeightStore.open(path)).entries:
            assert store[entry.name].shape == entry.type.shape


@pytest.fixture
def model(tmp_path):
    """A graph with a parameter and an integer output."""
    graph = Graph("g")
    x, w = graph.input("x", f32(1, 2)), graph.param("w", f32(2, 3))
    graph.output(graph.apply(RealMatmul(), x, w), names=["y"])
    rlx.save(GraphModule.mir(graph), tmp_path / "g.rlx")
    np.savez(tmp_path / "x.npz", x=np.array([[1.0, 2.0]], np.float32))
    return tmp_path / "g.rlx"


def run(model, *weights):
    options = [part for path in weights for part in ("--weights", str(path))]
    return main(["run", str(model), "--input", str(model.with_name("x.npz")), "--json", *options])


def test_the_command_line_runs_with_weights(model, capsys):
    path = model.with_name("w.npz")
    np.savez(path, w=W.astype(np.float16), other=3)
    assert run(model, path) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert np.array(output["values"]).ravel().tolist() == [6, 9, 12]


@pytest.mark.parametrize(
    ("arrays", "message", "hint"),
    [
        ({"w2": W}, "the files have no weight 'w'", "did you mean 'w2'?"),
        ({"zzz": W}, "the files have no weight 'w'", "give more files"),
        ({"w": W.T}, "parameter 'w' must be f32[2, 3], got float32[3, 2]",
         "store it in the type of the graph"),
        ({"w": W + np.float64(1e-12)}, "parameter 'w' must be f32[2, 3], got float64[2, 3]",
         "store it in the type of the graph"),
    ],
)  # fmt: skip
def test_the_command_line_refuses_other_weights(model, capsys, arrays, message, hint):
    path = model.with_name("w.npz")
    np.savez(path, **arrays)
    assert run(model, path) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error[RLX-E001]: --weights: {message}",
        f"  try: {hint}",
    ]


def test_weights_of_a_graph_without_parameters_are_refused(model, capsys):
    graph = Graph("g")
    graph.output(graph.apply(RealCast(dtype=rlx.DType.F16), graph.input("x", f32(1, 2))))
    rlx.save(GraphModule.mir(graph), model)
    np.savez(model.with_name("w.npz"), w=W)
    assert run(model, model.with_name("w.npz")) == 2
    assert "--weights: the graph has no parameters" in capsys.readouterr().err


def sixes(*numbers):
    """Return numbers of six bits in bytes."""
    return sum(n << 6 * i for i, n in enumerate(numbers)).to_bytes(len(numbers) * 6 // 8, "little")


def packed_safetensors(tmp_path, kind, shape, data):
    header = json.dumps({"w": {"dtype": kind, "shape": shape, "data_offsets": [0, len(data)]}})
    path = tmp_path / "w.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)
    return path


@pytest.mark.parametrize(
    ("kind", "shape", "data", "values"),
    [
        # Each number is sign, exponent, mantissa; the first lies in the low bits.
        ("F4", [2, 2], bytes([0x21, 0x9F]), [[0.5, 1.0], [-6.0, -0.5]]),
        ("F6_E2M3", [4], sixes(0b011111, 0b100001, 0b001000, 0),
         [7.5, -0.125, 1.0, 0.0]),
        ("F6_E3M2", [4], sixes(0b011111, 0b100001, 0b001100, 0),
         [28.0, -0.0625, 1.0, 0.0]),
        ("F8_E8M0", [3], bytes([127, 0, 130]), [1.0, 2.0**-127, 8.0]),
        ("F8_E4M3FNUZ", [2], bytes([0x40, 0xC1]), [1.0, -1.125]),
        ("F8_E5M2FNUZ", [2], bytes([0x40, 0xC1]), [1.0, -1.25]),
    ],
)  # fmt: skip
def test_small_floats_of_safetensors_become_float32(tmp_path, kind, shape, data, values):
    path = packed_safetensors(tmp_path, kind, shape, data)
    (entry,) = (store := WeightStore.open(path)).entries
    assert store["w"].dtype == np.float32
    assert entry.type.shape == tuple(shape)
    np.testing.assert_array_equal(store["w"], np.array(values, np.float32))
