"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.tflite_ops.call import importer
from rlx.frontends.tflite_ops.parts import activation_bounds, window
from rlx.ops.q import QAveragePool2d, QMaxPool2d

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call


@importer("AVERAGE_POOL_2D", "MAX_POOL_2D")
def import_pool(call: Call) -> None:
    """``AVERAGE_POOL_2D`` and ``MAX_POOL_2D``."""
    call.arity(1)
    low, high = activation_bounds(call, call.same_quant())
    kernel = (call.options["filter_h"], call.options["filter_w"])
    make = QAveragePool2d if call.operator.name == "AVERAGE_POOL_2D" else QMaxPool2d
    call.finish(make(window=window(call, call.input(0), kernel), low=low, high=high), call.value(0))
