"""Instructions that a core lacks are found in a program, whatever the emulator would run."""

import re

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from rlx.support.errors import SimulationError
from rlx.support.process import run
from rlx_sim.firmware.firmware import CPUS, FirmwareBuild
from rlx_sim.firmware.instruction_set import CORES, Needs, check_instructions, instructions, needed
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from support import require_program
from support.networks.tiny_model import golden, write_tiny

TIMEOUT_S = 60

# By what they need; several lines of a kind, registers low and high.
ASSEMBLY = """
movs r0, r1 | adds r0, r1, #3 | muls r0, r1, r0 | bl . | bx lr | blx r3 | bkpt 0xab | svc 0 | nop
wfi | cpsid i | uxtb r0, r1 | sxth r0, r1 | rev r0, r1 | revsh r0, r1 | push {r4, lr} | dsb | dmb
ldm r0!, {r1, r2} | isb | mrs r0, primask | msr primask, r0 | msr apsr_nzcvq, r0 | udf #0 | sev
cpsid f | cbz r0, .+8 | cbnz r0, .+8 | it eq; moveq r0, r1 | mov.w r0, r1 | movw r0, #1234
movt r0, #1234 | b.w . | beq.w . | ldr.w r0, [r1, #400] | ldrd r0, r1, [r2, #8] | clrex
strd r0, r1, [r2], #8 | ldrex r0, [r1] | ldrexb r0, [r1] | ldrexh r0, [r1] | strex r0, r1, [r2]
strexb r0, r1, [r2] | strexh r0, r1, [r2] | tbb [r0, r1] | tbh [r0, r1, lsl #1] | ldrt r0, [r1]
ldm.w r8, {r0, r3, r9} | stmdb r8!, {r0, r3, r9} | push.w {r4-r11, lr} | pop.w {r4-r11, pc}
clz r0, r1 | rbit r0, r1 | rev.w r8, r1 | rev16.w r8, r1 | revsh.w r8, r9 | sxtb.w r8, r9
sxth.w r8, r9, ror #8 | uxtb.w r8, r9 | uxth.w r8, r9, ror #16 | sdiv r0, r1, r2 | udiv r0, r1, r2
mla r0, r1, r2, r3 | mls r0, r1, r2, r3 | mul.w r8, r9, r1 | smull r0, r1, r2, r3
umull r0, r1, r2, r3 | smlal r0, r1, r2, r3 | umlal r0, r1, r2, r3 | bfi r0, r1, #3, #4
bfc r0, #3, #4 | ubfx r0, r1, #3, #4 | sbfx r0, r1, #3, #4 | ssat r0, #8, r1 | ssat r0, #1, r1
ssat r0, #8, r1, asr #3 | ssat r0, #8, r1, lsl #3 | ssat r0, #32, r1, asr #31 | usat r0, #8, r1
usat r0, #0, r1 | usat r0, #8, r1, asr #9 | orr.w r0, r1, r2, lsl #3 | orns r0, r1, r2 | teq r0, r1
eor.w r0, r1, r2, asr #3 | tst.w r0, r9 | cmn.w r0, r9 | and r0, r1, #0xf0f0f0f0
cmp r1, #0x80008000 | add.w r0, r1, r2, ror #4 | lsl.w r0, r1, r2 | asrs.w r0, r1, r9
mov.w r0, r1, rrx | addw r0, r1, #1234 | subw r0, r1, #1234 | adr.w r0, .+8 | pld [r0, #8]
mcr p1, 0, r0, c1, c2, 3 | mrc p1, 0, r0, c1, c2, 3 | cdp p1, 1, c0, c1, c2, 3 | ldc p1, c0, [r1]
mcrr p1, 0, r0, r1, c2 | yield.w | mrs r0, basepri
msr apsr_nzcvqg, r0 | ssat16 r0, #8, r1 | ssat16 r0, #16, r1 | usat16 r0, #8, r1 | pkhbt r0, r1, r2
pkhbt r0, r1, r2, lsl #16 | pkhtb r0, r1, r2, asr #16 | sxtab r0, r1, r2 | sxtah r0, r1, r2
uxtab r0, r1, r2 | uxtah r0, r1, r2 | sxtb16 r0, r1 | sxtb16 r0, r1, ror #8 | uxtb16 r0, r1
sxtab16 r0, r1, r2 | uxtab16 r0, r1, r2, ror #24 | sadd8 r0, r1, r2 | sadd16 r0, r1, r2
sasx r0, r1, r2 | ssax r0, r1, r2 | ssub8 r0, r1, r2 | ssub16 r0, r1, r2 | qadd8 r0, r1, r2
qadd16 r0, r1, r2 | qasx r0, r1, r2 | qsub16 r0, r1, r2 | shadd8 r0, r1, r2 | shsub16 r0, r1, r2
uadd8 r0, r1, r2 | uadd16 r0, r1, r2 | usub8 r0, r1, r2 | uqadd16 r0, r1, r2 | uqsub8 r0, r1, r2
uhadd8 r0, r1, r2 | uhsax r0, r1, r2 | qadd r0, r1, r2 | qdadd r0, r1, r2 | qsub r0, r1, r2
qdsub r0, r1, r2 | sel r0, r1, r2 | smlabb r0, r1, r2, r3 | smlatt r0, r1, r2, r3
smulbb r0, r1, r2 | smultt r0, r1, r2 | smlad r0, r1, r2, r3 | smladx r0, r1, r2, r3
smuad r0, r1, r2 | smlawb r0, r1, r2, r3 | smulwt r0, r1, r2 | smlsd r0, r1, r2, r3
smusdx r0, r1, r2 | smmla r0, r1, r2, r3 | smmlar r0, r1, r2, r3 | smmul r0, r1, r2
smmulr r0, r1, r2 | smmls r0, r1, r2, r3 | smmlsr r0, r1, r2, r3 | usad8 r0, r1, r2
usada8 r0, r1, r2, r3 | smlalbb r0, r1, r2, r3 | smlaltt r0, r1, r2, r3 | smlald r0, r1, r2, r3
smlaldx r0, r1, r2, r3 | smlsld r0, r1, r2, r3 | umaal r0, r1, r2, r3
vadd.f32 s0, s1, s2 | vmul.f32 s0, s1, s2 | vmla.f32 s0, s1, s2 | vfma.f32 s0, s1, s2
vfnms.f32 s0, s1, s2 | vdiv.f32 s0, s1, s2 | vsqrt.f32 s0, s1 | vabs.f32 s0, s1 | vneg.f32 s0, s1
vmov.f32 s0, s1 | vmov.f32 s0, #1.0 | vcmp.f32 s0, s1 | vcmpe.f32 s0, #0 | vcvt.s32.f32 s0, s1
vcvtr.s32.f32 s0, s1 | vcvt.f32.u32 s0, s1 | vcvt.f32.s32 s0, s0, #7 | vcvtb.f32.f16 s0, s1
vcvtt.f16.f32 s0, s1 | vldr s0, [r0] | vldr d0, [r0] | vstr d0, [r0] | vldm r0!, {s0-s3}
vldm r0, {d0-d3} | vpush {d8-d9} | vpop {d8-d9} | vmov r0, s0 | vmov s0, r0 | vmov r0, r1, d0
vmov d0, r0, r1 | vmov s0, s1, r0, r1 | vmrs apsr_nzcv, fpscr | vmrs r0, fpscr | vmsr fpscr, r0
vseleq.f32 s0, s1, s2 | vselgt.f32 s0, s1, s2 | vrinta.f32 s0, s1 | vrintr.f32 s0, s1
vrintz.f32 s0, s1 | vrintx.f32 s0, s1 | vrintm.f32 s0, s1
vadd.f64 d0, d1, d2 | vmul.f64 d0, d1, d2 | vdiv.f64 d0, d1, d2 | vsqrt.f64 d0, d1
vabs.f64 d0, d1 | vcmp.f64 d0, d1 | vcvt.f64.f32 d0, s0 | vcvt.f32.f64 s0, d0 | vcvt.s32.f64 s0, d0
vcvt.f64.s32 d0, s0 | vmov.f64 d0, d1 | vrintz.f64 d0, d1 | vseleq.f64 d0, d1, d2
vmaxnm.f64 d0, d1, d2
sg | tt r0, r1 | ttt r0, r1 | tta r0, r1 | bxns lr | blxns r3 | lda r0, [r1] | ldab r0, [r1]
ldah r0, [r1] | stl r0, [r1] | stlb r0, [r1] | ldaex r0, [r1] | ldaexb r0, [r1]
stlex r0, r1, [r2] | stlexh r0, r1, [r2]
dls lr, r2 | wls lr, r2, .+8 | le lr, .-8 | le .-8 | dlstp.8 lr, r2 | letp lr, .-8
csel r0, r1, r2, eq | csinc r0, r1, r2, eq | csinv r0, r1, r2, eq | csneg r0, r1, r2, eq
cset r0, eq | clrm {r0, r1, apsr} | lsll r0, r1, #3 | asrl r0, r1, r2 | lsrl r0, r1, #3
sqrshrl r0, r1, #64, r2 | uqshl r0, #3 | sqrshr r0, r2 | vscclrm {s0-s3, vpr} | vins.f16 s0, s1
vadd.f16 s0, s1, s2 | vldr.16 s0, [r0] | vmrs r0, vpr | vmsr p0, r0
vldrb.8 q0, [r0], #16 | vldrb.8 q0, [r0] | vldrw.32 q0, [r0] | vstrb.8 q0, [r0]
vldrb.s16 q0, [r0] | vmladav.s8 r0, q0, q1 | vmladava.s8 r0, q0, q1 | vmlaldav.s16 r0, r1, q0, q1
vadd.i32 q0, q1, q2 | vadd.i32 q0, q1, r2 | vmul.i32 q0, q1, q2 | vqrdmulh.s32 q0, q1, q2
vqrdmulh.s32 q0, q1, r2 | vrshl.s32 q0, q1, q2 | vrshl.s32 q0, r2 | vshr.s32 q0, q1, #31
vmin.s32 q0, q1, q2 | vdup.32 q0, r1 | vdup.8 q0, r1 | vmov.i8 q0, #0 | vmov.i32 q0, #7
vmov q0[2], q0[0], r1, r2 | vmov r1, r2, q0[2], q0[0] | vmov.8 q0[1], r0 | vmov.s8 r0, q0[1]
vmov.u16 r0, q0[1] | vctp.8 r0 | vctp.32 r0 | vpst; vaddt.i8 q0, q1, q2 | vpsel q0, q1, q2
vpt.i8 eq, q0, q1; vaddt.i8 q0, q1, q2 | vidup.u32 q0, r2, #1 | vstrb.8 q0, [r0, q1]
vldrw.u32 q0, [r0, q1] | vand q0, q1, q2 | vorr q0, q1, q2 | vshl.u32 q0, r2 | vqadd.s32 q0, q1, q2
vmovlb.s8 q0, q1 | vmovnb.i16 q0, q1 | vqmovnb.s16 q0, q1 | vld20.8 {q0, q1}, [r0]
vst43.8 {q0, q1, q2, q3}, [r0] | vrev32.8 q0, q1 | vaddv.s32 r0, q1 | vaddlv.s32 r0, r1, q1
vminv.s8 r0, q1 | vmlas.s32 q0, q1, r0 | vmla.s32 q0, q1, r0 | vfma.f32 q0, q1, q2
vadd.f32 q0, q1, q2 | vcvt.f32.s32 q0, q1 | vcadd.i32 q0, q1, q2, #90 | vcmla.f32 q0, q1, q2, #90
"""
LINES = [one.strip() for line in ASSEMBLY.strip().split("\n") for one in line.split("|")]

