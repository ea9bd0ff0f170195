"""Thumb instructions in Python against the same instructions under unicorn.

Registers are random, some of them unknown: each known result must be unicorn's for any values of
the unknown ones. Every encoding of 16 bits is run, and random ones of 32 bits.
"""

import random

import pytest

from rlx_sim.bound.code import COUNT, UNKNOWN, Code
from rlx_sim.bound.instruction import Flow, UnboundedError
from rlx_sim.bound.machine import Memory
from rlx_sim.bound.values import BYTES

pytestmark = [pytest.mark.qemu, pytest.mark.complete]

CODE, DATA, SIZE = 0x10000, 0x20000000, 0x10000
MASK = 0xFFFFFFFF
VALUES = (0, 1, 2, 31, 32, 33, 127, 128, 255, 256, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, MASK)
STEP, SAMPLES = 32, 100
UNEXECUTED = {9, 10, 11, 23, 27, 28}
"""Groups of encodings of which few run here: literals, sums of addresses, hints, far branches."""
NOP = b"\x00\xbf"


class Core:
    """A Cortex-M33 under unicorn that executes one instruction."""

    def __init__(self):
        import unicorn
        from unicorn import arm_const as arm

        self.error = unicorn.UcError
        self.arm = arm
        self.engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        self.engine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M33)
        self.engine.mem_map(CODE, 0x10000)
        self.engine.mem_map(DATA, SIZE)
        self.names = [getattr(arm, f"UC_ARM_REG_R{k}") for k in range(13)]
        self.names += [arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR]

    def step(self, code, registers, flags, memory):
        """Return registers, flags, memory and program counter after an instruction."""
        engine = self.engine
        engine.ctl_remove_cache(CODE, CODE + 64)
        engine.mem_write(CODE, code + NOP * 4)
        engine.mem_write(DATA, memory)
        for name, value in zip(self.names, registers, strict=True):
            engine.reg_write(name, value)
        n, z, c, v = flags
        state = n << 31 | z << 30 | c << 29 | v << 28 | 1 << 24
        engine.reg_write(self.arm.UC_ARM_REG_CPSR, state)
        # Unicorn does not count an instruction whose condition fails.
        engine.emu_start(CODE | 1, CODE + len(code), count=0 if is_it(code) else 1)
        state = engine.reg_read(self.arm.UC_ARM_REG_CPSR)
        return (
            [engine.reg_read(name) for name in self.names],
            [state >> bit & 1 for bit in (31, 30, 29, 28)],
            bytes(engine.mem_read(DATA, SIZE)),
            engine.reg_read(self.arm.UC_ARM_REG_PC) & ~1,
        )


@pytest.fixture(scope="module")
def core():
    pytest.importorskip("unicorn")
    return Core()


def is_it(code):
    """Whether an instruction has an IT before it."""
    return len(code) > 2 and code[1] == 0xBF


