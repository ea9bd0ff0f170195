"""Bounds on the division routines of GCC's library against counts of known operands."""

import random
from itertools import product

import pytest

from rlx.support.process import run
from rlx_sim.bound import values
from rlx_sim.bound.bits import ANY, Bits, functions, joined, made
from rlx_sim.bound.code import COUNT
from rlx_sim.bound.divisions import ROUTINES, Divisions
from rlx_sim.bound.firmware_bound import Program
from rlx_sim.bound.instruction import MASK
from rlx_sim.bound.machine import Machine
from rlx_sim.toolchain import find

SOURCE = """
int divide(int a, int b) { return a / b; }
int rest(int a, int b) { return a % b; }
unsigned divide_unsigned(unsigned a, unsigned b) { return a / b; }
unsigned rest_unsigned(unsigned a, unsigned b) { return a % b; }
"""
ENTRIES = ("divide", "rest", "divide_unsigned", "rest_unsigned")
MAX_INSTRUCTIONS = 280
"""Three rounds for 8 bits each, at most 8 instructions for a bit, and what is around them."""
STACK = 0x20001000
DIVISORS = (1, 2, 3, 9, 25, 49, 64, 1000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, MASK, -9 & MASK)
DIVIDENDS = (0, 1, 127, 255, 256, 0xFFFF, 0x10000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, MASK)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("divisions")
    (folder / "code.c").write_text(SOURCE)
    command = [*find("arm-none-eabi-gcc").command, "-mcpu=cortex-m0", "-mthumb", "-O2", "-nostdlib"]
    names = [f"-Wl,-u,{name}" for name in ENTRIES]
    run([*command, *names, "-Wl,-e,divide", "code.c", "-lgcc", "-o", "code.elf"],
        cwd=folder, timeout_s=60)  # fmt: skip
    return counter(Program.read(folder / "code.elf"))


def counter(program):
    """Return a function that returns the count (or bound) of a call, and quotient or rest."""
    hooks = {}
    machine = Machine(program.image, hooks=hooks)
    divisions = Divisions(program.image)
    for routine in set(ROUTINES) & set(program.symbols):
        entry = program.symbols[routine] & ~1
        hooks[entry] = divisions.hook(entry, machine)

    def counted(name, dividend, divisor):
        machine.registers[:] = [dividend, divisor, *[None] * (COUNT - 2), 0]
        machine.run(program.symbols[name] & ~1, STACK)
        return machine.registers[COUNT], machine.registers[0]

    return counted


@pytest.mark.qemu
@pytest.mark.complete
@pytest.mark.parametrize("name", ENTRIES)
def test_no_dividend_exceeds_the_bound(counted, name):
    rng = random.Random(4)
    for divisor in DIVISORS:
        bound, result = counted(name, None, divisor)
        assert result is None
        dividends = [*DIVIDENDS, *(rng.getrandbits(rng.randint(1, 32)) for _ in range(60))]
        counts = [counted(name, one, divisor)[0] for one in dividends]
        assert max(counts) <= bound <= MAX_INSTRUCTIONS


@pytest.mark.qemu
@pytest.mark.complete
def test_known_operands_are_divided(counted):
    assert counted("divide", -1000 & MASK, 9)[1] == -111 & MASK
    assert counted("rest_unsigned", 1000, 9)[1] == 1


def members(value, width=4):
    """Return the numbers of some bits that a value may be."""
    if isinstance(value, Bits):
        return {n for n in range(1 << width) if n & ~value.unknown == value.ones}
    return set(range(1 << width)) if value is None else {value}


PARTIAL = [made(ones, most) for ones, most in product(range(16), repeat=2) if ones & most == ones]


@pytest.mark.parametrize("name", ["__and__", "__or__", "__xor__"])
def test_operators_cover_every_pair(name):
    for first, second in product(PARTIAL, repeat=2):
        found = members(getattr(first, name)(second) if isinstance(first, Bits) else
                        getattr(second, name)(first) if isinstance(second, Bits) else
                        getattr(first, name)(second))  # fmt: skip
        exact = {getattr(a, name)(b) for a, b in product(members(first), members(second))}
        assert exact <= found


def test_joined_values_cover_both():
    for first, second in product([*PARTIAL, None], repeat=2):
        assert members(first) | members(second) <= members(joined(first, second))


def test_doubled_values_and_their_flags():
    double = functions({n: getattr(values, n) for n in dir(values) if n.islower()})["double_flags"]
    for value, carry in product(PARTIAL, (0, 1, None)):
        top = value << 28
        result, *flags = double(top, carry)
        for one, own in product(members(value), (0, 1) if carry is None else (carry,)):
            exact, *known = values.add_flags(one << 28, one << 28, own)
            assert covers(result, exact)
            assert all(a is None or a == b for a, b in zip(flags, known, strict=True))


def covers(value, number):
    return value is None or (
        number & ~value.unknown == value.ones if isinstance(value, Bits) else number == value
    )


def test_sums_and_products_are_unknown():
    value = Bits(1, 2)
    assert value + 1 == 1 + value == value * 3 == 5 - value == value << value == ANY
    assert value << 4 == Bits(16, 32)
    assert value >> 2 == 0
