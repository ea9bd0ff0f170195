"""Builds the emitted test program for a Cortex-M, with GCC for ARM or with Zig from pip.

Tests: tests/sim/firmware/test_emulators.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.process import run
from rlx_sim.firmware.disassembly import disassemble
from rlx_sim.firmware.elf import SectionSizes, object_sizes
from rlx_sim.firmware.harness import sources
from rlx_sim.firmware.host_c import BUILD_TIMEOUT_S, WARNINGS
from rlx_sim.firmware.instruction_set import check_instructions
from rlx_sim.firmware.stack import StackBound, stack_bound
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rlx_sim.toolchain import InstalledTool


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor that firmware can be built for.

    Attributes:
        name: GCC's name.
        gcc: GCC's options for its floating-point unit.
        zig: Zig's options for target triple and processor.
        script: Linker script in the emitted ``test`` folder.
        machine: QEMU's board with it, or None.
        unicorn: Whether unicorn emulates it.
        like: Core that emulators run its code on, if they lack this one.
        gcc_name: Another name for GCC, if older releases lack the core.
    """

    name: str
    gcc: tuple[str, ...]
    zig: tuple[str, ...]
    script: str
    machine: str | None
    unicorn: bool = True
    like: str = ""
    gcc_name: str = ""

    @property
    def emulated(self) -> str:
        """Name of the core that emulators have."""
        return self.like or self.name


def _hard(fpu: str) -> tuple[str, ...]:
    return (f"-mfpu={fpu}", "-mfloat-abi=hard")


def _zig(core: str, abi: str) -> tuple[str, ...]:
    """Return Zig's options; its cores lack the extensions that are an option of Arm's."""
    return ("-target", f"thumb-freestanding-{abi}", f"-mcpu={core}")


CPUS: Final[Mapping[str, Cpu]] = {
    cpu.name: cpu
    for cpu in (
        Cpu("cortex-m0", (), _zig("cortex_m0", "eabi"), "mps2.ld", None),
        Cpu("cortex-m3", (), _zig("cortex_m3", "eabi"), "mps2.ld", "mps2-an385"),
        Cpu(
            "cortex-m4",
            _hard("fpv4-sp-d16"),
            _zig("cortex_m4", "eabihf"),
            "mps2.ld",
            "mps2-an386",
        ),
        Cpu(
            "cortex-m7",
            _hard("fpv5-sp-d16"),
            _zig("cortex_m7", "eabihf"),
            "mps2.ld",
            "mps2-an500",
        ),
        Cpu(
            "cortex-m33",
            _hard("fpv5-sp-d16"),
            _zig("cortex_m33+dsp", "eabihf"),
            "mps2_an505.ld",
            "mps2-an505",
        ),
        # GCC derives the vector and floating-point units from the name of the core.
        Cpu(
            "cortex-m55",
            ("-mfloat-abi=hard",),
            _zig("cortex_m55+mve", "eabihf"),
            "mps3_an547.ld",
            "mps3-an547",
            unicorn=False,
        ),
    )
}
"""Processors by name."""

_FPV5: Final = _hard("fpv5-sp-d16")
_ZIG_SOFT: Final = "-fp_armv8d16sp-vfp4d16sp-vfp3d16sp-vfp2sp"


def _small(name: str, like: str = "cortex-m0") -> Cpu:
    """Return a core without DSP extension and floating-point unit, run on a Cortex-M3."""
    zig = _zig(name.replace("-", "_"), "eabi")
    return Cpu(name, (), zig, "mps2.ld", "mps2-an385", like=like)


def _main(name: str, gcc: tuple[str, ...], core: str, abi: str = "eabihf") -> Cpu:
    """Return a variant of a Cortex-M33, run on one."""
    script, machine = "mps2_an505.ld", "mps2-an505"
    return Cpu(name, gcc, _zig(core, abi), script, machine, like="cortex-m33")


def _vectors(name: str) -> Cpu:
    """Return a core with the instructions of a Cortex-M55, which GCC 12 and QEMU lack."""
    return Cpu(
        name, ("-mfloat-abi=hard",), _zig("cortex_m55+mve", "eabihf"), "mps3_an547.ld",
        "mps3-an547", unicorn=False, like="cortex-m55", gcc_name="cortex-m55",
    )  # fmt: skip


