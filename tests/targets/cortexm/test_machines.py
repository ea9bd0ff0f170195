"""Emitted C on machines other than a Cortex-M: word sizes, byte orders, instruction sets of Arm."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import arithmetic, bridges, classifier
from targets.cortexm.test_narrow import network as narrow

from rlx.ir import DType
from rlx.support.errors import SimulationError
from rlx.support.process import run
from rlx_sim.firmware.firmware import CPUS, FirmwareBuild
from rlx_sim.firmware.harness import prepare, result, sources
from rlx_sim.firmware.host_c import WARNINGS
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from rlx_sim.toolchain import search
from support import missing, require_program
from support.messages import raises
from support.networks.tiny_model import golden as tiny_golden
from support.networks.tiny_model import write_tiny
from targets.cortexm import test_forced as forced

if TYPE_CHECKING:
    from rlx.support.files.golden import Golden
    from rlx_sim.protocol import Simulation

HERE = Path(__file__).parent
TIMEOUT_S = 120

GRAPHS = {
    "shapes": forced.shapes,
    "tiles": forced.tiles,
    "lines": forced.lines,
    "narrow4": partial(narrow, DType.I4),
    "arithmetic": arithmetic,
    "bridges": bridges,
}
"""Each network takes another way through the templates; that of ``bridges`` has float32 ports."""


@pytest.fixture(scope="module", params=GRAPHS)
def network(request, tmp_path_factory):
    """Folder and golden vectors of a network in which every layer has another kernel."""
    graph = GRAPHS[request.param]()
    with chosen_by(named("", 1)):
        emission = emit_graph(graph, package=())
    return write(tmp_path_factory.mktemp(request.param), emission), golden_of(graph)


@dataclass(frozen=True)
class Machine:
    """A compiler and an emulator of processes.

    Attributes:
        compiler: Program, or ``zig``.
        options: Its options.
        emulator: Program of qemu-user.
        bare: There is no C library: its functions come from this folder.
    """

    compiler: str
    options: tuple[str, ...]
    emulator: str
    bare: bool = False

    def simulate(self, folder: Path, golden: Golden, work: Path) -> Simulation:
        """Build the folder's test program, and run it over the golden vectors."""
        emulator, program = require_program(self.emulator), work / "program"
        model, test = sources(folder, *(() if self.bare else ("host.c",)))
        more = [HERE / "linux_calls.c", HERE / "bytewise.c"] if self.bare else []
        command = [
            *self._command(), *WARNINGS, "-O2", "-static",
            *("-I", folder / "include", "-I", folder / "test"), *test, *more, *model,
            *(option.format(test=folder / "test") for option in self.options), "-o", program,
        ]  # fmt: skip
        prepare(work, golden)
        run(command, timeout_s=TIMEOUT_S)
        done = run([emulator, program], cwd=work, timeout_s=TIMEOUT_S, check=False)
        return result(done, work, golden, name=self.emulator)

    def _command(self) -> tuple[str, ...]:
        if self.compiler != "zig":
            return (require_program(self.compiler),)
        if search("zig") is None:
            missing("zig is not installed")
        return (sys.executable, "-m", "ziglang", "cc")


def bare(compiler: str, *options: str, emulator: str) -> Machine:
    """Return a machine without an operating system's C library."""
    return Machine(compiler, ("-nostdlib", "-ffreestanding", *options), emulator, bare=True)


ARM = "arm-none-eabi-gcc"
R5 = ("-mcpu=cortex-r5", "-mfpu=vfpv3-d16", "-mfloat-abi=hard", "-mthumb")
MACHINES = {
    "s390x": Machine("s390x-linux-gnu-gcc", (), "qemu-s390x"),
    "mips": Machine("mips-linux-gnu-gcc", (), "qemu-mips"),
    "armhf": Machine("arm-linux-gnueabihf-gcc", ("-mthumb",), "qemu-arm"),
    "armhf-arm": Machine("arm-linux-gnueabihf-gcc", ("-marm",), "qemu-arm"),
    "armv5te": bare(ARM, "-march=armv5te", "-marm", "-mfloat-abi=soft", "-lgcc",
                    emulator="qemu-arm"),
    "cortex-r5": bare(ARM, *R5, "-lgcc", emulator="qemu-arm"),
    "cortex-r5-big": bare(ARM, *R5, "-mbig-endian", "-Wl,--be8", emulator="qemu-armeb"),
    "riscv32": bare("zig", "-target", "riscv32-freestanding-none", "-fno-sanitize=undefined",
                    "-isystem", "{test}/freestanding", emulator="qemu-riscv32"),
}  # fmt: skip


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_computes_the_same_bits(network, machine, tmp_path):
    folder, golden = network
    simulation = MACHINES[machine].simulate(folder, golden, tmp_path)
    assert compare(machine, simulation, golden) == []


# Of the DSP extension, and what compilers never make by themselves.
ASSEMBLY = re.compile(r"\b(?:smlad|smuad|sxtb16|sxtab16|smmlar?|vmladav?a?)\b")


