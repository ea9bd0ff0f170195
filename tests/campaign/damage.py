"""Damaged models: only errors of rlx come out of them, soon and in little memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from campaign import corpus, onnx_corpus
from campaign.part import Outcome, Part
from campaign.refusals import outcome, read
from campaign.sealed import resealed
from support.files.mutation import mutate
from support.files.tflite_fields import scramble
from support.networks.mlperf_like import NETWORKS, network

if TYPE_CHECKING:
    from collections.abc import Callable

CPU_S = 1.0
MEMORY_MB = 512


def damage_part(
    name: str,
    title: str,
    run: Callable[[int], Outcome],
    cases: int,
    prepare: Callable[[], object] = corpus.prepare,
) -> Part:
    """Return a part whose cases give one file each to a reader."""
    return Part(
        name=name,
        title=title,
        goal=f"0 tracebacks, 0 over {CPU_S:g} s, 0 over {MEMORY_MB} MB",
        run=run,
        cases=cases,
        short=cases // 200,
        deadline_s=60,
        cpu_s=CPU_S,
        memory_mb=MEMORY_MB,
        prepare=prepare,
    )


def _networks(number: int) -> Outcome:
    """Damage bytes of one of the larger networks; parts of another one may get in."""
    files = [network(name) for name in NETWORKS]
    index = number % len(files)
    return _read(mutate(files[index], number, files[index - 1]), "model.tflite")


def _small(number: int) -> Outcome:
    """Damage bytes of a small model."""
    files = corpus.small_models()
    index = number % len(files)
    return _read(mutate(files[index], number, files[index - 1]), "model.tflite")


def _rlx(number: int) -> Outcome:
    """Damage bytes of a ``.rlx`` file; the checksum in it finds most of that."""
    files = corpus.rlx_files()
    index = number % len(files)
    return _read(mutate(files[index], number, files[index - 1]), "model.rlx")


def _fields(number: int) -> Outcome:
    """Change fields of a small model, or of a larger network in every sixth case."""
    files = corpus.small_models()
    index = number // 6 % len(files)
    data = files[index] if number % 6 else network("kws")
    return _read(scramble(data, number), "model.tflite")


def _sealed(number: int) -> Outcome:
    """Change the document in a ``.rlx`` file and give it the checksum that belongs to it."""
    files = corpus.rlx_files()
    return _read(resealed(files[number % len(files)], number), "model.rlx")


def _onnx(number: int) -> Outcome:
    """Damage bytes of an ONNX file; parts of another exporter's file may get in."""
    files = onnx_corpus.files()
    index = number % len(files)
    return _read(mutate(files[index], number, files[index - 1]), "model.onnx")


def _prepare_onnx() -> None:
    """Make all files, and read them once: what they define is looked up in a package."""
    for data in onnx_corpus.files():
        read(data, "model.onnx")


def _read(data: bytes, name: str) -> Outcome:
    return outcome(partial(read, data, name))


DAMAGED_MODELS = (
    damage_part("bytes-networks", "bytes of four networks damaged", _networks, 14_000),
    damage_part("bytes-models", "bytes of small models damaged", _small, 14_000),
    damage_part("bytes-rlx", "bytes of .rlx files damaged", _rlx, 4_000),
    damage_part(
        "onnx", "bytes of ONNX files of ten exporters damaged", _onnx, 20_000, _prepare_onnx
    ),
    damage_part("fields", "fields of models changed", _fields, 14_000),
    damage_part("sealed", ".rlx documents changed and sealed again", _sealed, 9_000),
)