ALIASES: Final[Mapping[str, Cpu]] = {
    cpu.name: cpu
    for cpu in (
        _small("cortex-m0plus"),
        _small("cortex-m1"),
        _small("cortex-m23", like="cortex-m3"),
        Cpu(
            "cortex-m4+nofp", (), _zig("cortex_m4-vfp4d16sp-vfp3d16sp-vfp2sp", "eabi"),
            "mps2.ld", "mps2-an386", like="cortex-m4",
        ),
        Cpu(
            "cortex-m7+nofp", (), _zig(f"cortex_m7{_ZIG_SOFT}", "eabi"),
            "mps2.ld", "mps2-an500", like="cortex-m7",
        ),
        _main("cortex-m33+nofp", (), f"cortex_m33+dsp{_ZIG_SOFT}", "eabi"),
        _main("cortex-m33+nodsp", _FPV5, "cortex_m33"),
        _main("cortex-m33+nodsp+nofp", (), f"cortex_m33{_ZIG_SOFT}", "eabi"),
        _main("cortex-m35p", _FPV5, "cortex_m35p+dsp"),
        _main("cortex-m35p+nofp", (), f"cortex_m35p+dsp{_ZIG_SOFT}", "eabi"),
        _main("cortex-m35p+nodsp", _FPV5, "cortex_m35p"),
        _main("cortex-m35p+nodsp+nofp", (), f"cortex_m35p{_ZIG_SOFT}", "eabi"),
        _vectors("cortex-m52"),
        _vectors("cortex-m85"),
    )
}  # fmt: skip
"""More processors by name: GCC's names, whose code runs on a board with another core."""


def known_cpus() -> Mapping[str, Cpu]:
    """Return all processors by name."""
    return {**CPUS, **ALIASES}


def cpu_named(name: str) -> Cpu:
    """Return a processor.

    Raises:
        KeyError: The name is unknown.
    """
    return CPUS[name] if name in CPUS else ALIASES[name]


_GCC: Final = ("-mthumb", "-ffunction-sections", "-fdata-sections")
_GCC_LINK: Final = ("-nostartfiles", "-specs=nano.specs", "-specs=nosys.specs", "-Wl,--gc-sections")

# For a target without an operating system Zig does not assume a C library: it compiles every small
# memcpy to a call and lacks <string.h>. -fshort-enums matches GCC on ARM.
_ZIG: Final = (
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-unwind-tables",
    "-fno-sanitize=undefined",
    "-fshort-enums",
    "-Dmemcpy=__builtin_memcpy",
    "-Dmemmove=__builtin_memmove",
    "-Dmemset=__builtin_memset",
)
# Not -nostdlib, which would also drop the compiler's own run-time library.
_ZIG_LINK: Final = ("-nostartfiles", "-Wl,--gc-sections")

COMPILERS: Final = ("gcc", "zig")
"""Compilers for firmware: GCC for ARM, and the Clang in Zig."""

SELF_TEST: Final = "_self_test"
"""End of the name of the model's file that holds its self-test."""

LABELS: Final = "_labels"
"""The same for names of classes."""

_TOOLS: Final = {"gcc": "arm-none-eabi-gcc", "zig": "zig"}


@dataclass(frozen=True, slots=True)
class Firmware:
    """A built test program.

    Attributes:
        elf: The program.
        cpu: Processor it is for.
        sizes: Bytes of the model's own object files, without the test program's.
        stack: Bound on the model's stack, from the compiler; None if it does not report one.
    """

    elf: Path
    cpu: Cpu
    sizes: SectionSizes
    stack: StackBound | None


