"""The report that an emitted hardware folder holds about itself.

Tests: tests/sim/hardware/test_cocotb_bench.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rlx.support.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path


def read_report(folder: Path) -> dict[str, Any]:
    """Return ``report.json`` of an emitted hardware folder.

    Raises:
        OutputError: It is missing, or lacks the ports.
    """
    try:
        report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        _ = report["interface"]["top"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(
            "holds no report.json of a hardware design",
            where=str(folder),
            hint="emit it with 'rlx emit --target fpga'",
        ) from None
    return report
