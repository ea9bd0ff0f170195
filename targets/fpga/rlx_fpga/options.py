"""Options of ``rlx emit --target fpga``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from rlx.errors import UsageError
from rlx.names import check_prefix, mangle
from rlx_fpga.devices import DEFAULT_DEVICE, Device, device, devices

STYLES: Final = {
    "stream": "a unit for each layer, folded, all at work at once",
    "unrolled": "a whole frame in every cycle, no multipliers; for tiny networks",
}
"""Styles of hardware, with what they are."""

CONTROLS: Final = ("none", "axi-lite")
"""Buses by which software can reach registers of the core."""

_PREFIX_LENGTH: Final = 32
_FOLD: Final = re.compile(r"(\w+)=(\d+)x(\d+)")


def parse_folds(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return ``(layer, pe, simd)`` for each of ``LAYER=PExSIMD,...``.

    Raises:
        ValueError: The text has another form.
    """
    found = []
    for part in filter(None, text.split(",")):
        match = _FOLD.fullmatch(part.strip())
        if match is None:
            msg = f"a folding is written LAYER=PExSIMD, for example n1_conv2d=4x9, not {part!r}"
            raise ValueError(msg)
        found.append((match[1], int(match[2]), int(match[3])))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class FpgaOptions:
    """Options of ``rlx emit --target fpga``."""

    prefix: str | None = field(
        default=None,
        metadata={"help": "First part of module and file names [from the model].",
                  "metavar": "NAME"},
    )  # fmt: skip
    device: str = field(
        default=DEFAULT_DEVICE,
        metadata={"help": f"Device that the design is for; 'rlx targets fpga' lists them"
                  f" [{DEFAULT_DEVICE}].",
                  "metavar": "NAME",
                  "values": {name: found.summary for name, found in devices().items()}},
    )  # fmt: skip
    style: str = field(
        default="stream",
        metadata={"help": f"Style of hardware: {', '.join(STYLES)} [stream].", "metavar": "NAME",
                  "values": STYLES},
    )  # fmt: skip
    dsp: int | None = field(
        default=None,
        metadata={"help": "Budget of multipliers [those of the device].", "metavar": "N"},
    )
    fold: tuple[tuple[str, int, int], ...] = field(
        default=(),
        metadata={"help": "Foldings that are not to be chosen: LAYER=PExSIMD,...",
                  "metavar": "TEXT", "parse": parse_folds},
    )  # fmt: skip
    control: str = field(
        default="none",
        metadata={"help": "Registers to control and watch the core, and their bus [none].",
                  "choices": CONTROLS},
    )  # fmt: skip
    synth: bool = field(
        default=False, metadata={"help": "Run Yosys and put the cells into report.json."}
    )

    def __post_init__(self) -> None:
        if self.prefix is not None:
            check_prefix(self.prefix)
        device(self.device)
        if self.style not in STYLES:
            raise UsageError(
                f"no style is called {self.style!r}", hint=f"styles: {', '.join(STYLES)}"
            )
        if self.control not in CONTROLS:
            raise UsageError(f"control must be one of {', '.join(CONTROLS)}, not {self.control!r}")
        if self.dsp is not None and self.dsp < 0:
            raise UsageError(f"the budget must be at least 0 multipliers, not {self.dsp}")

    @property
    def chosen_device(self) -> Device:
        """The device that the design is for."""
        return device(self.device)

    @property
    def dsp_budget(self) -> int:
        """Multipliers that the design may use."""
        return self.chosen_device.dsp if self.dsp is None else self.dsp

    def prefix_for(self, name: str) -> str:
        """Return the prefix given, or one made from a model's name."""
        return self.prefix or mangle(name)[:_PREFIX_LENGTH].rstrip("_")
