"""Loaded libraries, shared by all programs of one text, and kept on disk between processes.

Tests: tests/targets/host/test_program.py
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rlx.runtime.disk_cache import disk_cache, entry_key
from rlx.support.errors import SimulationError, ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx_host.compiler import FLAGS, MISSING, build, find_compiler, identity

if TYPE_CHECKING:
    from collections.abc import Callable

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


def load(text: str, flags: tuple[str, ...]) -> Callable[..., Any]:
    """Return the function ``rlx_run(pointers, first, last)`` of a C file.

    It raises StepError if a step fails.

    Raises:
        ToolMissingError: There is no C compiler.
        SimulationError: The text does not compile.
    """
    command = find_compiler()
    if command is None:
        raise ToolMissingError(MISSING, hint="set RLX_BACKEND=numpy to run without one")
    function = _library(text, command, flags).rlx_run
    function.restype = _check
    return function


def _check(status: int) -> None:
    """Raise StepError unless all steps ran."""
    if status:
        raise StepError(status - 1)


@lru_cache(_MAX_LIBRARIES)
def _library(text: str, command: tuple[str, ...], flags: tuple[str, ...]) -> ctypes.CDLL:
    parts = {"text": text, "compiler": identity(command), "flags": " ".join((*FLAGS, *flags))}
    key, cache = entry_key("native", parts), disk_cache()
    content = cache.get(key)
    if content is None:
        content = build(text, command, flags)
        cache.put(key, content)
    return open_library(content)


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
