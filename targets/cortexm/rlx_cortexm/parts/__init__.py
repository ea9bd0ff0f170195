"""Microcontrollers and boards as data."""

from rlx_cortexm.parts.catalogue import CortexPart, boards, check_part_clock, part, parts
from rlx_cortexm.parts.flash import Flash, flash_of, parse_flash_wait

__all__ = [
    "CortexPart", "Flash", "boards", "check_part_clock", "flash_of", "parse_flash_wait", "part",
    "parts",
]  # fmt: skip
