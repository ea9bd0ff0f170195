"""Comparisons of a model on all processors, and on all microcontrollers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.support.errors import DoesNotFitError, UsageError
from rlx.support.text.tables import Column
from rlx.targets import Sweep
from rlx_cortexm.options import CPUS
from rlx_cortexm.parts import boards, part, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from rlx.ir import GraphModule
    from rlx_cortexm.options import CortexMOptions

    Estimate = Callable[[GraphModule, CortexMOptions], Mapping[str, Any]]


def sweep_with(estimate: Estimate) -> Sweep:
    """Return the comparison over processors.

    Args:
        estimate: As ``rlx.targets.Target.estimate``.
    """
    return Sweep(
        option="cpu",
        groups={"all": CPUS},
        columns={
            "instructions": Column("instructions"),
            "flash_bytes": Column("flash", "B"),
            "ram_bytes": Column("RAM", "B"),
            "constant_bytes": Column("constants", "B", priority=3),
            "code_bytes": Column("code", "B", priority=3),
        },
        by="instructions",
        maximize=False,
        lowering_key=_lowered_by,
        attempts=_attempts,
        estimate=estimate,
        row=_row,
    )


def part_sweep_with(estimate: Estimate) -> Sweep:
    """Return the comparison over microcontrollers, the one with the shortest longest time first.

    Those whose wait states are not known come last: their times do not include any.

    Args:
        estimate: As ``rlx.targets.Target.estimate``.
    """
    return Sweep(
        option="part",
        groups={"all": tuple(parts()), "boards": tuple(boards())},
        columns={
            "core": Column("core", priority=1),
            "clock_mhz": Column("clock", "MHz", priority=1),
            "wait_states": Column(
                "wait states",
                priority=1,
                meaning="of the flash; - if not known: the times are without them, and sorted last",
            ),
            "ms_low": Column("from", "ms"),
            "ms_high": Column("to", "ms"),
            "flash_percent": Column("flash", "%"),
            "ram_percent": Column("RAM", "%"),
            "instructions": Column("instructions", priority=2),
            "flash_bytes": Column("flash", "B", priority=3),
            "ram_bytes": Column("RAM", "B", priority=3),
        },
        by="ms_high",
        maximize=False,
        lowering_key=_lowered_for_core,
        attempts=_attempts_on_part,
        estimate=estimate,
        row=_part_row,
        is_lower_bound=lambda figures: figures["wait_states"] is None,
        with_value=_on_part,
    )


def _lowered_for_core(options: CortexMOptions) -> Hashable:
    """Return the options without those that change no kernel."""
    return replace(options, part=None, clock=None, flash_wait=None)


def _attempts_on_part(
    options: CortexMOptions, option_names: frozenset[str]
) -> Sequence[CortexMOptions]:
    if "cpu" in option_names:
        raise UsageError("the part sets the core", where="--cpu", hint="leave it out")
    return (options,)


def _on_part(options: CortexMOptions, name: str) -> CortexMOptions:
    """Return the options for a microcontroller.

    Raises:
        UsageError: The name is unknown.
        DoesNotFitError: The clock of the options is too fast for it.
    """
    chip = part(name)
    if options.clock is not None and options.clock > chip.clock_mhz * 1e6:
        raise DoesNotFitError(
            f"it runs at {chip.clock_mhz:g} MHz at most",
            where="--clock",
            hint="choose a lower --clock, or leave it out",
        )
    return replace(options, part=name, cpu="")


def _part_row(report: Mapping[str, Any], options: CortexMOptions) -> Mapping[str, Any]:
    time, fit = report["milliseconds"], report["part"]
    return {
        "core": options.cpu,
        "clock_mhz": time["clock_mhz"],
        "wait_states": part(options.part or "").wait_states,
        "ms_low": time["low"],
        "ms_high": time["high"],
        "flash_percent": fit["flash_percent"],
        "ram_percent": fit["ram_percent"],
        **_row(report, options),
    }


def _lowered_by(options: CortexMOptions) -> Hashable:
    return options


def _attempts(options: CortexMOptions, option_names: frozenset[str]) -> Sequence[CortexMOptions]:
    del option_names
    return (options,)


def _row(report: Mapping[str, Any], options: CortexMOptions) -> Mapping[str, Any]:
    del options
    constants, code = report["constant_bytes"], report["code_bytes"]
    return {
        "instructions": report["instructions"],
        "flash_bytes": constants + code,
        "ram_bytes": report["arena_bytes"],
        "constant_bytes": constants,
        "code_bytes": code,
    }
