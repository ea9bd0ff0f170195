"""A small int8 model of each operator, as converters write it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from malformed.tflite_models import depthwise, one, prelu, two

from support.files.tflite_builder import TfliteBuilder
from support.networks.recurrent import Lstm, Svdf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Shape = tuple[int, ...]

_IMAGE: Final = (1, 4, 4, 4)
_ROW: Final = (1, 8)
_POOL: Final = {
    "padding": "VALID", "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2,
}  # fmt: skip
_PROBABILITY: Final = {"scale": 1 / 256, "zero_point": -128}
_INT8: Final = {"scale": 0.5, "zero_point": 3}
_NUMBERS: Final = {"scale": 1.0, "zero_point": 0}
_SIGNED: Final = {"scale": 1 / 128, "zero_point": 0}


def _typed(code: str, x: dict[str, Any], y: dict[str, Any], **options: Any) -> bytes:
    """Return a model of one operator between two kinds of elements."""
    model = TfliteBuilder()
    given, made = model.tensor(_ROW, name="x", **x), model.tensor(_ROW, name="y", **y)
    model.operator(code, [given], [made], **options)
    return model.build([given], [made])


def _weighted(code: str, x: Shape, weights: Shape, y: Shape, **options: Any) -> bytes:
    """Return a model of one operator with weights, without a bias."""
    model = TfliteBuilder()
    given = model.tensor(x, name="x", **_INT8)
    constant = model.constant(np.ones(weights, np.int8), scale=0.25, name="w")
    made = model.tensor(y, name="y", **_INT8)
    model.operator(code, [given, constant], [made], **options)
    return model.build([given], [made])


def _split(code: str, parts: Sequence[Shape], *constants: Any, first: bool, **opts: Any) -> bytes:
    """Return a model of one operator with several results; ``first``: constants come first."""
    model = TfliteBuilder()
    given = model.tensor((1, 4), name="x", **_INT8)
    numbers = [model.constant(np.array(c, np.int32), name=f"c{i}") for i, c in enumerate(constants)]
    made = [model.tensor(shape, name=f"y{i}", **_INT8) for i, shape in enumerate(parts)]
    model.operator(code, [*numbers, given] if first else [given, *numbers], made, **opts)
    return model.build([given], made)


def _pad_to(value: int) -> bytes:
    """Return a model of ``PADV2`` with a quantized constant."""
    model = TfliteBuilder()
    given = model.tensor(_IMAGE, name="x", **_INT8)
    widths = model.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32), name="widths")
    constant = model.constant(np.array(value, np.int8), name="value", **_INT8)
    made = model.tensor((1, 6, 6, 4), name="y", **_INT8)
    model.operator("PADV2", [given, widths, constant], [made])
    return model.build([given], [made])


def _filled() -> bytes:
    """Return a model that adds what ``FILL`` makes."""
    model = TfliteBuilder()
    given, made, y = (model.tensor(_ROW, name=n, **_INT8) for n in ("x", "filled", "y"))
    shape = model.constant(np.array(_ROW, np.int32), name="shape")
    code = model.constant(np.array(5, np.int8), name="code", **_INT8)
    model.operator("FILL", [shape, code], [made])
    model.operator("ADD", [given, made], [y])
    return model.build([given], [y])


def _transposed() -> bytes:
    """Return a model of a transposed convolution that doubles an image."""
    model = TfliteBuilder()
    given, made = (model.tensor(s, **_INT8) for s in (_IMAGE, (1, 8, 8, 2)))
    shape = model.constant(np.array((1, 8, 8, 2), np.int32), name="shape")
    weights = model.constant(np.ones((2, 3, 3, 4), np.int8), scale=0.25, name="w")
    model.operator(
        "TRANSPOSE_CONV", [shape, weights, given], [made], strideH=2, strideW=2, padding="SAME"
    )
    return model.build([given], [made])


def _related(code: str) -> bytes:
    """Return a model of a comparison, whose output is booleans."""
    model = TfliteBuilder()
    x, y = (model.tensor(_ROW, name=n, **_INT8) for n in "xy")
    z = model.tensor(_ROW, "bool", name="z")
    model.operator(code, [x, y], [z])
    return model.build([x, y], [z])


def _selected(code: str) -> bytes:
    """Return a model that chooses the larger of two values by a comparison."""
    model = TfliteBuilder()
    x, y, z = (model.tensor(_ROW, name=n, **_INT8) for n in "xyz")
    condition = model.tensor(_ROW, "bool", name="condition")
    model.operator("GREATER", [x, y], [condition])
    model.operator(code, [condition, x, y], [z])
    return model.build([x, y], [z])


_RELATIONS: Final = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_FLOAT: Final = {"dtype": "FLOAT32"}
_PADS: Final = [[0, 0], [1, 1], [1, 1], [0, 0]]

_FUNCTIONS: Final = ("ABS", "ELU", "EXP", "GELU", "LOG", "NEG", "RSQRT", "SQRT", "SQUARE")

SAMPLES: Final[dict[str, Callable[[], bytes]]] = {
    **{name: partial(one, name, _ROW, _ROW) for name in _FUNCTIONS},
    **{name: partial(_related, name) for name in _RELATIONS},
    **{name: partial(_selected, name) for name in ("SELECT", "SELECT_V2")},
    **{name: partial(one, name, _ROW, _ROW) for name in ("RELU_N1_TO_1", "RELU_0_TO_1")},
    "ADD": lambda: two("ADD", _IMAGE, _IMAGE, _IMAGE),
    "ARG_MAX": lambda: one("ARG_MAX", _ROW, (1,), 1, y={"dtype": "INT32"}),
    "ARG_MIN": lambda: one("ARG_MIN", _ROW, (1,), 1, y={"dtype": "INT32"}),
    "AVERAGE_POOL_2D": lambda: one("AVERAGE_POOL_2D", _IMAGE, (1, 2, 2, 4), **_POOL),
    "CAST": lambda: _typed("CAST", _NUMBERS, {"dtype": "INT32"}),
    "CONCATENATION": lambda: two("CONCATENATION", _IMAGE, _IMAGE, (1, 4, 4, 8), axis=3),
    "CONV_2D": lambda: _weighted(
        "CONV_2D", _IMAGE, (4, 1, 1, 4), _IMAGE, padding="SAME", strideH=1, strideW=1
    ),
    "BATCH_MATMUL": lambda: two("BATCH_MATMUL", (1, 2, 4), (1, 4, 3), (1, 2, 3)),
    "BROADCAST_TO": lambda: one("BROADCAST_TO", (1, 1, 1, 4), _IMAGE, _IMAGE),
    "BATCH_TO_SPACE_ND": lambda: one(
        "BATCH_TO_SPACE_ND", (4, 2, 2, 4), (1, 4, 4, 4), [2, 2], [[0, 0], [0, 0]]
    ),
    "CUMSUM": lambda: one("CUMSUM", _ROW, _ROW, 1, exclusive=False, reverse=False),
    "DEPTHWISE_CONV_2D": lambda: depthwise(2),
    "DEPTH_TO_SPACE": lambda: one("DEPTH_TO_SPACE", _IMAGE, (1, 8, 8, 1), blockSize=2),
    "DEQUANTIZE": lambda: _typed("DEQUANTIZE", _INT8, _FLOAT),
    "DIV": lambda: two("DIV", _IMAGE, _IMAGE, _IMAGE),
    "EXPAND_DIMS": lambda: one("EXPAND_DIMS", _ROW, (1, 1, 8), 1),
    "FILL": _filled,
    "GATHER": lambda: one("GATHER", _IMAGE, (1, 4, 2, 4), [2, 0], axis=2),
    "GATHER_ND": lambda: one("GATHER_ND", _IMAGE, (2, 4), [[0, 3, 1], [0, 0, 2]]),
    "FULLY_CONNECTED": lambda: _weighted("FULLY_CONNECTED", _ROW, (4, 8), (1, 4)),
    "HARD_SWISH": lambda: one("HARD_SWISH", _ROW, _ROW),
    "L2_NORMALIZATION": lambda: one("L2_NORMALIZATION", _ROW, _ROW, y=_SIGNED),
    "LEAKY_RELU": lambda: one("LEAKY_RELU", _ROW, _ROW, alpha=0.1),
    "LOGISTIC": lambda: one("LOGISTIC", _ROW, _ROW, y=_PROBABILITY),
    "MAXIMUM": lambda: two("MAXIMUM", _IMAGE, _IMAGE, _IMAGE),
    "MAX_POOL_2D": lambda: one("MAX_POOL_2D", _IMAGE, (1, 2, 2, 4), **_POOL),
    "MEAN": lambda: one("MEAN", _IMAGE, (1, 4), [1, 2], keepDims=False),
    "MINIMUM": lambda: two("MINIMUM", _IMAGE, _IMAGE, _IMAGE),
    "MIRROR_PAD": lambda: one("MIRROR_PAD", _IMAGE, (1, 6, 6, 4), _PADS, mode=0),
    "MUL": lambda: two("MUL", _IMAGE, _IMAGE, _IMAGE),
    "PACK": lambda: two("PACK", _ROW, _ROW, (2, 1, 8), axis=0, valuesCount=2),
    "PAD": lambda: one("PAD", _IMAGE, (1, 6, 6, 4), _PADS),
    "PADV2": lambda: _pad_to(5),
    "PRELU": lambda: prelu((1, 1, 3)),
    "QUANTIZE": lambda: _typed("QUANTIZE", _INT8, _SIGNED),
    "REDUCE_MAX": lambda: one("REDUCE_MAX", _IMAGE, (1, 4), [1, 2], keepDims=False),
    "REDUCE_MIN": lambda: one("REDUCE_MIN", _IMAGE, (1, 4), [1, 2], keepDims=False),
    "RELU": lambda: one("RELU", _ROW, _ROW),
    "RELU6": lambda: one("RELU6", _ROW, _ROW),
    "RESHAPE": lambda: one("RESHAPE", _IMAGE, (1, 64), [1, 64]),
    "RESIZE_BILINEAR": lambda: one("RESIZE_BILINEAR", _IMAGE, (1, 8, 8, 4), [8, 8]),
    "RESIZE_NEAREST_NEIGHBOR": lambda: one("RESIZE_NEAREST_NEIGHBOR", _IMAGE, (1, 8, 8, 4), [8, 8]),
    "REVERSE_V2": lambda: one("REVERSE_V2", _IMAGE, _IMAGE, [1]),
    "SLICE": lambda: one("SLICE", _ROW, (1, 4), [0, 2], [1, 4]),
    "SOFTMAX": lambda: one("SOFTMAX", _ROW, _ROW, y=_PROBABILITY, beta=1.0),
    "SPACE_TO_BATCH_ND": lambda: one(
        "SPACE_TO_BATCH_ND", _IMAGE, (4, 2, 2, 4), [2, 2], [[0, 0], [0, 0]]
    ),
    "SPACE_TO_DEPTH": lambda: one("SPACE_TO_DEPTH", _IMAGE, (1, 2, 2, 16), blockSize=2),
    "SPLIT": lambda: _split("SPLIT", [(1, 2), (1, 2)], 1, first=True, numSplits=2),
    "SPLIT_V": lambda: _split("SPLIT_V", [(1, 1), (1, 3)], [1, 3], 1, first=False, numSplits=2),
    "SQUEEZE": lambda: one("SQUEEZE", (1, 1, 8), _ROW, squeezeDims=[1]),
    "SQUARED_DIFFERENCE": lambda: two("SQUARED_DIFFERENCE", _IMAGE, _IMAGE, _IMAGE),
    "STRIDED_SLICE": lambda: one("STRIDED_SLICE", _ROW, (1, 4), [0, 0], [1, 8], [1, 2]),
    "SVDF": lambda: Svdf().build(1),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lambda: Lstm(steps=1).build(1),
    "SUB": lambda: two("SUB", _IMAGE, _IMAGE, _IMAGE),
    "SUM": lambda: one("SUM", _IMAGE, (1, 4), [1, 2], keepDims=False),
    "TANH": lambda: one("TANH", _ROW, _ROW, y=_SIGNED),
    "TILE": lambda: one("TILE", _IMAGE, (1, 8, 4, 4), [1, 2, 1, 1]),
    "TRANSPOSE": lambda: one("TRANSPOSE", (1, 2, 3, 4), (1, 3, 2, 4), [0, 2, 1, 3]),
    "TRANSPOSE_CONV": _transposed,
    "UNPACK": lambda: _split("UNPACK", [(1,)] * 4, first=False, axis=1, num=4),
}
"""A model of each operator that has an importer for int8, by the operator's name."""
