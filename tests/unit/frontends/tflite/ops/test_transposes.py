"""Transposes of int8 images before reductions, pools and dense layers: no op is left of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QTranspose
from support.files.tflite_builder import TfliteBuilder
from support.references.oracle import codes
from support.references.tflite_compare import compare

CODES = {"scale": 0.5, "zero_point": -7}
Layer = tuple[Any, ...]


def network(*layers: Layer) -> bytes:
    """Return a convolution, the layers and a dense layer.

    A layer is an operator, the shape of its result, and a list of constants or options.
    """
    model = TfliteBuilder()
    x, y = (model.tensor((1, 4, 6, 3), name=name, **CODES) for name in ("x", "conv"))
    weights = model.constant(codes(0, (3, 1, 1, 3)), scale=0.004)
    model.operator("CONV_2D", [x, weights], [y], padding="VALID", strideH=1, strideW=1)
    for code, shape, *constants in layers:
        options = constants.pop() if constants and isinstance(constants[-1], dict) else {}
        given = [y, *(model.constant(np.array(c, np.int32)) for c in constants)]
        y = model.tensor(shape, **CODES)
        model.operator(code, given, [y], **options)
    width = int(np.prod(shape))
    dense = model.constant(codes(1, (5, width)), scale=0.004)
    z = model.tensor((1, 5), name="dense", **CODES)
    model.operator("FULLY_CONNECTED", [y, dense], [z])
    return model.build([x], [z])


FIRST: Layer = ("TRANSPOSE", (1, 3, 4, 6), [0, 3, 1, 2])
SWAP: Layer = ("TRANSPOSE", (1, 6, 4, 3), [0, 2, 1, 3])
ROWS: Layer = ("RESHAPE", (1, 3, 24), [1, 3, 24])
FLAT: Layer = ("RESHAPE", (1, 72), [1, 72])
POOL = {"padding": "SAME", "strideH": 2, "strideW": 1, "filterHeight": 3, "filterWidth": 2}
FOLDED: dict[str, tuple[Layer, ...]] = {
    "flat": (FIRST, FLAT),
    "flat in two steps": (FIRST, ROWS, FLAT),
    "mean": (FIRST, ("MEAN", (1, 3), [2, 3])),
    "mean of rows": (FIRST, ROWS, ("MEAN", (1, 3), [2])),
    "maximum": (FIRST, ("REDUCE_MAX", (1, 3), [2, 3])),
    "maximum that keeps axes": (FIRST, ("REDUCE_MAX", (1, 3, 1, 1), [-1, -2], {"keepDims": True})),
    "minimum": (FIRST, ("REDUCE_MIN", (1, 3, 1, 1), [2, 3], {"keepDims": True})),
    "average pool": (SWAP, ("AVERAGE_POOL_2D", (1, 3, 4, 3), POOL), ("RESHAPE", (1, 36), [1, 36])),
    "maximum pool": (SWAP, ("MAX_POOL_2D", (1, 3, 4, 3), POOL), ("MEAN", (1, 3), [1, 2])),
}
CARRIED_OUT: dict[str, tuple[Layer, ...]] = {
    "axes that are not neighbours": (
        FIRST, ("RESHAPE", (1, 12, 6), [1, 12, 6]), ("MEAN", (1, 12), [2]),
    ),
    "an axis that is split": (FIRST, ("RESHAPE", (1, 9, 8), [1, 9, 8]), ("MEAN", (1, 9), [2])),
    "another order of results": (
        ("TRANSPOSE", (3, 6, 1, 4), [3, 2, 0, 1]), ("REDUCE_MIN", (3, 6), [2, 3]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
def test_transposes_before_layers_are_folded_into_them(name: str) -> None:
    data = network(*FOLDED[name])
    assert not any(isinstance(n.op, QTranspose) for n in tflite.load(data).graph.op_nodes)
    compare(data, runs=4)


@pytest.mark.parametrize("name", CARRIED_OUT)
def test_transposes_that_move_elements_equal_tflm(name: str) -> None:
    data = network(*CARRIED_OUT[name])
    assert any(isinstance(n.op, QTranspose) for n in tflite.load(data).graph.op_nodes)
    compare(data, runs=4)
