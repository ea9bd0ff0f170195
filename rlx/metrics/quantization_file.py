"""The result of a quantization as a JSON file next to the integer network.

It is a file of its own because the network's file holds the network and nothing else: the same
network has the same bytes and the same hash, for any samples that its losses were measured on. The
file names the network by the SHA-256 of its bytes.

Tests: tests/unit/reports/test_losses.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import UsageError
from rlx.support.files.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA: Final = 1

KEYS: Final = ("comparison", "graph", "layers", "schema", "sha256")
"""Keys by which a file is recognized."""

_MAX_BYTES: Final = 16 << 20


def path_beside(network: Path) -> Path:
    """Return the path of a network's result: ``net.q.json`` of ``net.q.rlx`` and ``net.rlx``."""
    return network.with_name(f"{network.stem.removesuffix('.q')}.q.json")


def check_path(path: Path) -> None:
    """Refuse to replace a file that is not the result of a quantization.

    Raises:
        UsageError: There is such a file.
    """
    if path.exists() and _values(path) is None:
        raise UsageError(
            "expected a result of 'rlx quantize', which would be written there",
            where=str(path),
            hint="move it, or give the integer network another name",
        )


def write_result(path: Path, report: Mapping[str, Any], sha256: str) -> None:
    """Write a result.

    Args:
        path: The file.
        report: Output of ``rlx quantize --json``.
        sha256: SHA-256 of the bytes of the integer network's file.
    """
    values = {**report, "schema": SCHEMA, "sha256": sha256}
    write_file(path, (json.dumps(values, indent=1, sort_keys=True) + "\n").encode())


def read_result(path: Path) -> dict[str, Any]:
    """Return the values of a result.

    Raises:
        UsageError: It cannot be read, is something else, or of another schema.
    """
    values = _values(path)
    if values is None:
        raise UsageError(
            "expected a result of 'rlx quantize'",
            where=str(path),
            hint="give the file that 'rlx quantize -o NET.q.rlx' writes next to it: NET.q.json",
        )
    if values["schema"] != SCHEMA:
        raise UsageError(
            f"expected schema {SCHEMA}, got {values['schema']!r}",
            where=str(path),
            hint="quantize the network again with this rlx",
        )
    return values


def _values(path: Path) -> dict[str, Any] | None:
    """Return the values in a file; None if it is not the result of a quantization."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and all(key in values for key in KEYS) else None
