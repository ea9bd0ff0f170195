"""The command line that emits the same folder again.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

import csv
import dataclasses
import io
import shlex
from typing import TYPE_CHECKING, Any

from rlx import targets
from rlx.support.errors import RlxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def command_text(target: str, options: Mapping[str, Any]) -> str:
    """Return ``rlx emit MODEL --target ...`` with every option that is not the default.

    Args:
        target: Name of the target.
        options: Its options as the manifest holds them.
    """
    words = ["rlx", "emit", "MODEL", "--target", target]
    defaults = _defaults(target)
    for name, value in options.items():
        if name not in defaults or value != defaults[name]:
            words += _flag(name, value)
    return " ".join([shlex.join(words), "-o", "FOLDER"])


def _defaults(target: str) -> dict[str, Any]:
    """Return each option's default as JSON holds it; none if the target is not installed."""
    try:
        options = targets.load(target).options()
    except RlxError:
        return {}
    return {name: _plain(value) for name, value in dataclasses.asdict(options).items()}


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    return list(map(_plain, value)) if isinstance(value, tuple | list) else value


def _flag(name: str, value: object) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, list):
        return [flag, _row(map(_item, value))]
    return [flag, _item(value)]


def _row(items: Iterable[str]) -> str:
    """Return a row of CSV: an item with a comma is quoted."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(items)
    return text.getvalue()


def _item(value: object) -> str:
    if isinstance(value, list) and len(value) == 3:  # a layer's folding
        return f"{value[0]}={value[1]}x{value[2]}"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)
