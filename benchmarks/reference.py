"""The reference models and data, which are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Return the folder that holds them, if it exists: ``RLX_SHARED``, or ``../shared``."""
    return Path(os.environ.get("RLX_SHARED") or Path(__file__).parents[2] / "shared")


def tiny() -> Path:
    """Return the part of it that holds the networks of MLPerf Tiny."""
    return folder() / "models" / "mlperf-tiny"
