"""Checks that a program has only instructions of its core: emulators run more than the core does.

Source of the encodings: Armv6-M, Armv7-M and Armv8-M Architecture Reference Manuals, A5 and C2.3.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import SimulationError
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_EXECUTABLE: Final = 0x4  # SHF_EXECINSTR


class Needs(Enum):
    """Features of a core that instructions need."""

    ARMV6M = "Armv6-M"
    ARMV7M = "Armv7-M"
    ARMV8M = "Armv8-M"
    ARMV81M = "Armv8.1-M"
    DSP = "the DSP extension"
    FPV4 = "floats of 32 bits (FPv4)"
    FPV5 = "floats of 32 bits (FPv5)"
    DOUBLE = "floats of 64 bits"
    MVE = "the vector extension MVE"


_M3: Final = frozenset({Needs.ARMV6M, Needs.ARMV7M})
_M4: Final = _M3 | {Needs.DSP, Needs.FPV4}
CORES: Final[Mapping[str, frozenset[Needs]]] = {
    "cortex-m0": frozenset({Needs.ARMV6M}),
    "cortex-m3": _M3,
    "cortex-m4": _M4,
    "cortex-m7": _M4 | {Needs.FPV5},
    "cortex-m33": _M4 | {Needs.FPV5, Needs.ARMV8M},
    "cortex-m55": frozenset(Needs),
    "cortex-m0plus": frozenset({Needs.ARMV6M}),
    "cortex-m1": frozenset({Needs.ARMV6M}),
    # Armv8-M Baseline has some of Armv7-M: branches, division, constants of 16 bits.
    "cortex-m23": _M3 | {Needs.ARMV8M},
    "cortex-m4+nofp": _M3 | {Needs.DSP},
    "cortex-m7+nofp": _M3 | {Needs.DSP},
    "cortex-m33+nofp": _M3 | {Needs.DSP, Needs.ARMV8M},
    "cortex-m33+nodsp": _M3 | {Needs.FPV4, Needs.FPV5, Needs.ARMV8M},
    "cortex-m33+nodsp+nofp": _M3 | {Needs.ARMV8M},
    "cortex-m35p": _M4 | {Needs.FPV5, Needs.ARMV8M},
    "cortex-m35p+nofp": _M3 | {Needs.DSP, Needs.ARMV8M},
    "cortex-m35p+nodsp": _M3 | {Needs.FPV4, Needs.FPV5, Needs.ARMV8M},
    "cortex-m35p+nodsp+nofp": _M3 | {Needs.ARMV8M},
    "cortex-m52": frozenset(Needs),
    "cortex-m85": frozenset(Needs),
}
"""Features of each core, with the floating-point unit that firmware is built for."""

# Mask and value of the bits of a half-word; the first row that fits decides.
_NARROW: Final = (
    (0xF500, 0xB100, Needs.ARMV7M),  # CBZ, CBNZ
    (0xFF0F, 0xBF00, Needs.ARMV6M),  # NOP and other hints
    (0xFF00, 0xBF00, Needs.ARMV7M),  # IT
    (0xFF07, 0x4704, Needs.ARMV8M),  # BXNS
    (0xFF07, 0x4784, Needs.ARMV8M),  # BLXNS
)

# The same for two half-words, the first in the upper bits.
_WIDE: Final = (
    (0xF800D000, 0xF000D000, Needs.ARMV6M),  # BL
    (0xFFFFFFC0, 0xF3BF8F40, Needs.ARMV6M),  # DSB, DMB, ISB
    (0xFFF0F400, 0xF3808400, Needs.DSP),  # MSR of the GE flags
    (0xFFF0FF00, 0xF3808800, Needs.ARMV6M),  # MSR
    (0xFFFFF000, 0xF3EF8000, Needs.ARMV6M),  # MRS
    (0xFFF0F000, 0xF7F0A000, Needs.ARMV6M),  # UDF
    (0xF800D001, 0xF000C001, Needs.ARMV81M),  # DLS, WLS, LE
    (0xFFFFFFFF, 0xE97FE97F, Needs.ARMV8M),  # SG
    (0xFFF0F03F, 0xE840F000, Needs.ARMV8M),  # TT
    (0xFFE00080, 0xE8C00080, Needs.ARMV8M),  # LDA, STL and their exclusive forms
    (0xFFFF2000, 0xE89F0000, Needs.ARMV81M),  # CLRM
    (0xFFF0C000, 0xEA508000, Needs.ARMV81M),  # CSEL, CSINC, CSINV, CSNEG
    (0xFFF0800D, 0xEA50000D, Needs.MVE),  # shifts of 64 bits
    (0xFFE08000, 0xEAC00000, Needs.DSP),  # PKHBT, PKHTB
    (0xFFF0F0C0, 0xF3200000, Needs.DSP),  # SSAT16
    (0xFFF0F0C0, 0xF3A00000, Needs.DSP),  # USAT16
    (0xFFEFF080, 0xFA0FF080, Needs.ARMV7M),  # SXTH, UXTH
    (0xFFEFF080, 0xFA4FF080, Needs.ARMV7M),  # SXTB, UXTB
    (0xFF80F080, 0xFA00F080, Needs.DSP),  # additions to extended values, and to pairs
    (0xFFF0F0C0, 0xFA90F080, Needs.ARMV7M),  # REV, REV16, REVSH, RBIT
    (0xFFF0F0F0, 0xFAB0F080, Needs.ARMV7M),  # CLZ
    (0xFF80F000, 0xFA80F000, Needs.DSP),  # sums and differences of lanes, QADD, SEL
    (0xFFF000E0, 0xFB000000, Needs.ARMV7M),  # MUL, MLA, MLS
    (0xFF8000C0, 0xFB000000, Needs.DSP),  # products of halves, SMMLA, USADA8
    (0xFF9000F0, 0xFB800000, Needs.ARMV7M),  # SMULL, UMULL
    (0xFFD000F0, 0xFB9000F0, Needs.ARMV7M),  # SDIV, UDIV
    (0xFFD000F0, 0xFBC00000, Needs.ARMV7M),  # SMLAL, UMLAL
    (0xFF800000, 0xFB800000, Needs.DSP),  # SMLALBB, SMLALD, SMLSLD, UMAAL
    (0xEF000000, 0xEF000000, Needs.MVE),  # VADD of vectors and the like
    (0xEC000E00, 0xEC000800, Needs.MVE),  # coprocessors 8 and 9
    (0xEC000E00, 0xEC000E00, Needs.MVE),  # coprocessors 14 and 15
    (0xFFBF0F50, 0xFEB00A40, Needs.ARMV81M),  # VMOVX, VINS
    (0xFF000F10, 0xFE000A00, Needs.FPV5),  # VSEL, VMAXNM, VRINTA, VCVTA
    (0xFFBF0FD0, 0xEEB60A40, Needs.FPV5),  # VRINTR
    (0xFFBF0FD0, 0xEEB60AC0, Needs.FPV5),  # VRINTZ
    (0xFFBF0FD0, 0xEEB70A40, Needs.FPV5),  # VRINTX
    (0xFFBF0FD0, 0xEEB70AC0, Needs.DOUBLE),  # VCVT to 64 bits
    (0xFF000F10, 0xFE000B00, Needs.DOUBLE),  # FPv5 of 64 bits
    (0xFF000F10, 0xEE000B00, Needs.DOUBLE),  # arithmetic of 64 bits
    (0xFFC00F70, 0xEE000B10, Needs.FPV4),  # VMOV of 32 bits to a lane and back
    (0xFF000F10, 0xEE000B10, Needs.MVE),  # VMOV of 8 and 16 bits, VDUP
    (0xFFEE0FF0, 0xEEEC0A10, Needs.MVE),  # VMRS, VMSR of the predicates
    (0xFFFF0E00, 0xEC9F0A00, Needs.ARMV81M),  # VSCCLRM
    (0xFF000E00, 0xFE000A00, Needs.MVE),  # VCMP and others of vectors
    (0xFE000E00, 0xFC000A00, Needs.MVE),  # VLD20 and others of vectors
    (0xEC000E00, 0xEC000A00, Needs.FPV4),  # all others of coprocessors 10 and 11
)


def check_instructions(elf: Path, core: str) -> None:
    """Check every instruction of a linked program.

    Args:
        elf: The program; its mapping symbols ($t, $d) tell code from data.
        core: Name in :data:`CORES`.

    Raises:
        SimulationError: It has an instruction that the core lacks.
        ToolMissingError: pyelftools is not installed.
    """
    find("pyelftools")
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        program = ELFFile(file)
        symbols = list(program.get_section_by_name(".symtab").iter_symbols())
        for address, code in _code(program, symbols):
            for at, first, second in instructions(code):
                needs = needed(first, second)
                if needs not in CORES[core]:
                    name = _function(symbols, address + at)
                    encoding = f"{first:04x}" if second is None else f"{first:04x} {second:04x}"
                    raise SimulationError(
                        f"{name} has an instruction that a {core} lacks: {encoding} at"
                        f" {address + at:#x} needs {needs.value}",
                        where=elf.name,
                        hint=f"compile everything for a {core}, the C library included",
                    )


def needed(first: int, second: int | None) -> Needs:
    """Return the needs of an instruction, by its one or two half-words."""
    if second is None:
        return _first(_NARROW, first, Needs.ARMV6M)
    return _first(_WIDE, first << 16 | second, Needs.ARMV7M)


def _first(rows: Sequence[tuple[int, int, Needs]], bits: int, other: Needs) -> Needs:
    return next((needs for mask, value, needs in rows if bits & mask == value), other)


def instructions(code: bytes) -> Iterator[tuple[int, int, int | None]]:
    """Yield offset, first and second half-word (None if it is short) of Thumb instructions.

    An instruction has two half-words if the five upper bits of the first are 29, 30 or 31.
    """
    at = 0
    while at + 2 <= len(code):
        first = int.from_bytes(code[at : at + 2], "little")
        wide = first >> 11 >= 29
        yield at, first, int.from_bytes(code[at + 2 : at + 4], "little") if wide else None
        at += 4 if wide else 2


def _code(program: Any, symbols: list[Any]) -> Iterator[tuple[int, bytes]]:  # noqa: ANN401
    """Yield address and bytes of each run of code; pyelftools carries no types."""
    for number, section in enumerate(program.iter_sections()):
        if not section["sh_flags"] & _EXECUTABLE:
            continue
        start, content = section["sh_addr"], section.data()
        # Bytes before the first symbol are code.
        marks = [(start, True)]
        marks += sorted(
            (symbol["st_value"], symbol.name.startswith("$t"))
            for symbol in symbols
            if symbol["st_shndx"] == number and symbol.name.startswith(("$t", "$d"))
        )
        ends = [address for address, _ in marks[1:]] + [start + len(content)]
        for (address, is_code), end in zip(marks, ends, strict=True):
            if is_code:
                yield address, content[address - start : end - start]


def _function(symbols: list[Any], address: int) -> str:
    """Return the name of the function around an address."""
    starts = sorted(
        (symbol["st_value"] & ~1, symbol.name)
        for symbol in symbols
        if symbol["st_info"]["type"] == "STT_FUNC"
    )
    place = bisect_right(starts, (address, chr(0x10FFFF)))
    return str(starts[place - 1][1]) if place else "the program"
