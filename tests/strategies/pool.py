"""Cases of pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.q import QAveragePool2d, QMaxPool2d
from strategies.table import strategy
from strategies.window import window_and_size

if TYPE_CHECKING:
    from strategies.case import Case, Maker


@strategy(QAveragePool2d)
def average_pool2d(make: Maker) -> Case:
    """Averages."""
    window, size = window_and_size(make, whole=False)
    return make.finish(QAveragePool2d(window=window, **make.clamp()), make.input(make.image(*size)))


@strategy(QMaxPool2d)
def max_pool2d(make: Maker) -> Case:
    """Maxima."""
    window, size = window_and_size(make, whole=False)
    return make.finish(QMaxPool2d(window=window, **make.clamp()), make.input(make.image(*size)))
