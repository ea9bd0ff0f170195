"""Damaged files beside the model: vectors, manifests, golden files, the text form of graphs."""

from __future__ import annotations

import io
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from campaign import corpus
from campaign.damage import damage_part
from campaign.refusals import outcome
from rlx.driver.reference import given_inputs, random_inputs, reference_outputs
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.samples import read
from rlx.support.files.golden import Golden, read_golden
from rlx.support.files.outputs import MANIFEST, Producer, read_manifest, write_folder
from support.files.mutation import mutate, mutate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from campaign.part import Outcome
    from rlx.ir import Graph


def _vectors(number: int) -> Outcome:
    """Damage a file of inputs, half of the time in the text of its header."""
    files = tuple(vector_files().items())
    name, data = files[number // 2 % len(files)]
    return _with_files({name: _damaged(data, number)}, lambda f: use_vectors(f / name))


def use_vectors(path: Path) -> None:
    """Read inputs for :func:`vector_graph` and run it."""
    graph = vector_graph()
    given_inputs(graph, read([path], graph.inputs).arrays, None)


@cache
def vector_graph() -> Graph:
    """Return the graph that the vectors are for: one input ``x``, one output."""
    return tflite.load(corpus.small_models()[0]).graph


@cache
def vector_files() -> Mapping[str, bytes]:
    """Return sound files of vectors by name."""
    inputs = random_inputs(vector_graph(), 4)
    golden = reference_outputs(vector_graph(), inputs)
    arrays = {"x": golden.inputs[0], "y": golden.outputs[0]}
    return {
        "plain.npy": _npy(arrays["x"]),
        "columns.npy": _npy(np.asfortranarray(arrays["x"])),
        "plain.npz": _npz(np.savez, arrays),
        "packed.npz": _npz(np.savez_compressed, arrays),
    }


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _npz(save: Callable[..., None], arrays: Mapping[str, np.ndarray]) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def _manifest(number: int) -> Outcome:
    """Damage a manifest, half of the time by tokens."""
    files = dict(folder_files())
    files[MANIFEST] = _damaged(files[MANIFEST], number)
    return _with_files(files, read_manifest)


def _golden(number: int) -> Outcome:
    """Damage a golden file; the manifest is not asked."""
    files = {name: data for name, data in folder_files().items() if name != MANIFEST}
    name = sorted(files)[number // 2 % len(files)]
    files[name] = _damaged(files[name], number)
    return _with_files(files, read_golden)


@cache
def folder_files() -> Mapping[str, bytes]:
    """Return golden files and their manifest by path."""
    graph = vector_graph()
    golden: Golden = reference_outputs(graph, random_inputs(graph, 4))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "out")
        producer = Producer(
            rlx_version="0", target="cortexm", options={"cpu": "cortex-m4", "prefix": "net"},
            facts={"prefix": "net", "model_hash": "0"},
        )  # fmt: skip
        write_folder(place, golden.files(), producer=producer)
        found = [p for p in place.rglob("*") if p.is_file()]
        return {p.relative_to(place).as_posix(): p.read_bytes() for p in found}


def _text(number: int) -> Outcome:
    """Damage the text form of a graph, half of the time by tokens."""
    texts = graph_texts()
    data = _damaged(texts[number // 2 % len(texts)], number)
    return outcome(partial(_use_text, data.decode(errors="surrogateescape")))


def _use_text(text: str) -> None:
    format_graph(parse_graph(text))


@cache
def graph_texts() -> tuple[bytes, ...]:
    """Return the text form of small graphs."""
    small = [m.graph for m in corpus.modules() if len(m.graph.nodes) < 30]
    return tuple(format_graph(g).encode(errors="surrogateescape") for g in small)


def _damaged(data: bytes, number: int) -> bytes:
    return mutate_text(data, number) if number % 2 else mutate(data, number)


def _with_files(files: Mapping[str, bytes], read: Callable[[Path], object]) -> Outcome:
    """Return the outcome of ``read`` on a folder with ``files``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(data)
        return outcome(partial(read, folder))


def prepare() -> None:
    """Make the sound files."""
    vector_files()
    folder_files()
    graph_texts()


DAMAGED_READERS = tuple(
    damage_part(name, title, run, cases, prepare)
    for name, title, run, cases in (
        ("vectors", ".npy and .npz files damaged", _vectors, 2_000),
        ("manifests", "manifests damaged", _manifest, 1_000),
        ("golden", "golden files damaged", _golden, 1_000),
        ("text", "text forms of graphs damaged", _text, 1_000),
    )
)