# As FirmwareBuild's: the units of single precision where GCC's option says so.
ARCHITECTURES = {
    "cortex-m0": ("-mcpu=cortex-m0",),
    "cortex-m3": ("-mcpu=cortex-m3",),
    "cortex-m4": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16"),
    "cortex-m33": ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16"),
    "cortex-m55": ("-march=armv8.1-m.main+mve.fp+fp.dp",),
}


def assembled(core, folder):
    """Return the lines' numbers that GNU's assembler refuses for a core, and the object file."""
    text = [f'.section .line{k}, "ax"; .thumb; {line}' for k, line in enumerate(LINES)]
    source, target = folder / "lines.s", folder / f"{core}.o"
    source.write_text("\n".join([".syntax unified", *text]) + "\n")
    program = require_program("arm-none-eabi-as")
    command = [program, "-mthumb", *ARCHITECTURES[core], source, "-o", target]
    done = run(command, timeout_s=TIMEOUT_S, check=False)
    return {int(at) - 2 for at in re.findall(r"lines\.s:(\d+): Error", done.stderr)}, target


@pytest.mark.qemu
def test_what_an_instruction_needs_is_what_the_assembler_takes(tmp_path):
    none, target = assembled("cortex-m55", tmp_path)
    assert [LINES[k] for k in none] == []
    with target.open("rb") as file:
        program = ELFFile(file)
        code = [program.get_section_by_name(f".line{k}").data() for k in range(len(LINES))]
    needs = [{needed(*words) for _, *words in instructions(one)} for one in code]
    assert set().union(*needs) == set(Needs)
    for core in CPUS:
        refused, _ = assembled(core, tmp_path)
        ours = {k for k, one in enumerate(needs) if not one <= CORES[core]}
        assert [LINES[k] for k in sorted(ours ^ refused)] == []


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("cpu", "line", "needs"),
    [
        ("cortex-m0", "sdiv r0, r0, r0", "Armv7-M"),
        ("cortex-m3", "smlad r0, r0, r0, r0", "the DSP extension"),
        ("cortex-m3", "vadd.f32 s0, s0, s0", "floats of 32 bits (FPv4)"),
        ("cortex-m4", "vrinta.f32 s0, s0", "floats of 32 bits (FPv5)"),
        ("cortex-m7", "vadd.f64 d0, d0, d0", "floats of 64 bits"),
        ("cortex-m33", "vadd.i8 q0, q0, q0", "the vector extension MVE"),
    ],
)
def test_no_emulator_gets_what_a_core_lacks(cpu, line, needs, tmp_path):
    fault = f'__asm__ volatile(".arch armv8.1-m.main\\n\\t.arch_extension mve.fp\\n\\t{line}");'
    if "f64" in line:
        fault = fault.replace("mve.fp", "fp.dp")
    folder = write_tiny(tmp_path / "tiny", fault=fault)
    with pytest.raises(SimulationError) as caught:
        FirmwareBuild(cpu).build(folder, tmp_path / "build")
    assert re.match(
        rf"firmware\.elf: tiny_run has an instruction that a {cpu} lacks: [0-9a-f ]+ at 0x[0-9a-f]+"
        rf" needs {re.escape(needs)}\n  hint: compile everything for a {cpu},",
        str(caught.value),
    )


