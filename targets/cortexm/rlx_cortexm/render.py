"""The C templates of this target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx.support.files.paths import template_root
from rlx_c.render import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

ENV = environment(template_root() / "cortexm", template_root() / "c", Path(__file__).parent)
"""Templates by path: those of one kernel are in its folder ``kernels/<name>``, the others in
``templates/cortexm``, and those that all targets in C share in ``templates/c``."""


def render(template: str, common: Mapping[str, Any], **parameters: Any) -> str:  # noqa: ANN401
    """Return a file made from a template, without its extension ``.j2``."""
    return ENV.get_template(f"{template}.j2").render(common, **parameters)
