"""Operators on plain numbers: what LiteRT computes, operator by operator."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.ops import REAL_IMPORTERS
from rlx.ir.evaluate import evaluate
from rlx.ir.module import Stage
from rlx.ir.verify import verify
from support.files.tflite_builder import TfliteBuilder
from support.references.litert import dequantized, run_litert

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = 2e-6
"""Of the greatest magnitude of a result; integers and booleans are equal."""


@dataclass(frozen=True)
class Given:
    """An input of the model: random numbers of a shape, multiples of ``step`` if there is one."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -4.0
    high: float = 4.0
    step: float = 0.0

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """Return random elements."""
        if self.dtype == "bool":
            return random.random(self.shape) < 0.5
        if self.dtype.startswith("int"):
            return random.integers(int(self.low), int(self.high), self.shape, self.dtype)
        drawn = random.uniform(self.low, self.high, self.shape)
        return (np.rint(drawn / self.step) * self.step if self.step else drawn).astype(self.dtype)


@dataclass(frozen=True)
class Fixed:
    """A constant of the file, perhaps int8 with scales."""

    data: Any
    quantization: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One operator with its operands, in the operator's order, and options."""

    operands: Sequence[Given | Fixed | None]
    result: tuple[int, ...]
    dtype: str = "float32"
    options: dict[str, Any] = field(default_factory=dict)
    more: tuple[tuple[tuple[int, ...], str], ...] = ()
    version: int = 1


