"""Loaded libraries, shared by all programs of one C file, and kept on disk between processes.

Tests: tests/targets/host/test_program.py
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rlx.runtime.disk_cache import disk_cache, entry_key
from rlx.support.errors import SimulationError, ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx_host.compiler import FLAGS, MISSING, build, find_compiler, identity
from rlx_host.identity import generator_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx_host.source import ProgramSource

_MAX_LIBRARIES: Final = 64
"""Libraries that are found again without compiling."""


class StepError(Exception):
    """A step of a native program failed.

    Attributes:
        step: Number of the call.
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"step {step} of a native program failed")
        self.step = step


@dataclass(frozen=True, slots=True)
class Library:
    """A compiled C file.

    Attributes:
        key: A SHA-256 over all that its code depends on.
        run: The function ``rlx_run(pointers, first, last, pool)``; it raises StepError if a step
            fails.
    """

    key: str
    run: Callable[..., object]


def load(source: ProgramSource, extra_flags: tuple[str, ...] = ()) -> Library:
    """Return the compiled form of a C file, from the cache on disk if it is there.

    Args:
        source: The file.
        extra_flags: Flags in addition to those of all compilations and of the instruction set.

    Raises:
        ToolMissingError: No C compiler is installed.
        SimulationError: The text does not compile.
    """
    return _library(source, compiler(), (*source.instructions.flags, *extra_flags))


def compiler() -> tuple[str, ...]:
    """Return the command of the C compiler.

    Raises:
        ToolMissingError: None is installed.
    """
    command = find_compiler()
    if command is None:
        raise ToolMissingError(MISSING, hint="set RLX_BACKEND=numpy to run without one")
    return command


def _check(status: int) -> None:
    """Raise StepError unless all steps ran."""
    if status:
        raise StepError(status - 1)


@lru_cache(_MAX_LIBRARIES)
def _library(source: ProgramSource, command: tuple[str, ...], flags: tuple[str, ...]) -> Library:
    key, loaded = load_text(source.identity, lambda: source.text, command, flags)
    function = loaded.rlx_run
    function.restype = _check
    return Library(key, function)


def load_text(
    source: str, text: Callable[[], str], command: tuple[str, ...], flags: tuple[str, ...]
) -> tuple[str, ctypes.CDLL]:
    """Return the cache key and the library of a C file, from the disk if it is there.

    Args:
        source: Text that determines the file, given the files of this package.
        text: Returns the file.
        command: The compiler.
        flags: Flags in addition to those of all compilations.
    """
    parts = {
        "source": source,
        "generator": generator_digest(),
        "compiler": identity(command),
        "flags": " ".join((*FLAGS, *flags)),
    }
    key, cache = entry_key("native", parts), disk_cache()
    content = cache.get(key)
    if content is None:
        content = build(text(), command, flags)
        cache.put(key, content)
    return key, open_library(content)


def open_library(content: bytes) -> ctypes.CDLL:
    """Return the loaded form of a shared library; nothing of it stays on disk.

    Raises:
        SimulationError: It cannot be loaded.
    """
    with work_folder("native") as folder:
        path = folder / "program.so"
        path.write_bytes(content)
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            raise SimulationError(
                f"the compiled program cannot be loaded: {error}",
                hint="set RLX_CC to another compiler, or RLX_BACKEND=numpy",
            ) from None
