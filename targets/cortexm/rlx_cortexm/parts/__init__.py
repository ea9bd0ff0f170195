"""Microcontrollers and boards as data."""

from rlx_cortexm.parts.catalogue import CortexPart, boards, part, parts

__all__ = ["CortexPart", "boards", "part", "parts"]
