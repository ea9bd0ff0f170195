"""Documents of an emitted network for its readers: its README, its memory map.

Tests: tests/targets/cortexm/test_interface.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.memory import memory_picture, memory_text
from rlx_cortexm.estimate import layer_rows, scratch_places
from rlx_cortexm.packages import usage
from rlx_cortexm.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx_c.program import LoweredProgram
    from rlx_cortexm.options import CortexMOptions


def documents(
    program: LoweredProgram, common: Mapping[str, Any], options: CortexMOptions
) -> dict[str, str]:
    """Return the documents by relative path.

    Args:
        program: The network.
        common: Context of every template.
        options: The user's options.
    """
    scratch, rows = scratch_places(program), layer_rows(program, options.prediction)
    return {
        "README.md": render(
            "README.md",
            common,
            layers=rows,
            timing=_timing(rows, options),
            macs=sum(step.layer.macs for step in program.steps),
            legend=sorted({step.candidate.summary for step in program.steps} - {""}),
            packages=usage(options.package, common["prefix"]),
            has_cmake="cmake" in options.package,
        ),
        "report/memory.txt": memory_text(program.plan, scratch),
        "report/memory.svg": memory_picture(program.plan, scratch, limit=options.ram),
    }


def _timing(rows: Sequence[Mapping[str, Any]], options: CortexMOptions) -> dict[str, Any] | None:
    """Return the sum of the rows' cycles, and in words their basis; None without cycles."""
    prediction = options.prediction
    if prediction is None:
        return None
    cycles = sum(row["cycles"] for row in rows)
    return {"cycles": cycles, "basis": prediction.timing(cycles).basis}
