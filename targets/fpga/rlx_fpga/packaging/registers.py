"""The register map of ``--control axi-lite``, shared by hardware, driver, bench and README."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

ADDRESS_BITS: Final = 7
"""Width of the byte addresses."""

MAGIC: Final = 0x524C5801
"""Value of register ``ID``: "RLX" and the version of this map."""


@dataclass(frozen=True, slots=True)
class RegisterField:
    """One bit of a register.

    Attributes:
        name: In capitals.
        bit: Index of the bit.
        text: Meaning.
    """

    name: str
    bit: int
    text: str


@dataclass(frozen=True, slots=True)
class Register:
    """One register of 32 bits.

    Attributes:
        name: In capitals.
        offset: Byte offset.
        access: ``RO`` read-only, ``RW`` read and write, ``W1C`` write 1 to clear.
        text: Content.
        fields: Its bits; empty if it holds one integer.
    """

    name: str
    offset: int
    access: str
    text: str
    fields: tuple[RegisterField, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the entry of ``report.json``."""
        return {
            "name": self.name,
            "offset": self.offset,
            "access": self.access,
            "text": self.text,
            "fields": [{"name": one.name, "bit": one.bit, "text": one.text} for one in self.fields],
        }


REGISTERS: Final = (
    Register("ID", 0x00, "RO", f"0x{MAGIC:08X}: identifies the core and the version of this map"),
    Register("VERSION", 0x04, "RO", "version of rlx: major << 16, minor << 8, patch"),
    Register("MODEL_LO", 0x08, "RO", "hash of the network, lowest 32 bits"),
    Register("MODEL_HI", 0x0C, "RO", "hash of the network, next 32 bits"),
    Register(
        "CONTROL", 0x10, "RW", "controls the core",
        (
            RegisterField("ENABLE", 0, "accept input; 0 pauses the inputs, frames inside continue"),
            RegisterField(
                "RESET", 1, "write 1 to drop all frames and clear counters; reads 0 when done"
            ),
        ),
    ),
    Register(
        "STATUS", 0x14, "RO", "state of the core",
        (RegisterField("BUSY", 0, "a frame has begun and is not complete at the outputs"),),
    ),
    Register(
        "IRQ_ENABLE", 0x18, "RW", "interrupts that raise irq_o",
        (RegisterField("FRAME_DONE", 0, "see IRQ_STATUS"),),
    ),
    Register(
        "IRQ_STATUS", 0x1C, "W1C", "pending interrupts",
        (RegisterField("FRAME_DONE", 0, "the last beat of a frame was sent"),),
    ),
    Register("FRAMES_IN", 0x20, "RO", "complete frames received, modulo 2^32"),
    Register("FRAMES_OUT", 0x24, "RO", "complete frames sent, modulo 2^32"),
    Register("CYCLES_LO", 0x28, "RO", "clock cycles, lower 32 bits; reading latches CYCLES_HI"),
    Register("CYCLES_HI", 0x2C, "RO", "clock cycles, upper 32 bits at the last read of CYCLES_LO"),
    Register(
        "LATENCY", 0x30, "RO",
        "cycles from the first input beat to the last output beat of the last timed frame (one that"
        " begins while no other is being timed)",
    ),
    Register(
        "INTERVAL", 0x34, "RO",
        "initiation interval: cycles between the ends of the last two frames",
    ),
    Register("STALL_IN", 0x38, "RO", "cycles in which a beat waited at an input"),
    Register("STALL_OUT", 0x3C, "RO", "cycles in which a beat waited at an output"),
)  # fmt: skip


FRAME_ERROR: Final = RegisterField(
    "FRAME_ERROR", 1,
    "an input beat had a wrong tkeep or tlast; cleared by a reset",
)  # fmt: skip
"""Bit of ``STATUS`` in cores whose streams have ``tkeep``; reads 0 in others."""


@dataclass(frozen=True, slots=True)
class Control:
    """An AXI4-Lite port with :data:`REGISTERS`.

    Attributes:
        model: Hash of the network, 64 bits.
        version: Value of register ``VERSION``.
        framed: Whether the streams have ``tkeep``: then frames are checked.
    """

    model: int
    version: int
    framed: bool = False

    @property
    def registers(self) -> tuple[Register, ...]:
        """All registers, by offset."""
        if not self.framed:
            return REGISTERS
        return tuple(
            replace(one, fields=(*one.fields, FRAME_ERROR)) if one.name == "STATUS" else one
            for one in REGISTERS
        )

    @property
    def constants(self) -> dict[str, int]:
        """Values of the constant registers."""
        return {
            "ID": MAGIC,
            "VERSION": self.version,
            "MODEL_LO": self.model & 0xFFFFFFFF,
            "MODEL_HI": self.model >> 32,
        }


def packed_version(text: str) -> int:
    """Return ``major.minor.patch`` (anything may follow) as register ``VERSION`` holds it."""
    parts = [int("".join(filter(str.isdigit, part)) or 0) for part in text.split(".")[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return (major & 0xFF) << 16 | (minor & 0xFF) << 8 | (patch & 0xFF)
