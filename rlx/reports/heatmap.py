"""Heat map of a weight tensor: its cells as data that the page's script draws."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from rlx.driver.weight_picture import LEVELS
from rlx.reports.model import shape_text

if TYPE_CHECKING:
    from rlx.reports.model import WeightPicture, Weights

_MAX_PIXELS: Final = 256
"""Pixels of the longer side of a heat map on the page."""

_MAX_CELL_PIXELS: Final = 12
"""Pixels of the side of a cell."""


def heatmap(weights: Weights) -> Markup:
    """Return the canvas of a heat map, its scale and its caption; empty without a picture.

    ``data-cells`` are the digits of the picture, two in a byte, in base64.
    """
    picture = weights.picture
    if picture is None:
        return Markup()
    rows = len(picture.cells) // picture.columns
    cell = max(1, min(_MAX_CELL_PIXELS, _MAX_PIXELS // max(rows, picture.columns)))
    largest = max(abs(weights.low), abs(weights.high))
    height = picture.shape[0] if len(picture.shape) > 1 else 1
    padded = picture.cells + "0" * (len(picture.cells) % 2)
    return Markup(
        '<div class="heat"><canvas width="{}" height="{}" style="width:{}px" role="img"'
        ' aria-label="Heat map of the weights" data-scale="{}" data-block="{},{}"'
        ' data-shape="{},{}" data-cells="{}"></canvas>'
        '<p class="ramp"><span>-{}</span><span>0</span><span>{}</span></p>'
        '<p class="note">{}</p></div>'
    ).format(
        picture.columns, rows, cell * picture.columns, largest, *picture.block, height,
        weights.elements // height, base64.b64encode(bytes.fromhex(padded)).decode(),
        largest, largest, caption(picture),
    )  # fmt: skip


def caption(picture: WeightPicture) -> str:
    """Return the meaning of rows, columns and cells, and whether the picture is reduced."""
    rows, columns = picture.block
    axes = "first axis down, others across" if len(picture.shape) > 1 else "one row"
    cells = "each cell one weight"
    if rows * columns > 1:
        cells = f"reduced: each cell the largest in magnitude of {rows} x {columns} weights"
    return f"{shape_text(picture.shape)}: {axes}; {cells}, in {2 * LEVELS + 1} shades"
