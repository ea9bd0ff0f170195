"""Places of the data files of rlx, in a wheel and in a source checkout.

Tests: tests/targets/cortexm/test_firmware.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parents[2]
"""The folder ``rlx``."""


def template_root() -> Path:
    """Return the folder that holds the emitters' templates.

    A wheel carries it inside the package (``rlx/templates``); a checkout has it next to the package
    (``templates/``), so that an edit is seen at once.
    """
    return _data("templates")


def example_root() -> Path:
    """Return the folder that holds the examples, and ``index.toml`` which lists them.

    It is ``rlx/examples`` in a wheel and ``examples/`` in a checkout.
    """
    return _data("examples")


def cmake_folder() -> Path:
    """Return the folder of rlx's CMake package, the value of ``rlx_DIR``."""
    return _PACKAGE / "cmake"


def makefile() -> Path:
    """Return the file that makefiles include to emit networks."""
    return _PACKAGE / "make" / "rlx.mk"


def schema_folder() -> Path:
    """Return the folder of the JSON Schemas of the outputs of commands."""
    return _PACKAGE / "cli" / "schemas"


def _data(name: str) -> Path:
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
