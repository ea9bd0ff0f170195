"""Instruction sets of host processors, and those of this machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from rlx.support.errors import UsageError


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """Vector instructions that kernels are written for.

    Attributes:
        name: Name in options; ``templates/host/<name>.c.j2`` holds its vector functions.
        lanes: int32 or float32 lanes of a vector.
        group: Products that one instruction sums into each lane: 4 of bytes or 2 of int16.
        flags: Flags of GCC and Clang that allow its instructions.
        features: Features of the processor in ``/proc/cpuinfo`` that it needs.
        machines: Names of ``platform.machine()`` that may have it; empty for any.
        macros: Macros of GCC and Clang that are defined where its instructions are allowed.
    """

    name: str
    lanes: int
    group: int
    flags: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    machines: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector."""
        return 4 * self.lanes


_X86: Final = ("x86_64", "AMD64")

INSTRUCTION_SETS: Final = (
    InstructionSet(
        "avx512vnni",
        16,
        4,
        ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni", "-mfma"),
        frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma"}),
        _X86,
        (
            "__AVX512F__",
            "__AVX512BW__",
            "__AVX512DQ__",
            "__AVX512VL__",
            "__AVX512VNNI__",
            "__FMA__",
        ),
    ),
    InstructionSet(
        "avx2", 8, 2, ("-mavx2", "-mfma"), frozenset({"avx2", "fma"}), _X86, ("__AVX2__", "__FMA__")
    ),
    InstructionSet("sse2", 4, 2, ("-msse2",), frozenset(), _X86, ("__SSE2__",)),
    InstructionSet("neon", 4, 2, (), frozenset(), ("aarch64", "arm64"), ("__ARM_NEON",)),
    InstructionSet("scalar", 4, 2),
)
"""All of them, the fastest first; the last one runs everywhere."""


@cache
def available() -> tuple[InstructionSet, ...]:
    """Return the instruction sets of this machine, the fastest first."""
    machine, features = platform.machine(), _features()
    return tuple(
        one
        for one in INSTRUCTION_SETS
        if (not one.machines or machine in one.machines) and one.features <= features
    )


def find(name: str | None) -> InstructionSet:
    """Return the instruction set of a name, or the fastest one of this machine.

    Raises:
        UsageError: The machine does not have it, or nothing is called so.
    """
    for instructions in available():
        if name in (None, instructions.name):
            return instructions
    names = ", ".join(one.name for one in available())
    raise UsageError(
        f"this machine has no instruction set {name!r}",
        where="options of compilation",
        hint=f"instruction sets here: {names}",
    )


def baseline() -> InstructionSet:
    """Return the fastest instruction set that every processor like this machine's has."""
    return next(one for one in available() if not one.features)


def processor() -> str:
    """Return a text that differs between processors of different features."""
    return " ".join((platform.machine(), *sorted(_features())))


@cache
def _features() -> frozenset[str]:
    """Return the features of the processor; none where the system does not list them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    return next((frozenset(v.split()) for k, _, v in lines if k.strip() == "flags"), frozenset())
