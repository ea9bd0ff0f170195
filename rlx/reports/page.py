"""A report as one HTML page that needs no network: styles, script and pictures are in it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from rlx.reports import charts
from rlx.reports.compact import compact_script, compact_style
from rlx.reports.graph import graph_svg
from rlx.reports.heatmap import heatmap
from rlx.reports.kinds import colour_of, kind_of
from rlx.reports.model import shape_text
from rlx.reports.tables import (
    loss_text,
    number_text,
    origin_text,
    percent_text,
    timed,
    utilization,
)
from rlx.support.files.paths import template_root
from rlx.support.text.templates import environment
from rlx.support.text.units import counted

if TYPE_CHECKING:
    import jinja2

    from rlx.reports.report import Report

FRAME_HEIGHT: Final = 720
"""Height of the page inside a notebook, in pixels."""

_INDENTED_TAG: Final = re.compile("^ +<", re.MULTILINE)
"""Beginning of an indented line of tags: a tenth of a page would be spaces."""

_FIGURE_NAMES: Final = {
    "code_bytes": "code, predicted, B", "constant_bytes": "constants, B",
    "scratch_bytes": "scratch memory, B", "milliseconds": "ms, predicted", "pe": "PE",
    "simd": "SIMD",
}  # fmt: skip
"""Figures of a layer whose names are not just their keys."""

_NAMES: Final = {"lut": "LUT", "ff": "FF", "dsp": "DSP", "bram": "BRAM", "spram": "SPRAM"}


def html_text(report: Report) -> str:
    """Return the page.

    The browser may load nothing from anywhere, and run no other script than the page's
    own, by its hash: a text from a model that slipped through the escaping would not run. The
    picture of a placement is in the page too.
    """
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            charts=charts,
            colour_of=colour_of,
            graph_svg=graph_svg,
            style=Markup(_source("page.css")),
            script=Markup(_source("page.js")),
            heatmap=heatmap,
            picture=_picture(report.placement),
            script_hash=_hash(_source("page.js")),
            largest=max((one.share for one in report.layers), default=0) or 1,
            widest=max((one.percent or 0 for one in report.resources), default=0),
        )
    )
    # Texts are escaped, so that such a line begins with a tag; styles and the script have none.
    return _INDENTED_TAG.sub("<", text)


def frame_text(report: Report) -> str:
    """Return the page inside a frame, for notebooks."""
    return (
        f'<iframe srcdoc="{escape(html_text(report))}" title="{escape(report.title)}"'
        f' style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
    )


@cache
def _environment() -> jinja2.Environment:
    filters = (
        number_text, percent_text, shape_text, utilization, resource_name, figure_name, kind_of,
        loss_text, origin_text, counted, timed,
    )  # fmt: skip
    return environment(template_root() / "report", filters=filters, escape=True)


def resource_name(name: str) -> str:
    """Return a resource as people write it, such as ``LUT``."""
    return _NAMES.get(name, name)


def figure_name(name: str) -> str:
    """Return a figure of a layer as people write it; counts of cells are predictions."""
    if name in _NAMES:
        return f"{_NAMES[name]}, predicted"
    return _FIGURE_NAMES.get(name, name.replace("_", " "))


@cache
def _source(name: str) -> str:
    """Return the styles or the script of the page, compact."""
    text = (template_root() / "report" / name).read_text(encoding="utf-8")
    return compact_script(text) if name.endswith(".js") else compact_style(text)


def _picture(svg: str | None) -> str | None:
    """Return the address of a picture that is in the page itself, where nothing in it can run."""
    if svg is None:
        return None
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _hash(script: str) -> str:
    """Return the hash of a script as a content security policy has it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
