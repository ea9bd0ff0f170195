"""Options of ``rlx emit --target fpga``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from rlx.errors import UsageError
from rlx.names import check_prefix, mangle
from rlx.units import parse_clock
from rlx_fpga.devices import DEFAULT_DEVICE, Device, boards, device, devices
from rlx_fpga.memories import LIBRARIES
from rlx_fpga.solver import Amount

STYLES: Final = {
    "stream": "a unit for each layer, folded, all at work at once",
    "unrolled": "a whole frame in every cycle, no multipliers; for tiny networks",
    "folded": "one shared array, layers one after the other; for small devices",
}
"""Styles of hardware, with what they are."""

CONTROLS: Final = ("none", "axi-lite")
"""Buses by which software can reach registers of the core."""

WEIGHTS: Final = ("mem", "inline", "load", "stream")
"""Where weights can lie, or how they come in.

- ``mem``: in files that ``$readmemh`` reads;
- ``inline``: in the netlist;
- ``load``: they come by a stream, once after each reset (style ``folded``);
- ``stream``: they come by a stream in every frame, layer by layer (style ``folded``).
"""

STREAMED: Final = ("load", "stream")
"""Those of :data:`WEIGHTS` that are not part of the bitstream."""

_PREFIX_LENGTH: Final = 32
BUDGETS: Final = {"dsp": "multipliers", "bram": "block memories", "lut": "lookup tables"}
"""Options that limit what a design takes, and what they count."""

AIMS: Final = ("throughput", "latency", "size", "energy")
"""What ``--optimize`` takes.

- ``throughput``: least cycles between frames within the budget, then least cost;
- ``latency``: the same cycles between frames, then least time that the layers hold a frame back;
- ``size``: least cost that keeps ``--fps``; without it, however slow;
- ``energy``: least product of cost and cycles between frames (that keeps ``--fps``): every cell is
  clocked in every cycle, so this is what a frame costs in clocked cells. It is no power estimate.

Cost counts each multiplier, block memory and lookup table as its share of the device.
"""

FASTEST: Final = ("throughput", "latency")
"""Goals that spend what there is."""

SPARE_PART: Final = Fraction(2, 3)
"""The part of a device's lookup tables up to which products are made of them unasked.

Lookup tables are estimated within about a fifth, so that some 80 % are taken at most, which leaves
room for placing and routing.
"""

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


def parse_rate(text: str) -> float:
    """Return a number above 0.

    Raises:
        ValueError: It is something else.
    """
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        msg = f"{text!r} is no number of frames a second: write for example 1000"
        raise ValueError(msg)
    return rate


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
        metadata={"help": f"Device or board that the design is for; 'rlx targets fpga' lists them"
                  f" [{DEFAULT_DEVICE}].",
                  "metavar": "NAME",
                  "values": {name: found.summary
                             for name, found in (*devices().items(), *boards().items())}},
    )  # fmt: skip
    style: str = field(
        default="stream",
        metadata={"help": f"Style of hardware: {', '.join(STYLES)} [stream].", "metavar": "NAME",
                  "values": STYLES},
    )  # fmt: skip
    dsp: int | None = field(
        default=None,
        metadata={
            "help": "Budget of multipliers; without --lut, no other products [those of the"
            " device].",
            "metavar": "N",
        },
    )
    bram: int | None = field(
        default=None,
        metadata={"help": "Budget of block memories [those of the device].", "metavar": "N"},
    )
    lut: int | None = field(
        default=None,
        metadata={
            "help": "Budget of lookup tables; products are made of them too [two thirds of the"
            " device's, for speed; all, without such products].",
            "metavar": "N",
        },
    )
    clock: float | None = field(
        default=None,
        metadata={"help": "Clock that rates are computed for, as 100MHz [by device].",
                  "metavar": "HERTZ", "parse": parse_clock},
    )  # fmt: skip
    fps: float | None = field(
        default=None,
        metadata={"help": "Frames a second to keep, at the least cost; else refuse.",
                  "metavar": "RATE", "parse": parse_rate},
    )  # fmt: skip
    optimize: str | None = field(
        default=None,
        metadata={"help": "What is worth most: throughput, or size where --fps is given, unless"
                  " told otherwise.",
                  "choices": AIMS},
    )  # fmt: skip
    fold: tuple[tuple[str, int, int], ...] = field(
        default=(),
        metadata={"help": "Foldings that are not to be chosen: LAYER=PExSIMD,...",
                  "metavar": "TEXT", "parse": parse_folds},
    )  # fmt: skip
    weights: str = field(
        default="mem",
        metadata={"help": "Where weights lie: in files that $readmemh reads, or in the netlist; for"
                  " style folded they can also come by a stream, once or in every frame [mem].",
                  "choices": WEIGHTS},
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
        for name, known in (("control", CONTROLS), ("weights", WEIGHTS)):
            value = getattr(self, name)
            if value not in known:
                raise UsageError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        if self.weights in STREAMED and self.style != "folded":
            raise UsageError(
                f"style {self.style} has its weights in the core: --weights {self.weights} does not"
                " go with it",
                hint="use --weights mem, or --style folded",
            )
        self._check_wishes()

    def _check_wishes(self) -> None:
        for name, words in BUDGETS.items():
            count = getattr(self, name)
            if count is not None and count < 0:
                raise UsageError(f"the budget must be at least 0 {words}, not {count}")
        if self.optimize not in (None, *AIMS):
            raise UsageError(f"optimize must be one of {', '.join(AIMS)}, not {self.optimize!r}")
        for name in ("clock", "fps"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name} must be a number above 0, not {value}")

    @property
    def chosen_device(self) -> Device:
        """The device that the design is for."""
        return device(self.device)

    @property
    def budget(self) -> Amount:
        """What the design may use: what is given, and of the device what is not."""
        device = self.chosen_device
        dsp, bram, lut = (
            getattr(device if getattr(self, name) is None else self, name) for name in BUDGETS
        )
        return Amount(dsp, bram * LIBRARIES[device.family].parts, lut)

    @property
    def spare_lut(self) -> int | None:
        """Most lookup tables of a design that makes products of them to be faster, unasked.

        None if it must not: with a budget of multipliers or of lookup tables, or for other goals.
        """
        if self.aim not in FASTEST or self.dsp is not None or self.lut is not None:
            return None
        return int(self.chosen_device.lut * SPARE_PART)

    @property
    def aim(self) -> str:
        """What is worth most; one of :data:`AIMS`."""
        return self.optimize or ("throughput" if self.fps is None else "size")

    @property
    def clock_hz(self) -> float:
        """Clock that rates are computed for."""
        return self.clock or self.chosen_device.clock_mhz * 1e6

    @property
    def most_cycles(self) -> int | None:
        """Most cycles between frames that keep the rate, if one is given."""
        return None if self.fps is None else int(self.clock_hz / self.fps)

    def prefix_for(self, name: str) -> str:
        """Return the prefix given, or one made from a model's name."""
        return self.prefix or mangle(name)[:_PREFIX_LENGTH].rstrip("_")
