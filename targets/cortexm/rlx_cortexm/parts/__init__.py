"""Microcontrollers and boards as data."""

from rlx_cortexm.parts.catalogue import CortexPart, boards, check_part_clock, part, parts

__all__ = ["CortexPart", "boards", "check_part_clock", "part", "parts"]
