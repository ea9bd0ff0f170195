"""Options of ``rlx emit --target cortexm``.

Tests: tests/targets/cortexm/test_cores.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rlx.passes.boundaries import PortKind, Ports
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import check_clock, parse_bytes, parse_clock
from rlx_c.choice import DEFAULT_OBJECTIVE, OBJECTIVES
from rlx_c.reserved import check_header_prefix, prefix_of
from rlx_cortexm.core import ALIASES, CORES, CPU_MEANINGS, DEFAULT_CORE, CortexCore, core_name
from rlx_cortexm.cycles import CyclePrediction
from rlx_cortexm.labels import parse_labels
from rlx_cortexm.packages import PACKAGES, check_packages, parse_packages
from rlx_cortexm.parts import (
    CortexPart,
    Flash,
    boards,
    check_part_clock,
    flash_of,
    parse_flash_wait,
    parts,
)
from rlx_cortexm.parts import part as part_named
from rlx_cortexm.timing import cycle_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.targets.milliseconds import CycleRange

CPUS: Final = tuple(CORES)
"""Cores that differ in the emitted code."""

CPU_NAMES: Final = (*CPUS, *ALIASES)
"""Names that ``--cpu`` accepts."""

PLACES: Final = ("caller", "arena")
"""Places of inputs and outputs."""

LINK_TIME: Final = "link-time"
RUN_TIME: Final = "run-time"
ADDRESS_TIMES: Final = (LINK_TIME, RUN_TIME)
"""Times at which the address of the constants may be set: by the linker, or by the firmware."""

KINDS: Final = tuple(kind.value for kind in PortKind if kind is not PortKind.MODEL)
"""Kinds of inputs and outputs."""

_URL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.:-]*(/[A-Za-z0-9._~:/?#@!&()*+,;=%-]*)?")
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class CortexMOptions:
    """Options of ``rlx emit --target cortexm``."""

    prefix: str | None = field(
        default=None,
        metadata={"help": "Prefix of every C name, and name of the files."
                  "  [default: from the model]",
                  "metavar": "NAME"},
    )  # fmt: skip
    cpu: str = field(
        default="",
        metadata={
            "help": "Target core, as GCC calls it (m4 is cortex-m4), for which kernels are chosen: "
            f"{', '.join(CPU_NAMES)}."
            f"  [default: that of --part, else {DEFAULT_CORE.name}]",
            "metavar": "NAME",
            "values": CPU_MEANINGS,
        },
    )
    part: str | None = field(
        default=None,
        metadata={
            "help": "Microcontroller or board that the network is meant for: sets --cpu and the"
            " clock, and refuses what its flash or RAM cannot hold; 'rlx targets cortexm' lists"
            " them.",
            "metavar": "NAME",
            "values": {key: entry.summary for key, entry in (*parts().items(), *boards().items())},
        },
    )
    clock: float | None = field(
        default=None,
        metadata={"help": "Clock that milliseconds are computed for, as 64MHz."
                  "  [default: maximum of --part]",
                  "metavar": "CLOCK", "parse": parse_clock},
    )  # fmt: skip
    flash_wait: str | None = field(
        default=None,
        metadata={"help": "Wait states of the flash that cycles are predicted for: 4, or 4:64 for"
                  " reads of 64 bits.  [default: those of --part, else 0]",
                  "metavar": "STATES"},
    )  # fmt: skip
    ram: int | None = field(
        default=None,
        metadata={"help": "Fail if the arena needs more than this, for example 64K; up to it,"
                  " more scratch memory may be used, and layers be computed in stripes.",
                  "metavar": "BYTES", "parse": parse_bytes},
    )  # fmt: skip
    flash: int | None = field(
        default=None,
        metadata={"help": "Fail if constants and code need more than this, for example 256K.",
                  "metavar": "BYTES", "parse": parse_bytes},
    )  # fmt: skip
    optimize: str = field(
        default=DEFAULT_OBJECTIVE,
        metadata={"help": "Objective when kernels are chosen, within --ram and --flash. balanced:"
                  " a byte of flash must save 10 instructions, one of RAM 8; speed: one each; size:"
                  " smallest flash; ram: a byte of RAM must save 1000. Without --ram, scratch bytes"
                  " may enlarge the arena by an eighth, at least 2K; with speed, while it pays.",
                  "choices": tuple(OBJECTIVES)},
    )  # fmt: skip
    io: str = field(
        default="caller",
        metadata={"help": "Type and place of inputs and outputs: int8, uint8 or float; arrays of"
                  " the caller, or the arena, where they share bytes with intermediate values."
                  " Join both with a comma: float,arena.  [default: int8,caller]",
                  "metavar": "WORDS"},
    )  # fmt: skip
    static_arena: bool = field(
        default=False, metadata={"help": "Define an arena too, as a global array."}
    )
    self_test: int = field(
        default=0,
        metadata={"help": "Golden vectors to compile into a self-test, PREFIX_self_test()."
                  "  [default: 0]",
                  "metavar": "FRAMES"},
    )  # fmt: skip
    labels: tuple[str, ...] | None = field(
        default=None,
        metadata={"help": "Names of the classes for PREFIX_labels: a file with one on each line, or"
                  " names with commas between them.  [default: those in the metadata of a .tflite]",
                  "metavar": "FILE|NAMES", "parse": parse_labels},
    )  # fmt: skip
    weights_at: str = field(
        default=LINK_TIME,
        metadata={"help": "Time at which the address of the weights is set. link-time: they are C"
                  " arrays; run-time: they are the file PREFIX_weights.bin, which firmware finds at"
                  " the address that it gives PREFIX_set_weights(), and --flash is for the code. A"
                  " network that is trained again must be quantized with the ranges of the first:"
                  " rlx quantize --fix-ranges.",
                  "choices": ADDRESS_TIMES},
    )  # fmt: skip
    self_check: bool = field(
        default=False,
        metadata={"help": "Add the CRC-32 of the constants, and functions that check it in one call"
                  " or in slices: PREFIX_self_check(), PREFIX_self_check_step()."},
    )  # fmt: skip
    package: tuple[str, ...] = field(
        default=tuple(PACKAGES),
        metadata={"help": f"Build systems to emit files for: any of {', '.join(PACKAGES)}."
                  "  [default: all]",
                  "metavar": "NAMES", "parse": parse_packages},
    )  # fmt: skip
    package_version: str = field(
        default="1.0.0",
        metadata={"help": "Version of the network in those files.", "metavar": "X.Y.Z"},
    )
    package_url: str = field(
        default="https://pypi.org/project/rlx/",
        metadata={"help": "URL of a page about the network, for those files.", "metavar": "URL"},
    )

    def __post_init__(self) -> None:
        check_clock(self.clock)
        if self.flash_wait is not None:
            parse_flash_wait(self.flash_wait)
        if self.cpu:
            object.__setattr__(self, "cpu", core_name(self.cpu))
        self._resolve_part()
        _check_word("optimize", self.optimize, tuple(OBJECTIVES))
        _check_word("weights at", self.weights_at, ADDRESS_TIMES)
        _check_io(self.io)
        if self.prefix is not None:
            check_header_prefix(self.prefix)
        if self.self_test < 0:
            raise UsageError(
                f"expected a number of frames for --self-test, got {self.self_test}",
                hint="use for example --self-test 2, or leave it out",
            )
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        check_packages(self.package)
        if not _VERSION.fullmatch(self.package_version):
            raise UsageError(
                f"expected a package version of three numbers, got {self.package_version!r}",
                hint="use for example --package-version 1.0.0",
            )
        if not _URL.fullmatch(self.package_url):
            raise UsageError(
                f"expected the URL of a page, got {self.package_url!r}",
                hint="use for example --package-url https://example.com/network",
            )

    def _resolve_part(self) -> None:
        """Set the core and the part's name in the table, and check that they and the clock agree.

        Raises:
            UsageError: The part does not exist, or its core or clock is another one.
        """
        chip = None if self.part is None else part_named(self.part)
        if chip is None:
            object.__setattr__(self, "cpu", self.cpu or DEFAULT_CORE.name)
            return
        object.__setattr__(self, "part", chip.key)
        object.__setattr__(self, "cpu", self.cpu or chip.core)
        # An extension may be left unused, as with cortex-m4+nofp.
        if self.cpu != chip.core and not self.cpu.startswith(f"{chip.core}+"):
            raise UsageError(
                f"{chip.name} has a {chip.core}, not a {self.cpu}",
                where="--part",
                hint=f"leave --cpu out, or write --cpu {chip.core}",
            )
        if self.clock is not None:
            check_part_clock(chip, self.clock)

    @property
    def chip(self) -> CortexPart | None:
        """Microcontroller of ``--part``, or None."""
        return None if self.part is None else part_named(self.part)

    @property
    def device(self) -> str:
        """Core for a reader, with the microcontroller, if set."""
        chip = self.chip
        return self.cpu if chip is None else f"{self.cpu} ({chip.name})"

    @property
    def cycles(self) -> CycleRange | None:
        """Cycles of an instruction at the clock; None without a clock or a part."""
        clock = self.clock_hz
        return None if clock is None else cycle_range(self.cpu, clock, self.flash_memory)

    @property
    def clock_hz(self) -> float | None:
        """Clock: of the option, or the maximum of the part; None without both."""
        chip = self.chip
        return chip.clock_mhz * 1e6 if self.clock is None and chip is not None else self.clock

    @property
    def flash_memory(self) -> Flash:
        """Memory of the part, with the wait states of the option."""
        return flash_of(self.chip, self.flash_wait)

    @property
    def has_timing(self) -> bool:
        """Whether cycles are predicted: a part, a clock or wait states are given."""
        return not (self.part is None and self.clock is None and self.flash_wait is None)

    @property
    def prediction(self) -> CyclePrediction | None:
        """Predictor of cycles; None if none are requested, or the core has no rates."""
        if not self.has_timing:
            return None
        clock = self.clock_hz
        megahertz = None if clock is None else clock / 1e6
        return CyclePrediction.of(self.cpu, self.flash_memory, megahertz)

    @property
    def weights_in_file(self) -> bool:
        """Whether the constants are a file in place of C arrays."""
        return self.weights_at == RUN_TIME

    @property
    def in_arena(self) -> bool:
        """Whether inputs and outputs are in the arena."""
        return "arena" in self.io.split(",")

    @property
    def ports(self) -> Ports:
        """Kind of the inputs and outputs."""
        found = [word for word in self.io.split(",") if word in KINDS]
        return Ports(PortKind(found[0])) if found else Ports()

    @property
    def core(self) -> CortexCore:
        """The core whose kernels and costs are those of the one that the network is meant for."""
        return CORES[ALIASES.get(self.cpu, self.cpu)]

    def prefix_for(self, name: str) -> str:
        """Return the prefix of the options, or one made from a model's name."""
        return prefix_of(self.prefix, name)


def _check_word(option: str, word: str, known: Sequence[str]) -> None:
    """Check that an option's word is known.

    Raises:
        UsageError: It is not.
    """
    if word not in known:
        raise UsageError(
            f"{option} cannot be {word!r}", hint=did_you_mean(word, known, what=option)
        )


def _check_io(io: str) -> None:
    """Refuse a value other than one word, or one of each kind separated by a comma.

    Raises:
        UsageError: It is another value.
    """
    words = io.split(",")
    for word in words:
        _check_word("io", word, (*KINDS, *PLACES))
    for group in (KINDS, PLACES):
        group_words = [word for word in words if word in group]
        if len(group_words) > 1:
            raise UsageError(
                f"expected one of {', '.join(group)} in io, got {' and '.join(group_words)}",
                hint=f"choose {' or '.join(group_words)}",
            )
