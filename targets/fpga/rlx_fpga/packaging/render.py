"""Templates of this target: ``templates/fpga``.

Tests: tests/targets/fpga/packaging/test_regroup.py
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rlx.support.files.paths import template_root

if TYPE_CHECKING:
    import jinja2


@cache
def templates() -> jinja2.Environment:
    """Return the environment in which the templates of this target render."""
    # Imported late: estimates do not render, and are often computed.
    from rlx.support.text.templates import environment

    return environment(template_root() / "fpga")


def render(template: str, **values: object) -> str:
    """Return ``templates/fpga/<template>`` rendered with ``values``."""
    return templates().get_template(template).render(**values)
