"""Stores of weights: what they hold, when it is read, and what several names of one weight mean."""

from __future__ import annotations

import threading
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import rlx
from rlx.frontends.weights import WeightStore
from rlx.ir import DType, TensorType
from rlx.ir.evaluate import evaluate
from rlx.passes.transforms.freeze import freeze
from rlx.support.errors import UsageError
from support.messages import raises

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([0.5, -1.5], np.float32)


@pytest.fixture
def path(tmp_path):
    save_file({"fc.w": W, "fc.b": B, "steps": np.int64([7])}, tmp_path / "w.safetensors")
    return tmp_path / "w.safetensors"


def is_mapped(array):
    """Whether the elements lie in a mapped file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview)


def test_a_store_is_a_mapping(path):
    store = WeightStore.open(path)
    assert sorted(store) == ["fc.b", "fc.w", "steps"]
    assert len(store) == 3
    assert "fc.w" in store
    assert "w" not in store
    np.testing.assert_array_equal(store["fc.w"], W)
    assert store["fc.w"] is store["fc.w"]
    assert store.get("w") is None
    assert repr(store) == "<WeightStore: 3 weights, 40 bytes>"
    with raises(KeyError):
        store["fc.wl"]
    with raises(KeyError):
        store["zzz"]


def test_weights_are_read_only(path, tmp_path):
    np.savez(tmp_path / "w.npz", a=W)
    np.savez_compressed(tmp_path / "packed.npz", b=W)
    stores = (
        WeightStore.open(path, tmp_path / "w.npz", tmp_path / "packed.npz"),
        WeightStore.of({"w": W.copy()}),
    )
    for store in stores:
        for array in store.values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_nothing_is_read_before_it_is_used(path):
    store = WeightStore.open(path)
    assert store.loaded_bytes == 0
    assert store.total_bytes == 40
    assert store.entries[1].type == TensorType((2, 3), DType.F32)
    assert store.loaded_bytes == 0
    _ = store["fc.w"]
    assert store.loaded_bytes == 24


def test_entries_tell_what_is_there(path):
    store = WeightStore.open(path).with_aliases({"head": "fc.w"})
    _ = store.pin("head")
    found = [(e.name, str(e.type), e.nbytes, e.file, e.alias_of, e.pins) for e in store.entries]
    assert found == [
        ("fc.b", "f32[2]", 8, path, None, 0),
        ("fc.w", "f32[2, 3]", 24, path, None, 1),
        ("steps", "i64[1]", 8, path, None, 0),
        ("head", "f32[2, 3]", 0, path, "fc.w", 1),
    ]


def test_weights_of_files_are_not_copied(tmp_path, path):
    # The lengths of these names put the arrays at multiples of 4 bytes, that of "a" does not.
    np.savez(tmp_path / "w.npz", wx=W, turned=np.asfortranarray(W), a=W)
    store = WeightStore.open(path, tmp_path / "w.npz")
    for name in ("fc.w", "wx", "turned"):
        assert is_mapped(store[name])
    assert not is_mapped(store["a"])
    assert store["a"].flags.aligned
    np.testing.assert_array_equal(store["turned"], W)
    assert store["turned"].flags.f_contiguous


def test_a_large_weight_takes_no_memory(tmp_path):
    np.savez(tmp_path / "w.npz", wx=np.zeros(1 << 21, np.float32))
    tracemalloc.start()
    try:
        store = WeightStore.open(tmp_path / "w.npz")
        array = store["wx"]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert array.nbytes == 8 << 20
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "f8e4m3"),
        (ml_dtypes.float8_e5m2, "f8e5m2"), (np.float16, "f16"), (np.bool_, "bool"),
        (np.uint64, "u64"),
    ],
)  # fmt: skip
def test_element_types_of_safetensors(tmp_path, dtype, name):
    array = np.array([[0, 1, 2]]).astype(dtype)
    save_file({"w": array}, tmp_path / "w.safetensors")
    store = WeightStore.open(tmp_path / "w.safetensors")
    assert store.entries[0].type.dtype.value == name
    assert store["w"].dtype == dtype
    assert store["w"].tobytes() == array.tobytes()


def test_weights_at_odd_places_are_aligned(tmp_path):
    save_file({"a": np.int8([1]), "b": np.float32([2]), "c": np.int16([3])}, tmp_path / "w")
    path = (tmp_path / "w").rename(tmp_path / "w.safetensors")
    data = bytearray(path.read_bytes())
    header = data[8 : 8 + int.from_bytes(data[:8], "little")].rstrip()
    odd = header + b" " * (1 + len(header) % 2)
    path.write_bytes(len(odd).to_bytes(8, "little") + odd + data[-7:])
    for name, value in WeightStore.open(path).items():
        assert value.flags.aligned
        assert value.tolist() == [{"a": 1, "b": 2, "c": 3}[name]]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1, 1)])
@pytest.mark.parametrize("kind", ["safetensors", "npz", "packed"])
def test_shapes_of_any_kind(tmp_path, shape, kind):
    array = np.ones(shape, np.float32)
    path = tmp_path / ("w.safetensors" if kind == "safetensors" else "w.npz")
    if kind == "safetensors":
        save_file({"w": array}, path)
    else:
        (np.savez if kind == "npz" else np.savez_compressed)(path, w=array)
    found = WeightStore.open(path)["w"]
    assert found.shape == shape
    np.testing.assert_array_equal(found, array)


def test_big_endian_and_compressed_arrays_are_converted(tmp_path):
    np.savez(tmp_path / "big.npz", w=W.astype(">f4"))
    np.savez_compressed(tmp_path / "packed.npz", b=B, t=np.asfortranarray(W))
    store = WeightStore.open(tmp_path / "big.npz", tmp_path / "packed.npz")
    for name, wanted in {"w": W, "b": B, "t": W}.items():
        assert store[name].dtype == np.float32
        np.testing.assert_array_equal(store[name], wanted)


def test_arrays_that_are_given():
    mutable = W.copy()
    fixed = W.copy()
    fixed.flags.writeable = False
    store = WeightStore.of({"a": mutable, "tied": mutable, "b": fixed, "c": [1.0, 2.0]})
    mutable[0, 0] = 99
    assert store["a"][0, 0] == 0
    assert store["a"] is store["tied"]
    assert np.shares_memory(store["b"], fixed)
    assert store.total_bytes == 24 + 24 + 16
    assert [e.alias_of for e in store.entries] == [None, "a", None, None]
    assert (store.release(), store.loaded_bytes) == (0, 64)
    with raises(ValueError):
        WeightStore.of({"a": np.array(["x"])})


def test_aliases_are_one_weight(path):
    store = WeightStore.open(path).with_aliases({"head.w": "fc.w"})
    assert store["head.w"] is store["fc.w"]
    assert store.total_bytes == 40
    with raises(UsageError):
        store.with_aliases({"x": "fc.v"})
    with raises(UsageError):
        store.with_aliases({"fc.b": "fc.w"})


def test_names_are_changed(path):
    store = WeightStore.open(path)
    assert sorted(store.under("fc.")) == ["b", "w"]
    assert sorted(WeightStore.of({"a": B, "ab": B}).under("a")) == ["b"]
    assert sorted(store.renamed({"fc.w": "w"})) == ["fc.b", "steps", "w"]
    by_rule = store.renamed(lambda name: "net." + name if name.startswith("fc") else None)
    assert sorted(by_rule) == ["net.fc.b", "net.fc.w"]
    assert by_rule["net.fc.w"] is store["fc.w"]
    with raises(UsageError):
        store.under("fd.")
    with raises(UsageError):
        store.renamed({"fc.w": "w", "fc.b": "w"})
    with raises(UsageError):
        store.renamed({"fc.x": "w"})


def test_pins_keep_arrays_in_memory(path):
    store = WeightStore.open(path)
    with store.pin("fc.w") as array:
        assert array is store["fc.w"]
        again = store.under("fc.").pin("w")
        assert [e.pins for e in store.entries] == [0, 2, 0]
        assert store.release() == 0
        assert store["fc.w"] is array
    assert again.array is array
    _ = store["fc.b"]
    assert store.release() == 8
    assert store["fc.w"] is array
    store.unpin("fc.w")
    assert store.release() == 24
    assert store.loaded_bytes == 0
    assert store["fc.w"] is not array
    np.testing.assert_array_equal(array, W)
    with raises(UsageError):
        store.unpin("fc.w")
    for method in (store.pin, store.unpin):
        with raises(UsageError):
            method("zzz")


def test_threads_read_a_weight_once(path):
    store = WeightStore.open(path)
    start, found = threading.Barrier(8), []

    def work():
        start.wait()
        for _ in range(200):
            with store.pin("fc.w") as array:
                found.append(id(array))
                store.release()

    with store.pin("fc.w"):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 1600
        assert set(found) == {id(store["fc.w"])}
    assert [e.pins for e in store.entries] == [0, 0, 0]


def linear():
    graph = rlx.Graph("g")
    x = graph.input("x", (1, 2))
    graph.output(x @ graph.param("fc.w", (2, 3)), names=["y"])
    return graph


def test_compiled_graphs_take_stores_without_copying(path):
    x = np.array([[1, 2]], np.float32)
    compiled = rlx.Session().compile(linear())
    store = WeightStore.open(path)
    with raises(ValueError):
        compiled.set_params(store)
    store.release()
    compiled.set_params(store, strict=False)
    assert store.loaded_bytes == 24
    np.testing.assert_array_equal(compiled.run({"x": x})[0], x @ W)
    assert np.shares_memory(compiled._params["fc.w"], store["fc.w"])


def test_graphs_are_frozen_with_stores(path):
    x = np.array([[1, 2]], np.float32)
    store = WeightStore.open(path)
    frozen = freeze(linear().graph, store, strict=False)
    assert store.loaded_bytes == 24
    np.testing.assert_array_equal(evaluate(frozen, {"x": x})[0], x @ W)
    with raises(ValueError):
        freeze(linear().graph, store)
