"""The cores that C can be emitted for, and what the choice of kernels has to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CortexCore:
    """A processor.

    Attributes:
        name: As compilers call it.
        pairs: Whether it has the DSP extension, which multiplies pairs of 16 bits.
        vectors: Whether it has the vector extension MVE (Helium): kernels for it are candidates.
    """

    name: str
    pairs: bool = True
    vectors: bool = False


CORES: Final = {
    core.name: core
    for core in (
        CortexCore("cortex-m0", pairs=False),
        CortexCore("cortex-m3", pairs=False),
        CortexCore("cortex-m4"),
        CortexCore("cortex-m7"),
        CortexCore("cortex-m33"),
        CortexCore("cortex-m55", vectors=True),
    )
}
"""Cores that emitted C is tested on, by name."""

DEFAULT_CORE: Final = CORES["cortex-m4"]
"""The core whose instructions the costs were fitted to."""
