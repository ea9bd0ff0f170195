"""Options of ``rlx emit --target fpga``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from rlx.passes.boundaries import PortKind, Ports
from rlx.support.errors import DoesNotFitError, UsageError
from rlx.support.text.names import check_prefix, mangle
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import check_clock, parse_clock
from rlx_fpga.architectures import ARCHITECTURES, DEFAULT
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.devices import DEFAULT_DEVICE, FpgaDevice, boards, device, devices
from rlx_fpga.explore.solver import Amount

CONTROLS: Final = ("none", "axi-lite")
"""Buses by which software can reach registers of the core."""

WEIGHTS: Final = ("mem", "inline", "load", "stream")
"""Storage of weights, or the way in which they are loaded.

- ``mem``: in files that ``$readmemh`` reads;
- ``inline``: in the netlist;
- ``load``: sent over a stream once after each reset (the engine);
- ``stream``: sent over a stream for every frame, layer by layer (the engine).
"""

KINDS: Final = {
    "int8": "quantized values; uint8 of a model becomes int8",
    "uint8": "the same without sign, 128 more; an inverter at each port",
}
"""Elements of the core's streams, each with a description."""

STREAM_BITS: Final = (32, 64, 128)
"""Widths of ``tdata`` that ``--stream-bits`` accepts: those of common DMAs."""

STREAMED: Final = ("load", "stream")
"""Those of :data:`WEIGHTS` that are not part of the bitstream."""

_MAX_PREFIX_LENGTH: Final = 32
BUDGETS: Final = {"dsp": "DSP slices", "bram": "block RAMs", "lut": "LUTs"}
"""Options that limit the resources of a design, with the names of the resources."""

AIMS: Final = ("throughput", "latency", "size", "energy")
"""Values of ``--optimize``.

- ``throughput``: minimum initiation interval within the budget, then minimum cost;
- ``latency``: the same interval, then the minimum sum of the times for which layers delay a frame;
- ``size``: minimum cost that reaches ``--fps``; without it, at any speed;
- ``energy``: minimum product of cost and initiation interval (that reaches ``--fps``). Every cell
  is clocked in every cycle, so this measures a frame in clocked cells. It is not a power estimate.

Cost is the sum of the shares of the device's DSP slices, block RAMs, LUTs and flip-flops; logic
cells replace the last two where each has one of both.
"""

FASTEST: Final = ("throughput", "latency")
"""Goals that use up the budget."""

DEFAULT_LUT_SHARE: Final = Fraction(2, 3)
"""The share of a device's LUTs that a design with LUT multipliers may use by default.

LUTs are predicted to within about a fifth, so at most some 80 % are used, which leaves space for
place and route.
"""

_FOLD: Final = re.compile(r"([\w./-]+)=(\d+)x(\d+)")