def floats(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def ints(*numbers: int) -> Fixed:
    return Fixed(np.array(numbers, np.int32))


def codes(*shape: int, axis: int | None = None) -> Fixed:
    """Return int8 weights, with a scale for each index of ``axis``."""
    data = np.random.default_rng(3).integers(-127, 128, shape).astype(np.int8)
    scale: Any = 0.013 if axis is None else np.linspace(0.01, 0.05, shape[axis])
    return Fixed(data, {"scale": scale, "axis": axis or 0})


X = Given((2, 3, 4))
IMAGE = Given((1, 5, 7, 4))


def unary(low: float = -4.0, high: float = 4.0, dtype: str = "float32", **options: Any) -> Case:
    return Case([Given((2, 3, 4), dtype, low, high)], (2, 3, 4), dtype, options)


def binary(low: float = -4.0, high: float = 4.0, dtype: str = "float32", **options: Any) -> Case:
    pair = Given((2, 3, 4), dtype, low, high), Given((4,), dtype, low, high)
    return Case(pair, (2, 3, 4), dtype, options)


def relation(dtype: str = "float32") -> Case:
    return Case([Given((2, 3, 4), dtype, -2, 3), Given((3, 1), dtype, -2, 3)], (2, 3, 4), "bool")


def conv(padding: str = "SAME", stride: int = 1, dilation: int = 1, **more: Any) -> dict[str, Any]:
    sizes = {"strideH": stride, "strideW": stride}
    holes = {"dilationHFactor": dilation, "dilationWFactor": dilation}
    return {"padding": padding, **sizes, **(holes if dilation > 1 else {}), **more}


def pool(padding: str, kernel: tuple[int, int], stride: int, **more: Any) -> dict[str, Any]:
    size = {"filterHeight": kernel[0], "filterWidth": kernel[1]}
    return {"padding": padding, "strideH": stride, "strideW": stride, **size, **more}


ACTIVATED = {"fusedActivationFunction": "RELU6"}

CASES: dict[str, list[Case]] = {
    "ABS": [unary(), unary(dtype="int32")],
    "ADD": [
        binary(),
        binary(**ACTIVATED),
        binary(fusedActivationFunction="RELU"),
        binary(fusedActivationFunction="RELU_N1_TO_1"),
        binary(dtype="int32"),
        Case([X, Fixed(floats(4))], (2, 3, 4)),
    ],
    "ADD_N": [Case([X, X, X], (2, 3, 4))],
    "ARG_MAX": [
        Case([X, Fixed(np.int32(-1))], (2, 3), "int32", {"outputType": 2}),
        Case([X, Fixed(np.int32(1))], (2, 4), "int64", {"outputType": 4}),
    ],
    "ARG_MIN": [Case([X, Fixed(np.int32(0))], (3, 4), "int32", {"outputType": 2})],
    "AVERAGE_POOL_2D": [
        Case([IMAGE], (1, 3, 4, 4), options=pool("SAME", (3, 2), 2)),
        Case([IMAGE], (1, 2, 3, 4), options=pool("VALID", (3, 2), 2, **ACTIVATED)),
    ],
    "BATCH_MATMUL": [
        Case([Given((2, 3, 4)), Given((2, 4, 5))], (2, 3, 5)),
        Case([Given((2, 4, 3)), Given((1, 5, 4))], (2, 3, 5), options={"adjX": 1, "adjY": 1}),
        Case([Given((2, 3, 4)), Fixed(floats(2, 4, 5))], (2, 3, 5)),
    ],
    "BATCH_TO_SPACE_ND": [
        Case(
            [Given((8, 3, 4, 2)), ints(2, 2), Fixed(np.array([[1, 0], [0, 1]], np.int32))],
            (2, 5, 7, 2),
        )
    ],
    "BROADCAST_TO": [Case([Given((3, 1)), ints(2, 3, 4)], (2, 3, 4), version=2)],
    "CEIL": [unary()],
    "CONCATENATION": [
        Case([X, Given((2, 1, 4)), Fixed(floats(2, 2, 4))], (2, 6, 4), options={"axis": 1})
    ],
    "CONV_2D": [
        Case([IMAGE, Fixed(floats(6, 3, 3, 4)), Fixed(floats(6))], (1, 5, 7, 6), options=conv()),
        Case(
            [IMAGE, Fixed(floats(6, 3, 2, 4)), Fixed(floats(6))],
            (1, 2, 3, 6),
            options=conv("VALID", 2, **ACTIVATED),
        ),
        Case(
            [IMAGE, Fixed(floats(6, 2, 2, 4)), Fixed(floats(6))],
            (1, 5, 7, 6),
            options=conv(dilation=2, fusedActivationFunction="RELU"),
        ),
        Case([IMAGE, Fixed(floats(6, 3, 3, 2)), Fixed(floats(6))], (1, 5, 7, 6), options=conv()),
        Case([IMAGE, codes(6, 3, 3, 4, axis=0), Fixed(floats(6))], (1, 5, 7, 6), options=conv()),
    ],
    "CONV_3D": [
        Case(
            [Given((1, 4, 5, 6, 3)), Fixed(floats(2, 3, 2, 3, 4)), Fixed(floats(4))],
            (1, 2, 3, 3, 4),
            options={"padding": "SAME", "strideD": 2, "strideH": 2, "strideW": 2, **ACTIVATED},
        ),
        Case(
            [Given((1, 4, 5, 6, 3)), Fixed(floats(2, 3, 2, 3, 4)), Fixed(floats(4))],
            (1, 3, 3, 5, 4),
            options={"padding": "VALID", "strideD": 1, "strideH": 1, "strideW": 1},
        ),
    ],
    "COS": [unary()],
    "CUMSUM": [
        Case([X, Fixed(np.int32(e))], (2, 3, 4), options={"exclusive": e, "reverse": r})
        for e in (0, 1)
        for r in (0, 1)
    ],
    "DEPTHWISE_CONV_2D": [
        Case(
            [IMAGE, Fixed(floats(1, 3, 3, 4)), Fixed(floats(4))],
            (1, 5, 7, 4),
            options=conv(depthMultiplier=1),
        ),
        Case(
            [IMAGE, Fixed(floats(1, 3, 2, 8)), Fixed(floats(8))],
            (1, 2, 3, 8),
            options=conv("VALID", 2, depthMultiplier=2, **ACTIVATED),
        ),
        Case(
            [IMAGE, codes(1, 3, 3, 4, axis=3), Fixed(floats(4))],
            (1, 5, 7, 4),
            options=conv(depthMultiplier=1),
        ),
    ],
    "DEPTH_TO_SPACE": [Case([Given((1, 2, 3, 12))], (1, 4, 6, 3), options={"blockSize": 2})],
    "DIV": [binary(0.5, 4.0), binary(0.5, 4.0, **ACTIVATED)],
    "ELU": [unary()],
    "EMBEDDING_LOOKUP": [Case([Given((4,), "int32", 0, 3), Fixed(floats(3, 5))], (4, 5))],
    "EQUAL": [relation("int32")],
    "EXP": [unary()],
    "EXPAND_DIMS": [Case([X, Fixed(np.int32(1))], (2, 1, 3, 4))],
    "FLOOR": [unary()],
    "FILL": [
        Case([ints(2, 3), Given(())], (2, 3)),
        Case([ints(2, 3), Given((), "int32")], (2, 3), "int32"),
    ],
    "FLOOR_DIV": [
        binary(0.5, 9.0),
        Case([Given((2, 3, 4), "int32", -50, 50), ints(-7, 2, 3, 8)], (2, 3, 4), "int32"),
    ],
    "FLOOR_MOD": [binary(0.5, 9.0), Case([X, Fixed(np.array([-1.5], np.float32))], (2, 3, 4))],
    "FULLY_CONNECTED": [
        Case([Given((2, 4)), Fixed(floats(5, 4)), Fixed(floats(5))], (2, 5)),
        Case([Given((2, 4)), Fixed(floats(5, 4)), None], (2, 5), options=ACTIVATED),
        Case([X, Fixed(floats(5, 4)), Fixed(floats(5))], (2, 3, 5), options={"keepNumDims": 1}),
        Case([Given((1, 2, 3, 2)), Fixed(floats(5, 12)), Fixed(floats(5))], (1, 5)),
        Case([Given((2, 4)), codes(5, 4), Fixed(floats(5))], (2, 5)),
    ],
    "GATHER": [
        Case([X, ints(2, 0, 1, 1)], (2, 4, 4), options={"axis": 1}),
        Case([X, Given((2, 2), "int32", 0, 3)], (2, 2, 2, 4), options={"axis": 1}),
    ],
    "GATHER_ND": [Case([X, Fixed(np.array([[0, 2], [1, 0]], np.int32))], (2, 4))],
    "GELU": [unary(approximate=0), unary(approximate=1)],
    "GREATER": [relation()],
    "GREATER_EQUAL": [relation("int32")],
    "HARD_SWISH": [unary(-5, 5)],
    "L2_NORMALIZATION": [
        Case([X], (2, 3, 4)),
        Case([Given((2, 3), low=0, high=0)], (2, 3)),
    ],
    "L2_POOL_2D": [Case([IMAGE], (1, 3, 4, 4), options=pool("SAME", (2, 2), 2))],
    "LEAKY_RELU": [unary(alpha=0.1)],
    "LESS": [relation()],
    "LESS_EQUAL": [relation("int32")],
    "LOG": [unary(0.1, 9.0)],
    "LOGICAL_AND": [Case([Given((2, 3), "bool"), Given((3,), "bool")], (2, 3), "bool")],
    "LOGICAL_NOT": [Case([Given((2, 3), "bool")], (2, 3), "bool")],
    "LOGICAL_OR": [Case([Given((2, 3), "bool"), Given((3,), "bool")], (2, 3), "bool")],
    "LOGISTIC": [unary()],
    "LOG_SOFTMAX": [unary()],
    "MAXIMUM": [binary(), binary(dtype="int32")],
    "MAX_POOL_2D": [
        Case([IMAGE], (1, 3, 4, 4), options=pool("SAME", (3, 2), 2)),
        Case([IMAGE], (1, 2, 3, 4), options=pool("VALID", (3, 2), 2, **ACTIVATED)),
    ],
    "MEAN": [
        Case([IMAGE, ints(1, 2)], (1, 4)),
        Case([X, ints(-1)], (2, 3, 1), options={"keepDims": 1}),
    ],
    "MINIMUM": [binary()],
    "MIRROR_PAD": [
        Case(
            [X, Fixed(np.array([[0, 0], [1, 2], [3, 0]], np.int32))], (2, 6, 7), options={"mode": m}
        )
        for m in (0, 1)
    ],
    "MUL": [binary(), binary(**ACTIVATED)],
    "NEG": [unary(), unary(dtype="int32")],
    "NOT_EQUAL": [relation("int32")],
    "PACK": [Case([X, X], (2, 2, 3, 4), options={"valuesCount": 2, "axis": 1})],
    "PAD": [Case([X, Fixed(np.array([[0, 0], [1, 2], [3, 0]], np.int32))], (2, 6, 7))],
    "PADV2": [
        Case(
            [X, Fixed(np.array([[0, 1], [0, 0], [1, 1]], np.int32)), Fixed(np.float32([-2.5]))],
            (3, 3, 6),
        )
    ],
    "POW": [Case([Given((2, 3), low=0.1), Given((3,), low=-2, high=2)], (2, 3))],
    "PRELU": [Case([IMAGE, Fixed(floats(1, 1, 4))], (1, 5, 7, 4))],
    "REDUCE_ALL": [Case([Given((2, 3), "bool"), ints(1)], (2,), "bool")],
    "REDUCE_ANY": [Case([Given((2, 3), "bool"), ints(1)], (2,), "bool")],
    "REDUCE_MAX": [
        Case([X, ints(0, 2)], (3,)),
        Case([X, ints(1)], (2, 1, 4), options={"keepDims": 1}),
    ],
    "REDUCE_MIN": [Case([X, ints(1)], (2, 4))],
    "REDUCE_PROD": [Case([X, ints(1, 2)], (2,))],
    "RELU": [unary()],
    "RELU6": [unary(-9, 9)],
    "RELU_0_TO_1": [unary()],
    "RELU_N1_TO_1": [unary()],
    "RESHAPE": [Case([X, ints(4, -1)], (4, 6)), Case([X], (6, 4), options={"newShape": [6, 4]})],
    "RESIZE_BILINEAR": [
        Case(
            [IMAGE, ints(*size)], (1, *size, 4), options={"alignCorners": a, "halfPixelCenters": h}
        )
        for a, h in ((0, 0), (1, 0), (0, 1))
        for size in ((10, 14), (3, 5), (7, 7))
    ],
    "RESIZE_NEAREST_NEIGHBOR": [
        Case(
            [IMAGE, ints(*size)], (1, *size, 4), options={"alignCorners": a, "halfPixelCenters": h}
        )
        for a, h in ((0, 0), (1, 0), (0, 1), (1, 1))
        for size in ((10, 14), (3, 5), (9, 3), (5, 1))
    ],
    "REVERSE_V2": [Case([X, ints(1)], (2, 3, 4))],
    "ROUND": [unary(), Case([Given((5, 7), step=0.5)], (5, 7))],
    "RSQRT": [unary(0.1, 9.0)],
    "SELECT": [
        Case([Given((2, 3), "bool"), Given((2, 3)), Given((2, 3))], (2, 3)),
        Case([Given((2,), "bool"), X, X], (2, 3, 4)),
    ],
    "SELECT_V2": [Case([Given((3, 1), "bool"), X, Given((4,))], (2, 3, 4))],
    "SIGN": [unary()],
    "SIN": [unary()],
    "SLICE": [Case([X, ints(0, 1, 1), ints(2, -1, 2)], (2, 2, 2))],
    "SOFTMAX": [unary(beta=1.0), unary(beta=0.5)],
    "SPACE_TO_BATCH_ND": [
        Case(
            [Given((2, 5, 7, 2)), ints(2, 2), Fixed(np.array([[1, 0], [0, 1]], np.int32))],
            (8, 3, 4, 2),
        )
    ],
    "SPACE_TO_DEPTH": [Case([Given((1, 4, 6, 3))], (1, 2, 3, 12), options={"blockSize": 2})],
    "SPLIT": [
        Case(
            [Fixed(np.int32(2)), X],
            (2, 3, 2),
            options={"numSplits": 2},
            more=(((2, 3, 2), "float32"),),
        )
    ],
    "SPLIT_V": [
        Case(
            [X, ints(1, 2), Fixed(np.int32(1))],
            (2, 1, 4),
            options={"numSplits": 2},
            more=(((2, 2, 4), "float32"),),
        )
    ],
    "SQRT": [unary(0.0, 9.0)],
    "SQUARE": [unary()],
    "SQUARED_DIFFERENCE": [binary()],
    "SQUEEZE": [Case([Given((1, 3, 1, 4))], (3, 1, 4), options={"squeezeDims": [0]})],
    "STRIDED_SLICE": [
        Case([X, ints(0, 1, 0), ints(2, 3, 4), ints(1, 1, 2)], (2, 2, 2)),
        Case(
            [X, ints(0, 1, 0), ints(2, 2, 4), ints(1, 1, 1)], (2, 4), options={"shrinkAxisMask": 2}
        ),
    ],
    "SUB": [binary(), binary(**ACTIVATED)],
    "SUM": [Case([X, ints(0, 2)], (3,)), Case([X, ints(1)], (2, 1, 4), options={"keepDims": 1})],
    "TANH": [unary()],
    "TILE": [Case([X, ints(2, 1, 3)], (4, 3, 12))],
    "TOPK_V2": [Case([X, Fixed(np.int32(3))], (2, 3, 3), more=(((2, 3, 3), "int32"),))],
    "TRANSPOSE": [Case([X, ints(2, 0, 1)], (4, 2, 3))],
    "TRANSPOSE_CONV": [
        Case(
            [ints(1, 10, 14, 6), Fixed(floats(6, 3, 3, 4)), IMAGE],
            (1, 10, 14, 6),
            options=conv("SAME", 2),
        ),
        Case(
            [ints(1, 11, 15, 6), Fixed(floats(6, 3, 3, 4)), IMAGE, Fixed(floats(6))],
            (1, 11, 15, 6),
            options=conv("VALID", 2),
        ),
        Case(
            [ints(1, 9, 13, 6), Fixed(floats(6, 4, 2, 4)), IMAGE, Fixed(floats(6))],
            (1, 9, 13, 6),
            options=conv("SAME", 2, **ACTIVATED),
        ),
        Case(
            [ints(1, 12, 17, 6), Fixed(floats(6, 2, 2, 4)), Given((1, 4, 6, 4))],
            (1, 12, 17, 6),
            options=conv("VALID", 3),
        ),
    ],
    "UNPACK": [
        Case([Given((2, 2, 3))], (2, 3), options={"num": 2, "axis": 1}, more=(((2, 3), "float32"),))
    ],
    "ZEROS_LIKE": [Case([X], (2, 3, 4)), Case([Given((3,), "int32")], (3,), "int32")],
}


def build(name: str, case: Case) -> tuple[bytes, list[Given]]:
    """Return a model of one operator, and what its inputs are."""
    model, given, places, inputs = TfliteBuilder(), [], [], []
    for operand in case.operands:
        if operand is None:
            places.append(-1)
        elif isinstance(operand, Fixed):
            places.append(model.constant(operand.data, **operand.quantization))
        else:
            places.append(model.tensor(operand.shape, operand.dtype))
            inputs.append(places[-1])
            given.append(operand)
    outputs = [model.tensor(case.result, case.dtype)]
    outputs += [model.tensor(shape, dtype) for shape, dtype in case.more]
    model.operator(name, places, outputs, version=case.version, **case.options)
    return model.build(inputs, outputs), given


PLACES = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize(("name", "place"), PLACES, ids=[f"{n}-{i}" for n, i in PLACES])
def test_equals_litert(name: str, place: int) -> None:
    data, given = build(name, CASES[name][place])
    module = tflite.load(data)
    verify(module)
    assert module.stage in (Stage.HIR, Stage.MIR)
    random = np.random.default_rng(zlib.crc32(f"{name}{place}".encode()))
    frames = [[g.draw(random) for g in given] for _ in range(4)]
    # Hybrid kernels quantize activations: what is meant is the network of dequantized weights.
    expected = run_litert(dequantized(data), *frames)
    names = [v.name for v in module.graph.inputs]
    for k, frame in enumerate(frames):
        found = evaluate(module.graph, dict(zip(names, frame, strict=True)))
        for mine, theirs in zip(found, (e[k] for e in expected), strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            if mine.dtype.kind == "f":
                assert np.abs(mine - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), 1e-30)
            else:
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize("absent", [[], [None]])
def test_a_bias_that_is_left_out_is_zero(name: str, absent: list[None]) -> None:
    # LiteRT's kernels crash without one.
    case = CASES[name][0]
    x, w, bias = case.operands
    assert isinstance(bias, Fixed)
    without, given = build(name, replace(case, operands=[x, w, *absent]))
    zero, _ = build(name, replace(case, operands=[x, w, Fixed(np.zeros_like(bias.data))]))
    frame = given[0].draw(np.random.default_rng(0))
    found, wanted = (
        evaluate(g, {g.inputs[0].name: frame})[0]
        for g in (tflite.load(data).graph for data in (without, zero))
    )
    np.testing.assert_array_equal(found, wanted)


def test_every_importer_has_a_case() -> None:
    # test_boundary.py, test_open.py, test_custom.py
    elsewhere = {"CAST", "CUSTOM 'Convolution2DTransposeBias'", "DEQUANTIZE", "QUANTIZE", "RANGE"}
    assert set(CASES) | elsewhere == set(REAL_IMPORTERS)
