"""Kinds of folders passed as models, by the names of the files in them.

Tests: tests/unit/frontends/foreign/test_foreign.py
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from rlx.frontends.foreign import hints
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MAX_ENTRIES: Final = 1000
"""Entries of a folder that are looked at."""
_MAX_LISTED_FILES: Final = 3
"""Files in one message."""
_MODEL_SUFFIXES: Final = (".tflite", ".onnx", ".rlx")

_KINDS: Final[tuple[tuple[str, str, Callable[[frozenset[str]], bool]], ...]] = (
    (
        "a TensorFlow SavedModel",
        hints.SAVED_MODEL,
        lambda names: bool(names & {"saved_model.pb", "saved_model.pbtxt"}),
    ),
    (
        "a Core ML package",
        hints.COMPILED,
        lambda names: {"Manifest.json", "Data"} <= names,
    ),
    (
        "a checkpoint of the library transformers",
        hints.TRANSFORMERS,
        lambda names: (
            "config.json" in names
            and bool(names & {"model.safetensors", "pytorch_model.bin", "tf_model.h5"})
        ),
    ),
    (
        "a TensorFlow checkpoint: weights without the network",
        hints.CHECKPOINT,
        lambda names: "checkpoint" in names,
    ),
    (
        "an output folder of rlx",
        hints.EMITTED,
        lambda names: {"manifest.json", "report.json"} <= names,
    ),
)


def folder_kind(path: Path) -> tuple[str, str] | None:
    """Return the name of a folder's kind and the hint for it; None if its kind is unknown."""
    names = frozenset(entries(path))
    return next(((what, hint) for what, hint, matches in _KINDS if matches(names)), None)


def folder_hint(path: Path) -> str:
    """Return the hint for a folder of an unknown kind: the models in it, if there are any."""
    models = [name for name in entries(path) if name.lower().endswith(_MODEL_SUFFIXES)]
    if not models:
        return "give the path of a model file: .tflite, .onnx or .rlx"
    shown = ", ".join(shorten(printable(name)) for name in models[:_MAX_LISTED_FILES])
    return f"give a file of it: {shown}" + (", ..." if len(models) > _MAX_LISTED_FILES else "")


def entries(path: Path) -> list[str]:
    """Return names in a folder, sorted: at most a thousand, none if it cannot be read."""
    try:
        return sorted(p.name for p in itertools.islice(path.iterdir(), _MAX_ENTRIES))
    except OSError:
        return []
