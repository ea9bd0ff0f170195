"""Cases of images of another size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.q import QResizeBilinear, QResizeNearest
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Case, Maker


def _new_size(make: Maker, old: int) -> int:
    """Return a size, often a multiple or a part of the old one."""
    some = make.integer(1, 2 * make.knobs.size + 1)
    return int(make.pick(2 * old, 3 * old, some, some, some, old, max(old // 2, 1), 1))


@strategy(QResizeNearest)
def resize_nearest(make: Maker) -> Case:
    """Copies of nearest elements."""
    height, width = (make.integer(1, make.knobs.size + 2) for _ in range(2))
    op = QResizeNearest(
        size=(_new_size(make, height), _new_size(make, width)),
        align_corners=make.pick(False, True),
        half_pixel_centers=make.pick(False, True),
    )
    return make.finish(op, make.input(make.image(height, width)))


@strategy(QResizeBilinear)
def resize_bilinear(make: Maker) -> Case:
    """Weighted means of four elements."""
    height, width = (make.integer(1, make.knobs.size + 2) for _ in range(2))
    align_corners, half_pixel_centers = make.pick((False, True), (False, False), (True, False))
    op = QResizeBilinear(
        size=(_new_size(make, height), _new_size(make, width)),
        align_corners=align_corners,
        half_pixel_centers=half_pixel_centers,
    )
    return make.finish(op, make.input(make.image(height, width)))