@pytest.mark.qemu
def test_constants_between_functions_are_no_instructions(tmp_path):
    """A literal pool with the bits of SMLAD in it."""
    fault = '__asm__ volatile("b 1f\\n\\t.align 2\\n\\t.word 0x0000fb20, 0xfb20fb20\\n\\t1:");'
    folder = write_tiny(tmp_path / "tiny", fault=fault)
    firmware = FirmwareBuild("cortex-m3").build(folder, tmp_path / "build")
    content = firmware.elf.read_bytes()
    assert (0xFB20FB20).to_bytes(4, "little") in content
    check_instructions(firmware.elf, "cortex-m3")


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", [cpu for cpu in CPUS if CPUS[cpu].unicorn])
def test_unicorn_runs_the_core_that_was_asked_for(cpu, tmp_path):
    """Its Cortex-M0 has no unaligned access; no disassembly shows that."""
    fault = "volatile uintptr_t odd = (uintptr_t)copy + 1; *sum = *(volatile int32_t *)odd;"
    folder = write_tiny(tmp_path / "tiny", two_outputs=True, fault=fault)
    unicorn, vectors = Unicorn(FirmwareBuild(cpu)), golden(1, two_outputs=True)
    if cpu == "cortex-m0":
        with pytest.raises(SimulationError, match=r"^unicorn: the test program stopped: fault\n"):
            unicorn.simulate(folder, vectors, timeout_s=TIMEOUT_S)
        return
    done = unicorn.simulate(folder, vectors, timeout_s=TIMEOUT_S)
    x = vectors.inputs[0].reshape(-1)
    assert done.outputs[1].item() == np.frombuffer(x[1:5].tobytes(), "<i4").item()


@pytest.mark.qemu
def test_zig_builds_with_the_extensions_of_a_core(tmp_path):
    """Its Cortex-M33 and M55 are those without Arm's options."""
    macros = {"cortex-m33": "__ARM_FEATURE_DSP", "cortex-m55": "__ARM_FEATURE_MVE"}
    for cpu, macro in macros.items():
        folder = write_tiny(tmp_path / cpu, fault=f"(void){macro};")
        for compiler in ("gcc", "zig"):
            done = Qemu(FirmwareBuild(cpu, compiler)).simulate(folder, golden(2), timeout_s=60)
            assert compare("qemu", done, golden(2)) == []