def assembly_in(folder: Path, objects: Path) -> set[str]:
    """Return the instructions of the model's assembly that its object file has."""
    text = run(
        [require_program("arm-none-eabi-objdump"), "-d", objects / "net.o"], timeout_s=TIMEOUT_S
    ).stdout
    return set(ASSEMBLY.findall(text))


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, 1])
def test_words_are_loaded_from_aligned_addresses_where_others_trap(network, offset, tmp_path):
    folder, golden = network
    flags = ("-mno-unaligned-access", "-DRLX_TEST_TRAP_UNALIGNED")
    for name, more in {"flag": (), "setting": ("-DNET_ALIGNED_ONLY",)}.items():
        build = FirmwareBuild(offset=offset, flags=(*flags, *more))
        firmware = build.build(folder, tmp_path / name, more=[HERE / "bytewise.c"])
        simulation = Qemu(build).run(
            firmware, golden, tmp_path / f"{name}-run", timeout_s=TIMEOUT_S
        )
        assert compare("qemu", simulation, golden) == []


@pytest.mark.qemu
def test_a_word_at_an_odd_address_traps(tmp_path):
    """Else the test above would show nothing."""
    fault = "volatile uintptr_t odd = (uintptr_t)copy + 1; *sum = *(volatile int32_t *)odd;"
    folder = write_tiny(tmp_path / "tiny", two_outputs=True, fault=fault)
    assert Qemu().simulate(folder, tiny_golden(1, two_outputs=True), timeout_s=TIMEOUT_S).outputs
    build = FirmwareBuild(flags=("-DRLX_TEST_TRAP_UNALIGNED",))
    with raises(SimulationError):
        Qemu(build).simulate(folder, tiny_golden(1, two_outputs=True), timeout_s=TIMEOUT_S)


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_assembly_can_be_switched_off_where_r9_is_reserved(network, cpu, tmp_path):
    folder, golden = network
    flags = ("-DNET_NO_ASM", "-ffixed-r9", "-fno-omit-frame-pointer")
    build = FirmwareBuild(cpu, flags=flags)
    firmware = build.build(folder, tmp_path / "build")
    simulation = Qemu(build).run(firmware, golden, tmp_path / "run", timeout_s=TIMEOUT_S)
    assert compare("qemu", simulation, golden) == []
    assert assembly_in(folder, tmp_path / "build" / "model") == set()


M4 = ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4")


@pytest.mark.slow
def test_clang_with_a_static_base_in_r9_compiles_without_a_setting(network, tmp_path):
    folder, _ = network
    command = [
        require_program("clang"), *M4, "-frwpi", *WARNINGS, "-O2", "-c", "-I", folder / "include",
        "-isystem", folder / "test" / "freestanding", folder / "src" / "net.c",
        "-o", tmp_path / "net.o",
    ]  # fmt: skip
    run(command, timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("target", ["avr", "msp430"])
def test_an_int_of_16_bits_is_refused_in_words(target, tmp_path):
    folder = write(tmp_path, emit_graph(classifier(), self_test=0, package=()))
    command = [
        require_program("clang"), f"--target={target}", "-std=c99", "-ffreestanding",
        "-fsyntax-only", "-I", folder / "include", "-isystem", folder / "test" / "freestanding",
        folder / "src" / "net.c",
    ]  # fmt: skip
    done = run(command, timeout_s=TIMEOUT_S, check=False)
    words = "net needs an int of 32 bits: not for AVR, MSP430 and others with 16"
    assert f'error: "{words}"' in done.stderr


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only", "-Ofast"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_fast_math_is_refused_where_floats_are_converted(compiler, flag, tmp_path):
    for graph, refused in ((bridges(), True), (classifier(), False)):
        folder = write(tmp_path / graph.name, emit_graph(graph, self_test=0, package=()))
        command = [require_program(compiler), "-std=c99", flag, "-DRLX_ALLOW_O0", "-fsyntax-only"]
        command += ["-I", folder / "include", folder / "src" / "net.c"]
        done = run(command, timeout_s=TIMEOUT_S, check=False)
        assert ("compile it without -ffast-math" in done.stderr) == refused
        assert (done.returncode != 0) == refused


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_two_networks_may_be_one_translation_unit(cpu, tmp_path):
    includes, options = [], []
    for prefix, make in (("net", forced.rows), ("other_net", forced.rows), ("third", arithmetic)):
        graph = make()
        with chosen_by(named("mve" if cpu == "cortex-m55" else "", 1)):
            emission = emit_graph(graph, prefix=prefix, cpu=cpu, self_test=0, package=())
        folder = write(tmp_path / prefix, emission)
        includes += [f'#include "{path}"' for path in sorted((folder / "src").glob("*.c"))]
        options += ["-I", folder / "include"]
    unity = tmp_path / "unity.c"
    unity.write_text("\n".join(includes) + "\n")
    for compiler, machine in (("gcc", ()), (ARM, (f"-mcpu={cpu}", *CPUS[cpu].gcc, "-mthumb"))):
        command = [require_program(compiler), *machine, *WARNINGS, "-O2", "-c", *options, unity]
        run([*command, "-o", tmp_path / "unity.o"], timeout_s=TIMEOUT_S)
