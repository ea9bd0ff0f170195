"""The C compiler of this machine, and shared libraries that it builds."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlx.support.config import current
from rlx.support.errors import RlxError
from rlx.support.files.scratch import work_folder
from rlx.support.process import run

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES: Final = ("cc", "gcc", "clang")
"""Programs that are looked for, in this order; ``python -m ziglang cc`` comes last."""

CODE_FLAGS: Final = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Flags of the generated code. Products and sums are never contracted: kernels that want a fused
one call it by name, so that results do not depend on the compiler's choice."""

FLAGS: Final = ("-O3", "-std=gnu11", "-fPIC", "-shared", *CODE_FLAGS, "-fvisibility=hidden")
"""Flags of all compilations."""

MISSING: Final = "there is no C compiler (cc, gcc, clang); install one, or: pip install 'rlx[zig]'"
"""The reason that nothing can be compiled here."""

_TIMEOUT_S: Final = 300.0
"""Limit of one compilation in seconds."""

_VERSION_TIMEOUT_S: Final = 20.0
"""Limit of ``--version``, in seconds."""


def find_compiler() -> tuple[str, ...] | None:
    """Return the command of the C compiler, or None if there is none.

    It is the setting ``cc`` (``RLX_CC``), else the first of ``NAMES`` on the path, else Zig's.
    """
    chosen = current().cc
    return tuple(shlex.split(chosen)) if chosen else _installed()


@cache
def _installed() -> tuple[str, ...] | None:
    for name in NAMES:
        if path := shutil.which(name):
            return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    return None


def build(text: str, command: Sequence[str], flags: Sequence[str]) -> bytes:
    """Return the shared library of a C file.

    Args:
        text: The C file.
        command: The compiler.
        flags: Flags in addition to ``FLAGS``.

    Raises:
        SimulationError: It does not compile.
        ToolMissingError: The compiler cannot be started.
    """
    with work_folder("native") as folder:
        source, library = folder / "program.c", folder / "program.so"
        source.write_text(text, encoding="utf-8")
        # Rounding functions are in the mathematical library.
        argv = [*command, *FLAGS, *flags, "-o", str(library), str(source), "-lm"]
        hint = "set RLX_CC to another compiler, or RLX_BACKEND=numpy"
        run(argv, cwd=folder, timeout_s=_TIMEOUT_S, hint=hint)
        return library.read_bytes()


def identity(command: Sequence[str]) -> str:
    """Return a text that differs between compilers and their versions, without starting one."""
    path = Path(shutil.which(command[0]) or command[0])
    try:
        status = path.stat()
    except OSError:
        return shlex.join(command)
    return f"{shlex.join(command)} {path.resolve()} {status.st_size} {status.st_mtime_ns}"


def version(command: Sequence[str]) -> str:
    """Return the first line that ``--version`` prints, or the command if that fails."""
    return _version(tuple(command), identity(command))


@cache
def _version(command: tuple[str, ...], identity: str) -> str:
    """Return the version of the compiler that has an identity: another file is asked again."""
    del identity
    try:
        printed = run([*command, "--version"], timeout_s=_VERSION_TIMEOUT_S).stdout
    except RlxError:
        return shlex.join(command)
    return printed.partition("\n")[0].strip() or shlex.join(command)
