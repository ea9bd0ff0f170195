"""The cores that C can be emitted for, with the properties that the choice of kernels needs.

Tests: tests/targets/cortexm/test_cores.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class CortexCore:
    """A processor.

    Attributes:
        name: Name for compilers.
        pairs: Whether it has the DSP extension, which multiplies pairs of 16 bits.
        mainline: Whether it has more than the baseline instructions of Armv6-M and Armv8-M, which
            have no 64-bit products and read eight registers only.
        vectors: Whether it has the vector extension MVE (Helium): kernels for it are candidates.
    """

    name: str
    pairs: bool = True
    mainline: bool = True
    vectors: bool = False

    @property
    def features(self) -> str:
        """The instructions that kernels are chosen by, for people."""
        if self.vectors:
            return "vectors (MVE)"
        if self.pairs:
            return "products of pairs (DSP extension)"
        return "64-bit products" if self.mainline else "32-bit products"


CORES: Final = {
    core.name: core
    for core in (
        CortexCore("cortex-m0", pairs=False, mainline=False),
        CortexCore("cortex-m3", pairs=False),
        CortexCore("cortex-m4"),
        CortexCore("cortex-m7"),
        CortexCore("cortex-m33"),
        CortexCore("cortex-m55", vectors=True),
    )
}
"""Cores that emitted C is tested on, by name."""

ALIASES: Final = MappingProxyType({
    "cortex-m0plus": "cortex-m0",
    "cortex-m1": "cortex-m0",
    # Armv8-M Baseline: neither long multiplications nor the DSP extension.
    "cortex-m23": "cortex-m0",
    "cortex-m4+nofp": "cortex-m4",
    "cortex-m7+nofp": "cortex-m7",
    "cortex-m33+nofp": "cortex-m33",
    "cortex-m33+nodsp": "cortex-m3",
    "cortex-m33+nodsp+nofp": "cortex-m3",
    "cortex-m35p": "cortex-m33",
    "cortex-m35p+nofp": "cortex-m33",
    "cortex-m35p+nodsp": "cortex-m3",
    "cortex-m35p+nodsp+nofp": "cortex-m3",
    "cortex-m52": "cortex-m55",
    "cortex-m85": "cortex-m55",
})  # fmt: skip
"""Other cores by their names in GCC's option -mcpu, each with the one whose kernels and costs
apply: of the instructions that these depend on, both have the same."""

CPU_MEANINGS: Final = MappingProxyType(
    {name: core.features for name, core in CORES.items()}
    | {name: f"kernels of {other}" for name, other in ALIASES.items()}
)
"""Kernels that each name of a core selects, for people."""

_OTHER_PROCESSORS: Final = re.compile(
    r"cortex-[arx]|arm(926|1176|v[78]-[ar])|aarch64|neoverse|apple|x86|i[3-6]86|amd64|native|host"
    r"|risc-?v|rv(32|64)|esp|xtensa|avr|atmega|msp430|mips"
)
"""Beginnings of names of processors that are not a Cortex-M."""

DEFAULT_CORE: Final = CORES["cortex-m4"]
"""The core whose instructions the costs were fitted to."""


_SPELLING: Final = re.compile(
    r"(?:arm[ -]?)?(?:cortex)?-?m(\d+)(?P<plus>\+(?![a-z])|-?plus)?(?P<p>p?)f?((?:\+nofp|\+nodsp)*)"
)
"""Spellings of a core's name that people use: ``m4``, ``Cortex-M4F``, ``cortex_m0+``."""


def core_name(name: str) -> str:
    """Return the name in :data:`CORES` or :data:`ALIASES` for a spelling of it.

    Upper case, ``_``, a missing ``cortex-``, an ``f`` for the floating-point unit and ``+`` for
    ``plus`` do not matter.

    Raises:
        UsageError: It is not a spelling of any. For processors other than Cortex-M the hint is how
            to run there.
    """
    known = (*CORES, *ALIASES)
    word = name.lower().replace("_", "-")
    if match := _SPELLING.fullmatch(word):
        suffix = "plus" if match["plus"] else match["p"]
        word = f"cortex-m{match[1]}{suffix}{match[4]}"
    if word in known:
        return word
    if not _OTHER_PROCESSORS.match(word):
        raise UsageError(
            f"no CPU is called {name!r}",
            where="--cpu",
            hint=did_you_mean(name, known, what="CPUs"),
        )
    raise UsageError(
        f"{name!r} is not a Cortex-M",
        where="--cpu",
        hint="leave --cpu out: the C compiles for other processors too, without assembly; where"
        " Python runs, the backend native runs the model itself",
    )
