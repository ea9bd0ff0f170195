"""Processor of this machine: its name, instruction sets, and the kernels that NumPy uses on it."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from pathlib import Path
from typing import Final

_CORE_NAMES: Final = (
    "scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename",
)  # fmt: skip

_INFO: Final = Path("/proc/cpuinfo")


def machine_name() -> str:
    """Return processor, number of cores and system, as ``AMD EPYC 9B14, 2 cores, Linux``."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return f"{processor_name()}, {cores} core{'s' * (cores > 1)}, {platform.system()}"


def processor_name() -> str:
    """Return the processor's name, with its family and model where the name is generic."""
    name = _field("model name")
    if name is None:
        return platform.processor() or platform.machine()
    family = _field("cpu family")
    return name if family is None else f"{name} (family {family}, model {_field('model') or '-'})"


def instruction_sets() -> frozenset[str] | None:
    """Return the flags of the processor, such as ``avx2``; None where the system has no list."""
    flags = _field("flags") or _field("Features")
    return None if flags is None else frozenset(flags.split())


def multiplies_bytes_exactly() -> bool | None:
    """Whether ONNX Runtime multiplies uint8 by int8 without saturation on this processor.

    On x86-64 it adds pairs of products in 16 bits unless there is VNNI. None: not known.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    flags = instruction_sets()
    return None if flags is None else not flags.isdisjoint({"avx512_vnni", "avx_vnni"})


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


def _field(key: str) -> str | None:
    """Return a field of the first processor in the system's list."""
    if not _INFO.is_file():
        return None
    match = re.search(rf"^{key}\s*:\s*(.+)$", _INFO.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else None