def parse_folds(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return ``(layer, pe, simd)`` for each of ``LAYER=PExSIMD,...``.

    Raises:
        ValueError: The text has another form.
    """
    folds = []
    for part in filter(None, text.split(",")):
        match = _FOLD.fullmatch(part.strip())
        if match is None:
            msg = f"expected LAYER=PExSIMD, for example conv1=4x9, got {part!r}"
            raise ValueError(msg)
        folds.append((match[1], int(match[2]), int(match[3])))
    return tuple(folds)


def rate_text(rate: float) -> str:
    """Return a rate in frames per second, in full: an integer from 1000 on, rounded down."""
    return f"{int(rate):,}" if rate >= 1000 else f"{rate:.4g}"


def parse_rate(text: str) -> float:
    """Return a positive float.

    Raises:
        ValueError: It is not a positive number.
    """
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        msg = f"expected a number of frames per second, for example 1000, got {text!r}"
        raise ValueError(msg)
    return rate


@dataclass(frozen=True, slots=True)
class FpgaOptions:
    """Options of ``rlx emit --target fpga``."""

    prefix: str | None = field(
        default=None,
        metadata={"help": "Prefix of module and file names.  [default: from the model]",
                  "metavar": "NAME"},
    )  # fmt: skip
    device: str = field(
        default=DEFAULT_DEVICE,
        metadata={"help": f"Device or board that the design is for; 'rlx targets fpga' lists them."
                  f"  [default: {DEFAULT_DEVICE}]",
                  "metavar": "NAME",
                  "values": {name: found.summary
                             for name, found in (*devices().items(), *boards().items())}},
    )  # fmt: skip
    architecture: str = field(
        default=DEFAULT,
        metadata={"help": f"Architecture: {', '.join(ARCHITECTURES)}.  [default: {DEFAULT}]",
                  "metavar": "NAME", "values": ARCHITECTURES},
    )  # fmt: skip
    dsp: int | None = field(
        default=None,
        metadata={
            "help": "Budget of DSP slices; without --lut also rules out LUT multipliers."
            "  [default: those of the device]",
            "metavar": "N",
        },
    )
    bram: int | None = field(
        default=None,
        metadata={"help": "Budget of block RAMs.  [default: those of the device]", "metavar": "N"},
    )
    lut: int | None = field(
        default=None,
        metadata={
            "help": "Budget of LUTs; allows LUT multipliers.  [default: two thirds of the"
            " device's with LUT multipliers, all without]",
            "metavar": "N",
        },
    )
    clock: float | None = field(
        default=None,
        metadata={"help": "Clock that rates are computed for, as 100MHz.  [default: by device]",
                  "metavar": "HERTZ", "parse": parse_clock},
    )  # fmt: skip
    fps: float | None = field(
        default=None,
        metadata={"help": "Frames per second to reach, at minimum cost; fail if impossible.",
                  "metavar": "RATE", "parse": parse_rate},
    )  # fmt: skip
    optimize: str | None = field(
        default=None,
        metadata={"help": "Goal.  [default: throughput; with --fps, size]",
                  "choices": AIMS},
    )  # fmt: skip
    fold: tuple[tuple[str, int, int], ...] = field(
        default=(),
        metadata={"help": "Fixed foldings, separated by commas.",
                  "metavar": "LAYER=PExSIMD", "parse": parse_folds},
    )  # fmt: skip
    weights: str = field(
        default="mem",
        metadata={"help": "Storage of weights: files for $readmemh, or the netlist; with the"
                  " engine also a stream, which loads them once or for every frame."
                  "  [default: mem]",
                  "choices": WEIGHTS},
    )  # fmt: skip
    control: str = field(
        default="none",
        metadata={"help": "Bus of the registers that control and monitor the core."
                  "  [default: none]",
                  "choices": CONTROLS},
    )  # fmt: skip
    io: str | None = field(
        default=None,
        metadata={"help": "Type of the elements of streams: int8, or uint8 (int8 + 128); float"
                  " conversions at inputs and outputs are removed.  [default: int8]",
                  "metavar": "KIND", "values": KINDS},
    )  # fmt: skip
    stream_bits: int | None = field(
        default=None,
        metadata={"help": "Width of tdata of all streams, with tkeep, to match a DMA."
                  "  [default: width of the core]",
                  "choices": tuple(map(str, STREAM_BITS)), "parse": int},
    )  # fmt: skip
    synth: bool = field(
        default=False, metadata={"help": "Run Yosys and add the cells to report.json."}
    )
    formal: bool = field(
        default=False,
        metadata={"help": "Emit formal/: proofs of the small cells, for yosys-smtbmc or"
                  " SymbiYosys."},
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.prefix is not None:
            check_prefix(self.prefix)
        device(self.device)
        if self.architecture not in ARCHITECTURES:
            raise UsageError(
                f"no architecture is called {self.architecture!r}",
                hint=did_you_mean(self.architecture, ARCHITECTURES, what="architectures"),
            )
        for name, known in (("control", CONTROLS), ("weights", WEIGHTS)):
            value = getattr(self, name)
            if value not in known:
                raise UsageError(
                    f"{name} cannot be {value!r}",
                    hint=did_you_mean(value, known, what=name),
                )
        self._check_streams()
        self._check_budgets()

    def _check_streams(self) -> None:
        if self.fold and self.architecture != "dataflow":
            raise UsageError(
                f"--fold needs --architecture dataflow: architecture {self.architecture} has no"
                " foldings of layers",
                hint="leave --fold out, or use --architecture dataflow",
            )
        if self.weights in STREAMED and self.architecture != "engine":
            raise UsageError(
                f"--weights {self.weights} needs --architecture engine: in architecture"
                f" {self.architecture} the weights are in the core",
                hint="use --weights mem, or --architecture engine",
            )
        if self.io == "float":
            raise UsageError(
                "expected a quantized type: a core cannot convert from or to floats",
                where="--io float",
                hint="leave it out, and convert in software: the report has scale and zero point",
            )
        if self.io not in (None, *KINDS):
            raise UsageError(
                f"io cannot be {self.io!r}",
                hint=did_you_mean(self.io or "", KINDS, what="io"),
            )
        if self.stream_bits not in (None, *STREAM_BITS):
            raise UsageError(
                f"stream_bits cannot be {self.stream_bits!r}",
                hint=f"use {', '.join(map(str, STREAM_BITS))}, or leave --stream-bits out for the"
                " widths of the core",
            )

    def _check_budgets(self) -> None:
        for name, words in BUDGETS.items():
            count = getattr(self, name)
            if count is not None and count < 0:
                raise UsageError(
                    f"--{name} must be at least 0 {words}, not {count}",
                    hint=f"leave --{name} out to use all that the device has",
                )
            there = getattr(self.chosen_device, name)
            if count is not None and count > there:
                raise UsageError(
                    f"--{name} {count} is more than {self.device} has: {there} {words}",
                    hint=f"leave --{name} out to use all of them, or choose a larger device",
                )
        if self.optimize not in (None, *AIMS):
            raise UsageError(
                f"optimize cannot be {self.optimize!r}",
                hint=did_you_mean(self.optimize, AIMS, what="optimize"),
            )
        self._check_clock()
        if self.fps is not None and not 0 < self.fps < float("inf"):
            raise UsageError(
                f"fps must be a number above 0, not {self.fps}",
                hint="leave --fps out, or write for example --fps 1000",
            )

    def _check_clock(self) -> None:
        check_clock(self.clock)
        limit = self.chosen_device.max_mhz
        if self.clock is not None and self.clock > limit * 1e6:
            raise DoesNotFitError(
                f"expected a clock of at most {limit:g} MHz, the maximum of the clock network,"
                f" got {self.clock / 1e6:g} MHz",
                where=self.device,
                hint=f"--clock {self.chosen_device.clock_mhz:g}MHz, the default",
            )

    @property
    def ports(self) -> Ports:
        """Elements of the streams; their top bits are inverted at the ports of the core."""
        kind = PortKind(self.io or "int8")
        return Ports(kind, inverts=self.io == "uint8", channels_last=True)

    @property
    def chosen_device(self) -> FpgaDevice:
        """The device that the design is for."""
        return device(self.device)

    @property
    def budget(self) -> Amount:
        """Resources that the design may use: those of the options, else all of the device."""
        device = self.chosen_device
        dsp, bram, lut = (
            getattr(device if getattr(self, name) is None else self, name) for name in BUDGETS
        )
        return Amount(dsp, bram * LIBRARIES[device.family].parts, lut)

    @property
    def default_lut(self) -> int | None:
        """LUT budget with which LUT multipliers are used by default.

        None if they are not: with ``--dsp`` or ``--lut``.
        """
        if self.dsp is not None or self.lut is not None:
            return None
        return int(self.chosen_device.lut * DEFAULT_LUT_SHARE)

    @property
    def aim(self) -> str:
        """The goal; one of :data:`AIMS`."""
        return self.optimize or ("throughput" if self.fps is None else "size")

    @property
    def clock_hz(self) -> float:
        """Clock that rates are computed for."""
        return self.clock or self.chosen_device.clock_mhz * 1e6

    @property
    def max_cycles(self) -> int | None:
        """Maximum initiation interval that reaches ``--fps``; None without it."""
        return None if self.fps is None else int(self.clock_hz / self.fps)

    def prefix_for(self, name: str) -> str:
        """Return the prefix of the options, or one made from a model's name."""
        return self.prefix or mangle(name)[:_MAX_PREFIX_LENGTH].rstrip("_")
