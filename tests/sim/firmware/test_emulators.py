"""Emitted C as firmware: QEMU and unicorn agree on bytes, instructions and stack."""

import numpy as np
import pytest

from rlx.support.errors import SimulationError, TimeLimitError, ToolMissingError, UsageError
from rlx_sim import toolchain
from rlx_sim.firmware.firmware import CPUS, FirmwareBuild
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_core import count_instructions
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from support.messages import raises
from support.networks.tiny_model import golden, write_tiny

pytestmark = pytest.mark.qemu

LIMIT_S = 60
GCC = FirmwareBuild()
ZIG = FirmwareBuild(compiler="zig")


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("cpu", [name for name, cpu in CPUS.items() if cpu.machine and cpu.unicorn])
def test_qemu_and_unicorn_agree(tmp_path, cpu, compiler):
    folder = write_tiny(tmp_path / "tiny", two_outputs=True)
    vectors = golden(5, two_outputs=True)
    build = FirmwareBuild(cpu, compiler, offset=1 if cpu == "cortex-m4" else 0)
    firmware = build.build(folder, tmp_path / "build")
    qemu = Qemu(build).run(firmware, vectors, tmp_path / "qemu", timeout_s=LIMIT_S)
    unicorn = Unicorn(build).run(firmware, vectors, tmp_path / "unicorn", timeout_s=LIMIT_S)
    assert compare("qemu", qemu, vectors) == compare("unicorn", unicorn, vectors) == []
    assert qemu.instructions == unicorn.instructions
    assert len(qemu.instructions) == 5
    assert min(qemu.instructions) > 60
    assert qemu.stack_bytes == unicorn.stack_bytes
    assert 8 <= qemu.stack_bytes <= 64


def test_qemu_counts_on_the_core_that_unicorn_lacks(tmp_path):
    """Its timer is another one; the code is nearly the same."""
    folder = write_tiny(tmp_path / "tiny")
    counts = {}
    for cpu in ("cortex-m33", "cortex-m55"):
        simulation = Qemu(FirmwareBuild(cpu)).simulate(folder, golden(5), timeout_s=LIMIT_S)
        assert compare("qemu", simulation, golden(5)) == []
        counts[cpu] = np.array(simulation.instructions)
    assert np.abs(counts["cortex-m55"] - counts["cortex-m33"]).max() <= 10


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_unicorn_runs_a_core_without_dsp_and_unaligned_access(tmp_path, compiler):
    folder = write_tiny(tmp_path / "tiny", two_outputs=True)
    vectors = golden(5, two_outputs=True)
    build = FirmwareBuild("cortex-m0", compiler)
    done = Unicorn(build).simulate(folder, vectors, timeout_s=LIMIT_S)
    assert compare("unicorn", done, vectors) == []
    with raises(UsageError):
        Qemu(build).simulate(folder, vectors, timeout_s=LIMIT_S)


def test_count_is_exact(tmp_path):
    counts = {}
    for nops in (0, 1, 2, 3, 1000):
        fault = f'__asm__ volatile(".rept {nops}\\n\\tnop\\n\\t.endr");'
        folder = write_tiny(tmp_path / f"tiny{nops}", frames=2, fault=fault)
        done = Qemu(GCC).simulate(folder, golden(2), timeout_s=LIMIT_S)
        assert done.instructions[0] == done.instructions[1]
        counts[nops] = done.instructions[0]
    assert {nops: count - counts[0] for nops, count in counts.items()} == {n: n for n in counts}


def test_runs_are_the_same_twice(tmp_path):
    folder = write_tiny(tmp_path / "tiny")
    first, second = (Qemu(GCC).simulate(folder, golden(5), timeout_s=LIMIT_S) for _ in range(2))
    assert first.log == second.log


def test_stack_is_measured_and_bounded(tmp_path):
    fault = "volatile int8_t large[400]; large[0] = copy[0]; large[399] = large[0];"
    small = write_tiny(tmp_path / "small")
    large = write_tiny(tmp_path / "large", fault=fault)
    builds = [GCC.build(f, tmp_path / f"build_{f.name}") for f in (small, large)]
    runs = [
        Qemu(GCC).run(b, golden(2), tmp_path / b.elf.parent.name, timeout_s=LIMIT_S) for b in builds
    ]
    assert runs[1].stack_bytes - runs[0].stack_bytes == 400
    for build, done in zip(builds, runs, strict=True):
        assert done.stack_bytes == build.stack.bytes
        assert build.stack.path == ("tiny_run", "saturate")
        assert build.stack.unknown == ()


