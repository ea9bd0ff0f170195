"""Emitted host programs: built by this machine's compiler, run on files of raw frames.

Tests: tests/sim/test_verify_host.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.support.errors import SimulationError, UsageError
from rlx.support.files.outputs import read_manifest
from rlx.support.files.scratch import work_folder
from rlx.support.process import run
from rlx_host.compiler import CODE_FLAGS
from rlx_host.instruction_set import available
from rlx_sim.firmware.host_c import BUILD_TIMEOUT_S, SANITIZERS
from rlx_sim.protocol import Simulation
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Array
    from rlx.support.files.golden import Golden
    from rlx_host.instruction_set import InstructionSet

WARNINGS: Final = ("-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror")
"""Every emitted C file compiles with these, by GCC and Clang."""


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Runs an emitted host program.

    Attributes:
        compiler: ``cc`` (any that is installed), ``gcc``, ``clang`` or ``zig``.
        optimization: Option of the compiler.
        sanitize: Stop at any error that AddressSanitizer or UndefinedBehaviorSanitizer reports.
    """

    compiler: str = "cc"
    optimization: str = "-O3"
    sanitize: bool = False

    @property
    def name(self) -> str:
        """``host`` or ``sanitize``."""
        return "sanitize" if self.sanitize else "host"

    def tools(self) -> dict[str, str]:
        """Return name and version of each tool used."""
        return {self.compiler: find(self.compiler).version}

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Build and run the program of ``folder``; see :class:`rlx_sim.protocol.Simulator`."""
        with work_folder("host") as work:
            return self.run(self.build(folder, work), vectors, work, timeout_s=timeout_s)

    def build(self, folder: Path, work: Path) -> Path:
        """Compile the program of ``folder`` in the folder ``work`` and return it.

        Raises:
            UsageError: This machine lacks the instruction set that it was emitted for.
            SimulationError: It does not compile.
        """
        folder = folder.resolve()  # An absolute path cannot be mistaken for an option.
        facts = read_manifest(folder, check_files=False).producer.facts
        prefix = str(facts["prefix"])
        instructions = _instructions(str(facts["instruction_set"]), folder)
        names = [f"{prefix}.c", f"{prefix}_main.c"]
        if (folder / "src" / f"{prefix}_weights.bin").is_file():
            names.append(f"{prefix}_weights.c")
        program = work / f"{prefix}_main"
        sanitizers = SANITIZERS if self.sanitize else ()
        argv = [
            *find(self.compiler).command, *WARNINGS, self.optimization, *sanitizers,
            *instructions.flags, *CODE_FLAGS, "-I", str(folder / "include"),
            *(str(folder / "src" / name) for name in names), "-o", str(program), "-lm",
        ]  # fmt: skip
        # The assembler looks for the constants in the working folder.
        run(argv, cwd=folder / "src", timeout_s=BUILD_TIMEOUT_S)
        return program

    def run(self, program: Path, vectors: Golden, work: Path, *, timeout_s: float) -> Simulation:
        """Run a program from :meth:`build` over ``vectors`` in the folder ``work``.

        Raises:
            SimulationError: The program crashed or failed, or a sanitizer stopped it.
            TimeLimitError: It took longer than ``timeout_s``.
        """
        inputs = [work / f"input_{k}.bin" for k in range(len(vectors.inputs))]
        outputs = [work / f"output_{k}.bin" for k in range(len(vectors.outputs))]
        for path, array in zip(inputs, vectors.inputs, strict=True):
            path.write_bytes(np.ascontiguousarray(array).tobytes())
        done = run([program, *inputs, *outputs], cwd=work, timeout_s=timeout_s)
        arrays = zip(outputs, vectors.outputs, strict=True)
        return Simulation(tuple(_read(path, like) for path, like in arrays), log=done.stdout)


def _instructions(name: str, folder: Path) -> InstructionSet:
    for instructions in available():
        if instructions.name == name:
            return instructions
    names = ", ".join(one.name for one in available())
    raise UsageError(
        f"was emitted for {name}, which this machine does not have",
        where=str(folder),
        hint=f"verify it on another machine, or emit it with --instruction-set: {names}",
    )


def _read(path: Path, like: Array) -> Array:
    """Return the frames of one output, with the element type and shape of ``like``."""
    content = path.read_bytes()
    if len(content) != like.nbytes:
        raise SimulationError(
            f"expected {like.nbytes} bytes, the program wrote {len(content)}", where=path.name
        )
    return np.frombuffer(content, like.dtype).reshape(like.shape)
