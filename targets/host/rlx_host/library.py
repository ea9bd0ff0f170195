"""Loaded libraries, shared by all programs of one text.

Tests: tests/targets/host/test_program.py
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import ToolMissingError
from rlx_host.compiler import MISSING, build, find_compiler

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

_MAX_LIBRARIES: Final = 64
"""Libraries that are found again without compiling."""


def load(text: str, flags: tuple[str, ...]) -> Callable[..., Any]:
    """Return the function ``rlx_run(pointers, first, last)`` of a C file.

    Raises:
        ToolMissingError: There is no C compiler.
        SimulationError: The text does not compile.
    """
    command = find_compiler()
    if command is None:
        raise ToolMissingError(MISSING, hint="set RLX_BACKEND=numpy to run without one")
    function = _library(text, command, flags).rlx_run
    function.restype = None
    return function


@lru_cache(_MAX_LIBRARIES)
def _library(text: str, command: tuple[str, ...], flags: tuple[str, ...]) -> ctypes.CDLL:
    return build(text, command, flags)
