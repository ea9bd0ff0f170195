"""Limits of a machine as commands take them: in a file, or measured.

Tests: tests/cli/commands/test_profile.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import UsageError
from rlx.support.files.missing import missing_file

if TYPE_CHECKING:
    from rlx.runtime.observation.machine import Machine

METAVAR: Final = "FILE|measured"
_MEASURED: Final = "measured"
_WRITE: Final = "write it with rlx host MODEL --roofline measured --json"


def machine_limits(text: str) -> Machine:
    """Return the limits of a machine.

    Args:
        text: ``measured`` for those of this machine, which takes a second, or the path of a JSON
            file with a machine alone, or with what ``rlx host --roofline --json`` printed.

    Raises:
        UsageError: The file does not exist, or does not describe a machine.
    """
    from rlx.runtime.observation.machine import Machine, measure_machine

    if text == _MEASURED:
        return measure_machine()
    path = Path(text)
    if not path.exists():
        raise missing_file(path, "give 'measured', or a file of rlx host --roofline --json")
    try:
        return Machine.from_json(_description(path))
    except UsageError as e:
        raise UsageError(e.message, where=str(path), hint=_WRITE) from None


def _description(path: Path) -> dict[str, Any]:
    """Return the description of a machine in a JSON file; empty where there is none.

    Raises:
        UsageError: The file is not JSON.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise UsageError(f"expected JSON: {e}", hint=_WRITE) from None
    for key in ("roofline", "machine"):
        data = data.get(key, data) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}
