"""Options of ``rlx emit --target host``.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rlx.passes.boundaries import PortKind, Ports
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx_c.reserved import check_header_prefix, prefix_of
from rlx_host.instruction_set import INSTRUCTION_SETS, InstructionSet, available, baseline

BASELINE: Final = "baseline"
NATIVE: Final = "native"
NAMES: Final = (BASELINE, NATIVE, *(one.name for one in INSTRUCTION_SETS))
"""Values of ``--instruction-set``."""

KINDS: Final = tuple(kind.value for kind in PortKind)
"""Values of ``--io``."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Options of ``rlx emit --target host``."""

    prefix: str | None = field(
        default=None,
        metadata={"help": "Prefix of every C name, and name of the files."
                  "  [default: from the model]",
                  "metavar": "NAME"},
    )  # fmt: skip
    instruction_set: str = field(
        default=BASELINE,
        metadata={"help": "Vector instructions of the code. baseline: those of every processor of"
                  " this machine's architecture; native: the fastest ones of this machine; or a"
                  " name.",
                  "choices": NAMES},
    )  # fmt: skip
    io: str = field(
        default=PortKind.MODEL.value,
        metadata={"help": "Types of inputs and outputs: those of the model, or int8, uint8 or"
                  " float, converted where the model has others.",
                  "choices": KINDS},
    )  # fmt: skip

    def __post_init__(self) -> None:
        for option, word, known in (
            ("instruction set", self.instruction_set, NAMES),
            ("io", self.io, KINDS),
        ):
            if word not in known:
                raise UsageError(
                    f"{option} cannot be {word!r}", hint=did_you_mean(word, known, what=option)
                )
        if self.prefix is not None:
            check_header_prefix(self.prefix)

    @property
    def instructions(self) -> InstructionSet:
        """The instruction set."""
        if self.instruction_set == BASELINE:
            return baseline()
        if self.instruction_set == NATIVE:
            return available()[0]
        return next(one for one in INSTRUCTION_SETS if one.name == self.instruction_set)

    @property
    def ports(self) -> Ports:
        """Kind of the inputs and outputs."""
        return Ports(PortKind(self.io))

    def prefix_for(self, name: str) -> str:
        """Return the prefix of the options, or one made from a model's name."""
        return prefix_of(self.prefix, name)
