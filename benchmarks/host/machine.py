"""Measured runtime, and the machine that it is measured on."""

from __future__ import annotations

import ctypes
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np  # noqa: F401 - loads OpenBLAS

ROOT: Final = Path(__file__).parents[2]

RUNTIME: Final = "planned"
"""Name of the present runtime, which plans a graph."""

EARLIER: Final = "op by op"
"""Name of the earlier runtime, which allocated the result of every op. Its rows are kept."""


_CORE_NAMES: Final = (
    "scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the processor and the versions of the libraries that are compared."""
    return {
        "processor": _processor(),
        "blas": blas(),
        **{name: version(name) for name in ("numpy", "onnxruntime")},
    }


def blas() -> str:
    """Return the processor whose kernels NumPy's OpenBLAS uses here, or ``-``.

    OpenBLAS selects them when it is loaded. A version older than the processor uses kernels of an
    earlier one, which may halve the rate of multiplications.
    """
    maps = Path("/proc/self/maps")
    text = maps.read_text(encoding="utf-8") if maps.is_file() else ""
    for path in sorted(set(re.findall(r"/\S*openblas\S*", text))):
        for name in _CORE_NAMES:
            function = getattr(ctypes.CDLL(path), name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return str(function().decode("ascii"))
    return "-"


def _processor() -> str:
    """Return the processor's name, with its family and model where the name is generic."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor() or platform.machine()
    text = info.read_text(encoding="utf-8")
    fields = {
        key: match[1]
        for key in ("model name", "cpu family", "model")
        if (match := re.search(rf"^{key}\s*:\s*(.+)$", text, re.MULTILINE))
    }
    name = fields.get("model name", platform.machine())
    if "cpu family" not in fields:
        return name
    return f"{name} (family {fields['cpu family']}, model {fields.get('model', '-')})"
