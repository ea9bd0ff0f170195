"""Every importer combines scales as the reference does: 200 models an operator that show it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scale_sweep import CLAMPS, SWEEPS, check, sweep
from scale_sweep.arith import requantize_of
from scale_sweep.case import rescale
from scale_sweep.layers import LAYERS, layer_of

from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.ops import IMPORTERS
from rlx.frontends.tflite.signed import EXACT_ON_UINT8
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import other_sign
from support.references.litert import run_reference

MODELS = 200

# Operators that move, choose or compare codes, and look at no scale but to see that all are equal.
WITHOUT_SCALES = {
    "ARG_MAX", "ARG_MIN", "BATCH_TO_SPACE_ND", "BROADCAST_TO", "CAST", "CONCATENATION",
    "DEPTH_TO_SPACE", "DEQUANTIZE", "EXPAND_DIMS", "FILL", "GATHER", "GATHER_ND",
    "L2_NORMALIZATION", "MAXIMUM", "MINIMUM", "MIRROR_PAD", "PACK", "PAD", "PADV2", "REDUCE_MAX",
    "REDUCE_MIN", "RESHAPE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SELECT",
    "SELECT_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE",
    "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
}  # fmt: skip

REFUSED_ON_UINT8 = {"FULLY_CONNECTED": 10, "LOGISTIC": 6, "TANH": 6}

# The reference has no kernel on int8.
OUTSIDE = {"EXP", "GELU", "LOG", "NEG", "RELU_0_TO_1", "RELU_N1_TO_1", "SQRT", "SQUARE"}

# Each scale is used alone, or its own rounding is compared with all sums (test_running_sum.py).
OUTSIDE |= {"CUMSUM", "DIV", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"}

# Both operands are rounded to 1/128 before the product, which hides the precision; test_arith.py
# compares all pairs of codes.
OUTSIDE |= {"SQUARED_DIFFERENCE"}

# Their scales are those of states; ops/test_recurrent.py compares layers step by step.
OUTSIDE |= {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}

IN_ONE_WAY = {"ELU", "LOGISTIC", "TANH"}

ON_UINT8 = [
    name
    for name in SWEEPS
    if name.split()[0] in {*EXACT_ON_UINT8, "QUANTIZE"} and "by channel" not in name
]

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize("name", SWEEPS)
def test_scales_are_combined_as_the_reference_does(name: str) -> None:
    for case in sweep(SWEEPS[name], MODELS):
        check(case)


@pytest.mark.parametrize("name", ON_UINT8)
def test_scales_of_uint8_are_combined_as_litert_does(name: str) -> None:
    refusals = []
    for case in sweep(SWEEPS[name], MODELS // 5):
        data = other_sign(case.build())
        inputs = [a.astype(np.int8).view(np.uint8) ^ 0x80 for a in case.operands[: case.inputs]]
        try:
            graph = tflite.load(data).graph
        except UnsupportedOpError as error:
            refusals.append(str(error))
            continue
        values = dict(zip((v.name for v in graph.inputs), inputs, strict=True))
        (expected,) = run_reference(data, *inputs)
        np.testing.assert_array_equal(evaluate(graph, values)[0], expected, str(case.scales))
    # Sums of nearly 32 bits, and functions of inputs with large scales.
    assert len(refusals) == REFUSED_ON_UINT8.get(name, 0)
    assert all("equal no product" in text or "input scale" in text for text in refusals)


@pytest.mark.parametrize("name", [n for n in SWEEPS if n not in IN_ONE_WAY])
def test_a_reference_with_another_precision_fails_by_name(name: str) -> None:
    (case,) = sweep(SWEEPS[name], 1)
    message = rf"^{case.operator}, scales .* codes differ\nthe wheel computes as .* in double, "
    with pytest.raises(pytest.fail.Exception, match=message):
        check(replace(case, right="float32"))


@pytest.mark.parametrize(
    ("name", "activation"),
    [("RELU6", "RELU6"), *product(sorted(CLAMPS.keys() - {"RELU6"}), ["RELU6", "RELU_N1_TO_1"])],
)
def test_ends_of_activations_are_those_of_the_reference(name: str, activation: str) -> None:
    for case in sweep(partial(CLAMPS[name], activation=activation), MODELS // 2):
        check(case)


@pytest.mark.parametrize("name", [n for n in LAYERS if n in IMPORTERS])
def test_layers_multiply_before_they_divide(name: str) -> None:
    # Of some 30 million random triples the one for which another order gives another multiplier.
    x, w, result = 0.01302660908550024, 0.013234728947281837, 1675.7247314453125
    case = layer_of(name, (x, np.array([w], np.float32), result))
    op = case.ops["double"]
    for other in (x * (w / result), x / result * w):
        changed = replace(op, rescale=rescale(other)).evaluate(*case.operands)
        assert (changed[0] != op.evaluate(*case.operands)[0]).any()
    check(case)


@pytest.mark.parametrize("exponent", [-40, -33, -32, -31, -30, 0, 1, 20, 28, 29])
@pytest.mark.parametrize("name", ["FULLY_CONNECTED", "CONV_2D", "QUANTIZE", "RELU"])
def test_extreme_factors_equal_the_reference(name: str, exponent: int) -> None:
    x, result = float(np.float32(1.3)), 2.0**-exponent
    if name in LAYERS:
        bias = np.array([0, 1, -1, 2, -2, 100, 12345, -54321, 2**30, -(2**31) + 1], np.int32)
        case = layer_of(name, (1.0, np.array([x], np.float32), result), bias=bias)
    else:
        case = requantize_of(name, (x, 3), (result, -1))
    check(case)


def test_every_importer_is_swept() -> None:
    swept = {name.split()[0] for name in (*SWEEPS, *CLAMPS)}
    assert swept | WITHOUT_SCALES | OUTSIDE == set(IMPORTERS)
    assert not swept & WITHOUT_SCALES
