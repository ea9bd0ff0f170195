"""Comparison of a model on all devices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.support.errors import DoesNotFitError
from rlx.support.text.tables import Column
from rlx.targets import Sweep
from rlx_fpga.architectures.choice import build
from rlx_fpga.devices import boards, device, devices
from rlx_fpga.explore.fit import missed_rate, shortage
from rlx_fpga.options import BUDGETS
from rlx_fpga.report import doubt

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from rlx.ir import GraphModule
    from rlx_fpga.options import FpgaOptions

_FREE = frozenset({"architecture", "weights", "fold"})
"""Options that are varied unless the user chose one of them."""


def _on(options: FpgaOptions, name: str) -> FpgaOptions:
    """Return the options for another device, with budgets of at most its resources."""
    there, given = device(name), {key: getattr(options, key) for key in BUDGETS}
    limits = {key: min(n, getattr(there, key)) for key, n in given.items() if n is not None}
    return replace(options, device=name, **limits)


def _attempts(options: FpgaOptions, option_names: frozenset[str]) -> Sequence[FpgaOptions]:
    """Return the options unchanged, then with the engine, its weights built in or streamed."""
    if option_names & _FREE:
        return (options,)
    engine = replace(options, architecture="engine", fold=())
    return options, engine, replace(engine, weights="stream")


def _estimate(module: GraphModule, options: FpgaOptions) -> Mapping[str, Any]:
    """Return the report of a design, with ``fits``, and ``short`` if it does not fit.

    Where no design reaches the rate, it is that of the fastest one.
    """
    try:
        report = build(module, options).report
    except DoesNotFitError:
        if options.fps is None:
            raise
        report = build(module, replace(options, fps=None, optimize="throughput")).report
    excess = shortage(report, options)
    short = excess or missed_rate(report, options)
    return {**report, "fits": not short, "short": short, "within_budget": not excess}


def _row(report: Mapping[str, Any], options: FpgaOptions) -> Mapping[str, Any]:
    """Return the figures of a row."""
    weights = ", streamed weights" if options.weights in ("load", "stream") else ""
    keys = ["fps", "clock_mhz", "lut_percent", "ff_percent", "dsp_percent", "bram_percent"]
    keys += ["logic_cells_percent"] if "logic_cells_percent" in report else []
    return {"architecture": options.architecture + weights, **{key: report[key] for key in keys}}


def _lowered_by(options: FpgaOptions) -> Hashable:
    return options.architecture, options.io


SWEEP = Sweep(
    option="device",
    groups={"all": tuple(devices()), "boards": tuple(boards())},
    columns={
        "fps": Column("frames/s"),
        "clock_mhz": Column("clock", "MHz", priority=2),
        "architecture": Column("architecture", priority=1),
        "lut_percent": Column("LUT", "%", priority=1),
        "ff_percent": Column("FF", "%", priority=4),
        "dsp_percent": Column("DSP", "%", priority=1),
        "bram_percent": Column("BRAM", "%", priority=1),
    },
    by="fps",
    maximize=True,
    lowering_key=_lowered_by,
    attempts=_attempts,
    estimate=_estimate,
    row=_row,
    caveat=doubt,
    with_value=_on,
)
"""The comparison over devices; ``boards`` are devices with known pins."""
