"""Emitted C on this computer, plain or under sanitizers.

The folder's own test program is built with every warning an error and run in a process of its own:
a crash of the model becomes an error message and does not end Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.files.scratch import work_folder
from rlx.support.process import run
from rlx_sim.firmware.harness import prepare, result, sources
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx_sim.protocol import Simulation
    from rlx_sim.toolchain import InstalledTool

WARNINGS: Final = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-pedantic",
    "-Werror",
    "-DRLX_ALLOW_O0",
)
"""Every emitted C file compiles with these, on every compiler, processor and level, -O0 too."""

SANITIZERS: Final = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

BUILD_TIMEOUT_S: Final = 600.0

# Not the status with which the test program reports a difference.
_SANITIZER_STATUS: Final = "exitcode=66"


@dataclass(frozen=True, slots=True)
class HostC:
    """Runs emitted C on the host.

    Attributes:
        compiler: ``cc`` (any that is installed), ``gcc``, ``clang`` or ``zig``.
        optimization: Option of the compiler.
        sanitize: Stop at any error that AddressSanitizer or UndefinedBehaviorSanitizer reports.
        offset: Elements by which inputs and outputs are moved from an aligned address.
    """

    compiler: str = "cc"
    optimization: str = "-O2"
    sanitize: bool = False
    offset: int = 0

    @property
    def name(self) -> str:
        """``host`` or ``sanitize``."""
        return "sanitize" if self.sanitize else "host"

    def tools(self) -> dict[str, str]:
        """Return name and version of each tool used."""
        return {self.compiler: self._compiler().version}

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Build and run the test program of ``folder``; see :class:`rlx_sim.protocol.Simulator`."""
        with work_folder("host") as work:
            program = self.build(folder, work / "build" / "host")
            return self.run(program, vectors, work, timeout_s=timeout_s)

    def run(self, program: Path, vectors: Golden, work: Path, *, timeout_s: float) -> Simulation:
        """Run a program from :meth:`build` over ``vectors`` in the folder ``work``.

        Raises:
            SimulationError: The program crashed, or a sanitizer stopped it.
            TimeLimitError: It took longer than ``timeout_s``.
        """
        prepare(work, vectors)
        environment = {"ASAN_OPTIONS": _SANITIZER_STATUS, "UBSAN_OPTIONS": _SANITIZER_STATUS}
        done = run([program], cwd=work, timeout_s=timeout_s, env=environment, check=False)
        return result(done, work, vectors, name=self.name)

    def build(self, folder: Path, program: Path) -> Path:
        """Compile the test program of ``folder`` into ``program`` and return it."""
        folder = folder.resolve()  # An absolute path cannot be mistaken for an option.
        program.parent.mkdir(parents=True, exist_ok=True)
        model, test = sources(folder, "host.c")
        command = [*self._compiler().command, *self._options(), *_includes(folder)]
        run([*command, *test, *model, "-o", program], timeout_s=BUILD_TIMEOUT_S)
        return program

    def _compiler(self) -> InstalledTool:
        return find(self.compiler)

    def _options(self) -> Sequence[str]:
        sanitizers = SANITIZERS if self.sanitize else ()
        return (*WARNINGS, self.optimization, *sanitizers, f"-DRLX_TEST_OFFSET={self.offset}")


def _includes(folder: Path) -> tuple[str, ...]:
    return ("-I", str(folder / "include"), "-I", str(folder / "test"))
