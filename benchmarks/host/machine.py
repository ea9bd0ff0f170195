"""Measured runtime, and the machine that it is measured on."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np  # noqa: F401 - loads OpenBLAS

from rlx.runtime.observation.processor import blas, processor_name

ROOT: Final = Path(__file__).parents[2]

RUNTIME: Final = "planned"
"""Name of the present runtime, which plans a graph."""

EARLIER: Final = "op by op"
"""Name of the earlier runtime, which allocated the result of every op. Its rows are kept."""


def versions() -> dict[str, str]:
    """Return the processor and the versions of the libraries that are compared."""
    return {
        "processor": processor_name(),
        "blas": blas(),
        **{name: version(name) for name in ("numpy", "onnxruntime")},
    }
