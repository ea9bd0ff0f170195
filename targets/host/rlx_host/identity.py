"""Text that identifies generated C without generating it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import rlx_c
from rlx.support.files.paths import template_root

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = Path(__file__).parent


def canonical(value: object) -> str:
    """Return a text that is equal for equal constants, in every process, and for no others.

    Raises:
        TypeError: A constant of a kernel has a type whose text may differ between processes.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes() if not isinstance(value, Enum):
            return repr(value)
        case tuple():
            return f"({','.join(map(canonical, value))})"
        case frozenset():
            return f"{{{','.join(sorted(map(canonical, value)))}}}"
        case Enum():
            return f"{type(value).__qualname__}.{value.name}"
    if is_dataclass(value) and not isinstance(value, type):
        inner = ",".join(canonical(getattr(value, field.name)) for field in fields(value))
        return f"{type(value).__qualname__}({inner})"
    raise TypeError(f"expected a number, text, tuple or dataclass, got {type(value).__name__}")


@cache
def generator_digest() -> str:
    """Return the SHA-256 of all files that generated C depends on: templates and Python modules."""
    digest = hashlib.sha256()
    for folder in (_PACKAGE, Path(rlx_c.__file__).parent, template_root() / "host"):
        for path in sorted(_files(folder)):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Python modules and templates in a folder and its folders."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names if name.endswith((".py", ".j2")))