def value(rng):
    """Return a number that is often special, or an address."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(VALUES)
    if kind == 1:
        return rng.getrandbits(32)
    return DATA + 4 * rng.randrange(0x800, 0x2000) + (rng.randrange(4) if kind == 3 else 0)


def words(memory):
    return {
        DATA + at: int.from_bytes(memory[at : at + 4], "little") for at in range(0, len(memory), 4)
    }


def check(core, rng, code, bases):
    """Compare an instruction; return whether both executed it."""
    registers = [value(rng) for _ in range(15)]
    for base in bases:
        registers[base] = DATA + 0x4000 + 4 * rng.randrange(64)
    registers[13] &= ~3
    flags = [rng.randrange(2) for _ in range(4)]
    memory = MEMORY
    model = Code({CODE: code + NOP * 4})
    try:
        instruction = model.instruction(CODE)
        if instruction.it and (not is_it(code) or len(instruction.it) > 1):
            return False
        last = model.block(CODE)[0][1] if is_it(code) else instruction
        if last.flow is not Flow.NEXT and (is_it(code) or last.target in (0, CODE)):
            return False
        model.leaders.add(CODE + len(code))
        block = model.translate(CODE)
        # Every flag is read later.
        model._flags_live = lambda *_: True
        block = model.translate(CODE)
    except UnboundedError:
        return False
    try:
        expected = core.step(code, registers, flags, memory)
    except core.error:
        return False
    unknown = {k for k in range(15) if rng.randrange(4) == 0 and k not in bases}
    unknown |= {15 + k for k in range(4) if rng.randrange(4) == 0}
    state = [*registers, *flags, 0]
    state = [None if k in unknown else number for k, number in enumerate(state)]
    model_memory = Memory({k: v for k, v in WORDS.items() if k % 28})
    model_memory.begin()
    try:
        following = block.run(state, model_memory, [])
    except UnboundedError:
        return False
    text = f"{code.hex()} {[hex(x) for x in registers]} {flags} without {unknown}"
    for k, number in enumerate(state[:COUNT]):
        assert number in (None, [*expected[0], *expected[1]][k]), f"{text}: register {k}"
    assert following in (UNKNOWN, expected[3]), f"{text}: {following:#x}, not {expected[3]:#x}"
    check_memory(model_memory, expected[2], text)
    return True


def check_memory(model, content, text):
    """Compare the words that either side changed."""
    changed = {} if content == MEMORY else words(content).items() - WORDS.items()
    for address, word in changed:
        assert model.get(address) in (None, word), f"{text}: {address:#x}"
    for address, number in model.undo().items():
        at = address % BYTES - DATA
        if number is not None:
            size = 1 if address > BYTES else 4
            assert number == int.from_bytes(content[at : at + size], "little"), text


MEMORY = random.Random(1).randbytes(SIZE)
WORDS = words(MEMORY)


def in_it(rng, code):
    """Return an instruction after an IT of a random condition."""
    return bytes([0x08 | rng.randrange(14) << 4, 0xBF]) + code


@pytest.mark.parametrize("group", range(29))
def test_narrow(core, group):
    rng = random.Random(group)
    executed = 0
    for code in range(group << 11 | rng.randrange(STEP), group + 1 << 11, STEP):
        content = code.to_bytes(2, "little")
        bases = {code >> 3 & 7, code >> 8 & 7, 13}
        executed += check(core, rng, content, bases)
        if code >> 8 != 0xBF:
            executed += check(core, rng, in_it(rng, content), bases)
    assert executed > 2 * 2048 // STEP // 8 or group in UNEXECUTED


WIDE = {
    "multiple": (0xE8000000, 0x01BF5FFF),
    "double": (0xE9400000, 0x00BFFFFF),
    "shifted": (0xEA000000, 0x01FF7FFF),
    "immediate": (0xF0000000, 0x05FF7FFF),
    "plain": (0xF2000000, 0x05FF7FFF),
    "memory": (0xF8000000, 0x01FFFFFF),
    "shift": (0xFA00F000, 0x007F0FFF),
    "extend": (0xFA00F080, 0x00FF0FFF),
    "multiply": (0xFB000000, 0x00FFFFFF),
    "float": (0xEC000A00, 0x03FFF1FF),
    "branch": (0xF0008000, 0x07FF3FFF),
}


@pytest.mark.parametrize("kind", WIDE)
def test_wide(core, kind):
    base, mask = WIDE[kind]
    rng = random.Random(kind)
    executed = 0
    for _ in range(SAMPLES):
        code = base | rng.getrandbits(32) & mask
        content = (code >> 16).to_bytes(2, "little") + (code & 0xFFFF).to_bytes(2, "little")
        bases = {code >> 16 & 15, 13} - {15}
        executed += check(core, rng, content, bases)
        if kind != "branch":
            executed += check(core, rng, in_it(rng, content), bases)
    assert executed > SAMPLES // 10
