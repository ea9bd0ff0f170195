"""C templates of this target.

Tests: tests/targets/host/test_source.py
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx.support.files.paths import template_root
from rlx_c.render import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

ENV = environment(
    template_root() / "host", template_root() / "c", Path(__file__).parent / "kernels"
)
"""Templates by path: those of one kernel are in its folder, the others in ``templates/host``, and
those that all targets in C share in ``templates/c``."""

ENV.filters["prod"] = math.prod


def render(template: str, parameters: Mapping[str, Any]) -> str:
    """Return the text of a template, without its extension ``.j2``."""
    return ENV.get_template(f"{template}.j2").render(parameters)
