"""Errors of ``.rlx`` files: the reason for which one is refused, and the place in it.

Tests: tests/unit/ir/test_file.py
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from rlx.ir.plain import PlainError
from rlx.support.errors import ShapeError, UsageError
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from rlx.ir.file_tensors import NodePath

_FOREIGN_SUFFIXES: Final = (".gguf", ".onnx", ".safetensors", ".tflite")

HINT = "the file was damaged or edited: write it again with rlx from the model that it came from"


class RefusedError(Exception):
    """A file is refused at a place in it."""

    def __init__(self, message: str, location: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = printable(message)
        self.location = location
        self.hint = hint


@contextmanager
def at(location: str) -> Iterator[None]:
    """Give refusals that come from inside their place, unless they have a nearer one."""
    try:
        yield
    except PlainError as e:
        raise RefusedError(str(e), location, hint=e.hint or HINT) from e
    except ShapeError as e:
        message = f"{e.where}: {e.message}" if e.where else e.message
        raise RefusedError(message, location, hint=e.own_hint or HINT) from e
    except RecursionError as e:
        raise RefusedError("nested too deeply", location, hint=HINT) from e


def where(path: NodePath, last: int | str) -> str:
    """Return the name of a place in messages, such as ``node 7: body: node 3``."""
    return ": ".join(f"node {step}" if isinstance(step, int) else step for step in (*path, last))


def check_suffix(path: str | PathLike[str], *, only: bool = False) -> None:
    """Refuse a path to write whose suffix is that of another model format.

    Args:
        path: The path.
        only: Whether to refuse every other suffix too, and none.

    Raises:
        UsageError: It is ``.onnx``, ``.tflite``, ``.safetensors`` or ``.gguf``.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix in _FOREIGN_SUFFIXES or (only and suffix != ".rlx"):
        raise UsageError(
            f"expected a name for a .rlx file, got {suffix or PurePath(path).name}",
            where=str(path),
            hint="end it in .rlx; 'rlx export' writes other formats",
        )