def test_sizes_are_those_of_the_model_alone(tmp_path):
    firmware = GCC.build(write_tiny(tmp_path / "tiny"), tmp_path / "build")
    assert 20 < firmware.sizes.text < 200
    assert firmware.sizes.const == 16
    assert (firmware.sizes.data, firmware.sizes.bss) == (0, 0)
    assert firmware.sizes.sections[".rodata.table"] == 16


@pytest.mark.parametrize("simulator", [Qemu(GCC), Unicorn(GCC)], ids=["qemu", "unicorn"])
class TestErrors:
    """Errors in firmware read the same under both emulators."""

    def test_fault(self, tmp_path, simulator):
        folder = write_tiny(tmp_path / "tiny", fault='__asm__ volatile("udf #0");')
        with pytest.raises(
            SimulationError, match=rf"^{simulator.name}: the test program stopped: fault\n"
        ):
            simulator.simulate(folder, golden(1), timeout_s=LIMIT_S)

    def test_wild_pointer(self, tmp_path, simulator):
        fault = "volatile uintptr_t far = 0x90000000u; *(volatile int *)far = 1;"
        folder = write_tiny(tmp_path / "tiny", fault=fault)
        with pytest.raises(SimulationError, match=rf"^{simulator.name}: the test program stopped:"):
            simulator.simulate(folder, golden(1), timeout_s=LIMIT_S)

    def test_write_beside_the_arena(self, tmp_path, simulator):
        folder = write_tiny(tmp_path / "tiny", fault="copy[9] = 0;")
        with raises(SimulationError):
            simulator.simulate(folder, golden(1), timeout_s=LIMIT_S)

    def test_endless_loop(self, tmp_path, simulator):
        folder = write_tiny(tmp_path / "tiny", fault="for (volatile int k = 0; k < 1; k *= 2) {}")
        with pytest.raises(TimeLimitError, match=r": still running after 1 s, ended"):
            simulator.simulate(folder, golden(1), timeout_s=1)

    def test_missing_tool(self, tmp_path, simulator, monkeypatch):
        folder = write_tiny(tmp_path / "tiny")
        firmware = GCC.build(folder, tmp_path / "build")
        monkeypatch.setattr(toolchain, "_search", lambda name: None)
        with raises(ToolMissingError):
            simulator.run(firmware, golden(1), tmp_path / "work", timeout_s=LIMIT_S)


def test_firmware_reads_no_file_outside_its_folder(tmp_path):
    # Unicorn's semihosting is ours: it must not hand the host's files to the firmware.
    (tmp_path / "secret").write_text("x")
    for name in ("/etc/hostname", "../secret"):
        fault = (
            'register int32_t r0 __asm__("r0") = 1;'
            f'const uintptr_t block[3] = {{(uintptr_t)"{name}", 0, {len(name)}}};'
            'register const void *r1 __asm__("r1") = block;'
            '__asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory", "cc");'
            "return r0 == -1 ? 7 : 8;"
        )
        folder = tmp_path / f"tiny{len(name)}"
        write_tiny(folder, fault=fault)
        with raises(SimulationError):
            Unicorn(GCC).simulate(folder, golden(1), timeout_s=LIMIT_S)


@pytest.mark.parametrize(
    "options",
    [{"cpu": "z80"}, {"compiler": "tcc"}],
)
def test_unknown_processor_or_compiler_is_a_value_error(options):
    with raises(ValueError):
        FirmwareBuild(**options)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (b"", 0),
        (bytes.fromhex("00bf"), 1),  # nop
        (bytes.fromhex("aff30080"), 1),  # nop.w
        (bytes.fromhex("00f000f8"), 1),  # bl
        (bytes.fromhex("ffe7 00bf 51f8041b 00bf"), 4),  # b, nop, ldr.w, nop
    ],
)
def test_instructions_of_two_and_four_bytes_are_counted(code, count):
    assert count_instructions(code) == count


def test_processor_that_unicorn_lacks_is_refused(tmp_path):
    build = FirmwareBuild("cortex-m55")
    with raises(UsageError):
        Unicorn(build).simulate(write_tiny(tmp_path / "tiny"), golden(1), timeout_s=60)