@dataclass(frozen=True, slots=True)
class FirmwareBuild:
    """Settings by which firmware is built.

    Attributes:
        cpu: Name in :data:`CPUS` or :data:`ALIASES`.
        compiler: Name in :data:`COMPILERS`.
        optimization: Option of the compiler.
        offset: Elements by which inputs and outputs are moved from an aligned address.
        flags: More options of the compiler, for every file.
    """

    cpu: str = "cortex-m4"
    compiler: str = "gcc"
    optimization: str = "-O2"
    offset: int = 0
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.cpu not in known_cpus():
            msg = f"no processor is called {self.cpu!r}; known: {', '.join(known_cpus())}"
            raise ValueError(msg)
        if self.compiler not in COMPILERS:
            msg = f"no compiler is called {self.compiler!r}; known: {', '.join(COMPILERS)}"
            raise ValueError(msg)

    def tool(self) -> InstalledTool:
        """Return the compiler.

        Raises:
            ToolMissingError: It is not installed.
        """
        return find(_TOOLS[self.compiler])

    def build(self, folder: Path, output: Path, *, more: Sequence[Path] = ()) -> Firmware:
        """Build the test program of the emitted ``folder`` in the folder ``output``.

        Args:
            folder: An output folder of ``rlx emit --target cortexm``.
            output: Folder for all built files.
            more: Further C files to link.

        Raises:
            OutputError: ``folder`` lacks the test program.
            ToolMissingError: The compiler is not installed.
            SimulationError: It refused the sources (carries its last lines), or the program has an
                instruction that the processor lacks.
            TimeLimitError: It took too long.
        """
        folder, output = folder.resolve(), output.resolve()
        model, test = sources(folder, "semihosting.c", "start.c")
        model_objects = [self._compile(source, folder, output / "model") for source in model]
        test_objects = [self._compile(source, folder, output / "test") for source in (*test, *more)]
        elf = output / "firmware.elf"
        self._link([*test_objects, *model_objects], folder / "test", elf)
        check_instructions(elf, self.cpu)
        # The linker leaves the self-test and labels out of a firmware that does not use them.
        shipped = [
            path
            for path in model_objects
            if not path.stem.endswith((SELF_TEST, LABELS))
            or (folder / "include" / f"{path.stem}.h").is_file()  # a network of such a name
        ]
        graphs, test_graphs = _call_graphs(shipped), _call_graphs(test_objects)
        stack = stack_bound(graphs, disassemble(elf), test_graphs) if graphs else None
        return Firmware(elf, cpu_named(self.cpu), object_sizes(shipped), stack)

    def _compile(self, source: Path, folder: Path, output: Path) -> Path:
        output.mkdir(parents=True, exist_ok=True)
        target = output / f"{source.stem}.o"
        command = [
            *(*self.tool().command, *self._machine(), *WARNINGS, self.optimization),
            *self._dialect(folder / "test"),
            *("-I", str(folder / "include"), "-I", str(folder / "test")),
            *(f"-DRLX_TEST_OFFSET={self.offset}", *self.flags),
            *("-c", str(source), "-o", str(target)),
        ]
        run(command, timeout_s=BUILD_TIMEOUT_S)
        return target

    def _link(self, objects: Sequence[Path], test: Path, elf: Path) -> None:
        options = _GCC_LINK if self.compiler == "gcc" else _ZIG_LINK
        command = (
            *self.tool().command,
            *self._machine(),
            *options,
            "-T",
            cpu_named(self.cpu).script,
        )
        # In the folder of the script: Zig passes no -L to its linker for the script's INCLUDE.
        run([*command, *objects, "-o", elf], cwd=test, timeout_s=BUILD_TIMEOUT_S)

    def _machine(self) -> tuple[str, ...]:
        cpu = cpu_named(self.cpu)
        return (
            (f"-mcpu={cpu.gcc_name or cpu.name}", *cpu.gcc, "-mthumb")
            if self.compiler == "gcc"
            else cpu.zig
        )

    def _dialect(self, test: Path) -> tuple[str, ...]:
        if self.compiler == "gcc":
            return (*_GCC, "-fcallgraph-info=su")
        return (*_ZIG, "-isystem", str(test / "freestanding"))


def _call_graphs(objects: Sequence[Path]) -> list[Path]:
    """Return the call graphs that GCC wrote next to some object files."""
    graphs = [path.with_suffix(".ci") for path in objects]
    return [path for path in graphs if path.is_file()]
