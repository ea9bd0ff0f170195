"""Templates of this target: ``templates/fpga``."""

from __future__ import annotations

from functools import cache

import jinja2

from rlx.paths import template_root


@cache
def templates() -> jinja2.Environment:
    """Return the environment in which the templates of this target render."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root() / "fpga"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, **values: object) -> str:
    """Return ``templates/fpga/<template>`` rendered with ``values``."""
    return templates().get_template(template).render(**values)
