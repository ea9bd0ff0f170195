"""Weights of safetensors files put into graphs by name."""

from __future__ import annotations

import json
import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import rlx
from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule
from rlx.ops.nn import NnLinear
from rlx.support.errors import FormatError, FrontendError, RlxError, UsageError
from rlx.support.limits import Limits
from support.files.mutation import mutate
from support.messages import raises

if TYPE_CHECKING:
    from pathlib import Path

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([0.5, -1.5], np.float32)


def linear(dtype: DType = DType.F32) -> Graph:
    """Return a dense layer with parameters ``fc.weight`` and ``fc.bias``."""
    graph = Graph("layer")
    x = graph.input("x", TensorType((1, 3), dtype))
    w = graph.param("fc.weight", TensorType((2, 3), dtype))
    b = graph.param("fc.bias", TensorType((2,), dtype))
    graph.output(graph.apply(NnLinear(), x, w, b, name="y"))
    return graph


def stored(path: Path, **arrays: np.ndarray) -> Path:
    save_file({name.replace("__", "."): np.asarray(a) for name, a in arrays.items()}, path)
    return path


def raw(path: Path, header: Any, data: bytes) -> Path:
    """Write a file with a header of its own."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def constants(graph: Graph) -> dict[str, np.ndarray]:
    return {n.name: n.result.constant for n in graph.nodes if n.result.constant is not None}


def test_parameters_become_constants(tmp_path: Path) -> None:
    path = stored(tmp_path / "w.safetensors", fc__weight=W, fc__bias=B)
    graph = rlx.load_weights(linear(), path)
    assert not graph.params
    x = np.array([[1, 2, 3]], np.float32)
    (found,) = evaluate(graph, {"x": x})
    np.testing.assert_array_equal(found, x @ W.T + B)


def test_modules_keep_stage_and_reference(tmp_path: Path) -> None:
    path = stored(tmp_path / "w.safetensors", fc__weight=W, fc__bias=B)
    module = rlx.load_weights(GraphModule.hir(linear()), path)
    assert module.stage is GraphModule.hir(linear()).stage
    assert not module.graph.params


def test_constants_get_other_elements_and_may_keep_theirs(tmp_path: Path) -> None:
    both = stored(tmp_path / "w.safetensors", fc__weight=W, fc__bias=B)
    graph = rlx.load_weights(linear(), both)
    again = rlx.load_weights(graph, stored(tmp_path / "b.safetensors", fc__bias=2 * B))
    np.testing.assert_array_equal(constants(again)["fc.bias"], 2 * B)
    np.testing.assert_array_equal(constants(again)["fc.weight"], W)


def test_names_are_mapped_or_left_out(tmp_path: Path) -> None:
    path = stored(tmp_path / "w.safetensors", model__w=W, model__b=B, step=np.int64(3))
    by_table = rlx.load_weights(
        linear(),
        stored(tmp_path / "two.safetensors", model__w=W, fc__bias=B),
        rename={"model.w": "fc.weight"},
    )
    names = {"model.w": "fc.weight", "model.b": "fc.bias"}
    by_function = rlx.load_weights(linear(), path, rename=names.get)
    for graph in (by_table, by_function):
        np.testing.assert_array_equal(constants(graph)["fc.weight"], W)


def test_weights_may_be_in_several_files(tmp_path: Path) -> None:
    paths = (
        stored(tmp_path / "a.safetensors", fc__weight=W),
        stored(tmp_path / "b.safetensors", fc__bias=B),
    )
    assert not rlx.load_weights(linear(), *paths).params


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.float16, DType.F32),
        (ml_dtypes.bfloat16, DType.F32),
        (ml_dtypes.float8_e4m3fn, DType.F32),
        (np.float64, DType.F32),
        (np.float32, DType.F16),
        (np.float32, DType.F32),
    ],
)
def test_element_types_are_converted_where_nothing_changes(
    tmp_path: Path, given: Any, wanted: DType
) -> None:
    names = {"float8_e4m3fn": "F8_E4M3", "bfloat16": "BF16", "float16": "F16",
             "float32": "F32", "float64": "F64"}  # fmt: skip
    parts, header = b"", {}
    for name, array in (("fc.weight", W), ("fc.bias", B)):
        data = array.astype(given).tobytes()
        place = [len(parts), len(parts) + len(data)]
        kind = names[np.dtype(given).name]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        parts += data
    graph = rlx.load_weights(linear(wanted), raw(tmp_path / "w.safetensors", header, parts))
    found = constants(graph)["fc.weight"]
    assert found.dtype == wanted.numpy
    np.testing.assert_array_equal(found.astype(np.float32), W)


def refused(graph: Graph, *paths: Path, **options: Any) -> RlxError:
    with pytest.raises(RlxError) as caught:
        rlx.load_weights(graph, *paths, **options)
    assert caught.value.hint or isinstance(caught.value, UsageError)
    return caught.value


def test_everything_that_does_not_fit_is_in_one_message(tmp_path: Path) -> None:
    path = stored(tmp_path / "w.safetensors", fc__weights=W, other=B)
    error = refused(linear(), path)
    assert isinstance(error, FrontendError)
    assert error.where == "w.safetensors"
    assert error.message.splitlines() == [
        "the weights do not fit the graph",
        "  the graph has no parameter or constant 'fc.weights', 'other'",
        "  the files have no tensor 'fc.bias', 'fc.weight'",
    ]


@pytest.mark.parametrize(
    ("weight", "line"),
    [
        (W.T, "'fc.weight' is f32[3, 2], expected f32[2, 3]"),
        (W.astype(np.int32), "'fc.weight' is i32, and as f32 some of its elements would be others"),
        (W.astype(np.float64) + 1e-9, "'fc.weight' is f64, and as f32 some"),
        (np.full((2, 3), np.nan, np.float32), "'fc.weight' holds NaN, which is not a number"),
        (np.full((2, 3), 1e300), "'fc.weight' is f64, and as f32 some"),
    ],
)
def test_shapes_and_elements_have_to_fit(tmp_path: Path, weight: np.ndarray, line: str) -> None:
    path = stored(tmp_path / "w.safetensors", fc__weight=np.ascontiguousarray(weight), fc__bias=B)
    assert line in refused(linear(), path).message


def test_integers_are_not_wrapped(tmp_path: Path) -> None:
    graph = Graph("g")
    graph.output(graph.param("n", TensorType((2,), DType.I8)))
    for fits, numbers in ((True, [-128, 127]), (False, [128, 0]), (False, [255, 0])):
        path = stored(tmp_path / "n.safetensors", n=np.array(numbers, np.int64))
        if fits:
            assert constants(rlx.load_weights(graph, path))["n"].tolist() == numbers
        else:
            assert "as i8 some" in refused(graph, path).message
    path = stored(tmp_path / "n.safetensors", n=np.array([255, 0], np.uint8))
    assert "as i8 some" in refused(graph, path).message


def test_a_name_that_two_constants_have_is_refused(tmp_path: Path) -> None:
    graph = Graph("g")
    graph.output(graph.constant(B, name="c"), graph.constant(B, name="c"))
    path = stored(tmp_path / "c.safetensors", c=B)
    assert "'c' may be any of 2 constants of the graph" in refused(graph, path).message


def test_two_tensors_of_one_name_are_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "w.safetensors", fc__weight=W, fc__bias=B, again=W)
    error = refused(linear(), path, rename={"again": "fc.weight"})
    assert "two tensors are called 'fc.weight'" in error.message


def test_names_in_messages_are_printable_and_few(tmp_path: Path) -> None:
    arrays = {f"evil\n\x1b[31m{i:03}": B for i in range(100)}
    path = tmp_path / "w.safetensors"
    save_file(arrays, path)
    error = refused(linear(), path)
    assert error.message.replace("\n", "").isprintable()
    assert "and 80 more" in error.message


ENTRY = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (b"{", b""),
        (b"[1]", b""),
        (b'{"a": 3}', b""),
        ({"a": {**ENTRY, "data_offsets": [0, 25]}}, bytes(25)),
        ({"a": {**ENTRY, "data_offsets": [4, 28]}}, bytes(28)),
        ({"a": {**ENTRY, "shape": [1 << 40, 1 << 40]}}, bytes(24)),
        ({"a": {**ENTRY, "shape": [-2, -3]}}, bytes(24)),
        ({"a": {**ENTRY, "dtype": "F33"}}, bytes(24)),
        ({"a": {**ENTRY, "dtype": "C64", "data_offsets": [0, 48]}}, bytes(48)),
        ({"a": ENTRY, "b": ENTRY}, bytes(24)),
        ({"a": ENTRY}, bytes(23)),
        (b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
         b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)),
        (b"[" * 100_000, b""),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(tmp_path: Path, header: Any, data: bytes) -> None:
    error = refused(linear(), raw(tmp_path / "w.safetensors", header, data))
    assert isinstance(error, FrontendError)
    assert error.message.isprintable()


def test_headers_and_files_over_a_limit_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 60) + bytes(100))
    assert "but 108 bytes in all" in refused(linear(), path).message
    sound = stored(path, fc__weight=W, fc__bias=B)
    assert "the limit is" in refused(linear(), sound, limits=Limits(document_bytes=10)).message
    assert "the limit" in refused(linear(), sound, limits=Limits(file_bytes=100)).message
    assert "the limit is 1" in refused(linear(), sound, limits=Limits(tensors=1)).message


def test_other_formats_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w=W)
    (tmp_path / "w.dat").write_bytes(bytes(range(40)))
    for name in ("w.npz", "w.dat"):
        with raises(FormatError):
            rlx.load_weights(linear(), tmp_path / name)
    save_file({"fc.weight": W, "fc.bias": B}, tmp_path / "weights.bin")
    assert rlx.load_weights(linear(), tmp_path / "weights.bin").params == ()


def test_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    assert isinstance(refused(linear(), tmp_path / "no.safetensors"), UsageError)
    (tmp_path / "folder").mkdir()
    assert isinstance(refused(linear(), tmp_path / "folder"), RlxError)


@pytest.mark.parametrize("seed", range(300))
def test_damaged_files_end_in_typed_errors(tmp_path: Path, seed: int) -> None:
    sound = stored(tmp_path / "sound.safetensors", fc__weight=W, fc__bias=B)
    path = tmp_path / "w.safetensors"
    path.write_bytes(mutate(sound.read_bytes(), seed))
    try:
        graph = rlx.load_weights(linear(), path)
    except RlxError:
        return
    assert not graph.params


def test_one_tensor_is_in_memory_at_a_time(tmp_path: Path) -> None:
    size, count = 1 << 20, 16
    graph, arrays = Graph("g"), {}
    for i in range(count):
        value = graph.param(f"w{i}", TensorType((size // 4,), DType.F32))
        graph.output(value)
        arrays[f"w{i}"] = np.zeros(size // 4, np.float64)
    path = stored(tmp_path / "w.safetensors", **arrays)
    del arrays
    tracemalloc.start()
    try:
        loaded = rlx.load_weights(graph, path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(loaded.outputs) == count
    # The graph's constants, and a few copies of one tensor.
    assert peak < (count + 8) * size
