"""Tensors that an ONNX model keeps in other files, only of its own folder.

The file that exporters write next to a model, ``net.onnx.data`` for ``net.onnx``, is read without
being allowed; others are not.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rlx.frontends.refusal import DamagedError, OverLimitError, UnsupportedError
from rlx.support.limits import raise_hint
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.frontends.onnx.file import External
    from rlx.support.limits import Limits

_ENDS = (".data", "_data")
_MOVE = "keep the data in a plain file of the model's own folder, and name it without folders above"


def reader(model: Path | None, limits: Limits, *, allowed: bool) -> External:
    """Return the function that reads external data.

    Args:
        model: The model's file; None if there is none, and so no external file.
        limits: Limit on the bytes of all tensors together.
        allowed: Whether any file of the model's folder is read, or only the one that has its name.
    """
    used = [0]

    def read(entries: Mapping[str, str]) -> bytes:
        location = entries.get("location", "")
        name = shorten(printable(location))
        if model is None:
            raise UnsupportedError(
                f"keeps its data in another file, '{name}', and the model is given as bytes",
                hint="give the path of the model, or store it in one file",
            )
        folder, parts = model.parent, _parts(location, name)
        if not allowed and (len(parts) > 1 or parts[0] not in _data_file_names(model.name)):
            raise UnsupportedError(
                f"keeps its data in another file, '{name}', which is not read by default",
                hint="if you trust the model's folder, add --allow-external; or "
                "store the model in one file",
            )
        offset, length = (_number(entries, key) for key in ("offset", "length"))
        with _opened(folder, parts, name) as (descriptor, size):
            begin = offset or 0
            count = size - begin if length is None else length
            if begin + count > size or count < 0:
                raise DamagedError(
                    f"keeps bytes {begin} to {begin + count} of '{name}', which has {size}"
                )
            used[0] += count
            if used[0] > limits.constant_bytes:
                raise OverLimitError(
                    f"tensors keep {used[0]} bytes in other files; "
                    f"the limit is {limits.constant_bytes}",
                    hint=raise_hint("constant_bytes", used[0]),
                )
            return _bytes(descriptor, begin, count)

    return read


def _data_file_names(name: str) -> tuple[str, ...]:
    """Return the names of the file of a model's data by exporter: PyTorch, Optimum, onnx."""
    stem = name.removesuffix(".onnx")
    return tuple(dict.fromkeys(f"{base}{end}" for base in (name, stem) for end in _ENDS))


def _parts(location: str, name: str) -> tuple[str, ...]:
    """Return the folders and the name of a location inside the model's folder.

    ``sub/../w.bin`` is ``w.bin``; a backslash is a letter like others, but where it parts names.
    """
    path = PurePosixPath(location)
    parts: list[str] = []
    bad = path.is_absolute() or "\0" in location or bool(Path(location).drive)
    for part in path.parts:
        if part != "..":
            parts.append(part)
            bad = bad or (os.sep != "/" and (os.sep in part or ":" in part))
        elif parts:
            parts.pop()
        else:
            bad = True
    if bad or not parts:
        raise UnsupportedError(
            f"keeps its data in '{name}', which is not inside the model's folder", hint=_MOVE
        )
    return tuple(parts)


def _number(entries: Mapping[str, str], key: str) -> int | None:
    text = entries.get(key)
    if text is None or text == "":
        return None
    # Eighteen digits fit 63 bits, and so every offset of a file.
    if not text.isdecimal() or len(text) > 18:
        raise DamagedError(
            f"states the {key} {shorten(printable(text))!r} of its data, expected bytes"
        )
    return int(text)


@contextmanager
def _opened(folder: Path, parts: tuple[str, ...], name: str) -> Iterator[tuple[int, int]]:
    """Open a file below ``folder`` without following any link; yield it and its size."""
    descriptors: list[int] = []
    follow = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
    step = follow | getattr(os, "O_NOFOLLOW", 0)
    try:
        try:
            descriptors.append(os.open(folder, follow | getattr(os, "O_DIRECTORY", 0)))
            for part in parts[:-1]:
                flags = step | getattr(os, "O_DIRECTORY", 0)
                descriptors.append(os.open(part, flags, dir_fd=descriptors[-1]))
            # Without O_NONBLOCK, opening a pipe waits for its writer.
            flags = step | getattr(os, "O_NONBLOCK", 0)
            descriptors.append(os.open(parts[-1], flags, dir_fd=descriptors[-1]))
        except FileNotFoundError:
            raise DamagedError(
                f"its data file '{name}' is missing",
                hint=f"copy '{name}', which the exporter wrote with the model, to the model's"
                " folder",
            ) from None
        except (OSError, NotImplementedError) as error:
            reason = error.strerror if isinstance(error, OSError) else "links cannot be excluded"
            raise UnsupportedError(
                f"keeps its data in '{name}', which cannot be opened without following links: "
                f"{reason}",
                hint=_MOVE,
            ) from None
        status = os.fstat(descriptors[-1])
        # A second name may be outside the folder, like the target of a symbolic link.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            plain = stat.S_ISREG(status.st_mode)
            what = "has several names (hard links)" if plain else "is not a regular file"
            raise UnsupportedError(f"keeps its data in '{name}', which {what}", hint=_MOVE)
        yield descriptors[-1], status.st_size
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _bytes(descriptor: int, begin: int, count: int) -> bytes:
    """Return ``count`` bytes from ``begin`` on."""
    os.lseek(descriptor, begin, os.SEEK_SET)
    pieces = []
    while count > 0 and (piece := os.read(descriptor, min(count, 1 << 20))):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
