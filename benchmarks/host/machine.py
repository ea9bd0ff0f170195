"""What is measured, and on what."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

RUNTIME: Final = "planned"
"""How the runtime works."""

EARLIER: Final = "op by op"
"""How it worked before: every op ran by itself, into new memory. Its rows are kept."""


def versions() -> dict[str, str]:
    """Return the processor and the versions of what is compared."""
    return {
        "processor": _processor(),
        **{name: version(name) for name in ("numpy", "onnxruntime")},
    }


def _processor() -> str:
    """Return the processor's name, and its family and model where the name says little."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor() or platform.machine()
    text = info.read_text(encoding="utf-8")
    found = {
        key: match[1]
        for key in ("model name", "cpu family", "model")
        if (match := re.search(rf"^{key}\s*:\s*(.+)$", text, re.MULTILINE))
    }
    name = found.get("model name", platform.machine())
    if "cpu family" not in found:
        return name
    return f"{name} (family {found['cpu family']}, model {found.get('model', '-')})"
