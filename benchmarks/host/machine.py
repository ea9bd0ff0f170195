"""Measured runtime, and the machine that it is measured on."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np  # noqa: F401 - loads OpenBLAS

import rlx_host
from rlx.runtime.observation.processor import blas, processor_name

ROOT: Final = Path(__file__).parents[2]

RUNTIME: Final = "planned"
"""Name of the NumPy backend with a memory plan."""

NATIVE: Final = "native"
"""Name of the native backend."""

BACKENDS: Final = {RUNTIME: "numpy", NATIVE: "native"}
"""Backend of each runtime that is measured."""

EARLIER: Final = "op by op"
"""Name of the earlier runtime, which allocated the result of every op. Its rows are kept."""


def versions(runtime: str = RUNTIME) -> dict[str, str]:
    """Return the processor and the versions of what is compared."""
    compiler = {"compiler": rlx_host.BACKEND.compiler()} if runtime == NATIVE else {}
    return {
        **compiler,
        "processor": processor_name(),
        "blas": blas(),
        **{name: version(name) for name in ("numpy", "onnxruntime")},
    }
