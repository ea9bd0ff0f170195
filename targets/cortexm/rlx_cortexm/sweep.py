"""Comparison of a model on all processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.support.text.tables import Column
from rlx.targets import Sweep
from rlx_cortexm.options import CPUS

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
