"""Files that may be fine but hold what rlx does not import."""

from __future__ import annotations

import numpy as np

from malformed.case import Case, Refused
from malformed.tflite_models import (
    CONV,
    CONV_OP,
    DENSE_OP,
    FC_W,
    FLAT,
    POOLED,
    SHAPE,
    B,
    W,
    X,
    computed,
    one,
    prelu,
    reconnected,
    scales,
    set_code,
    set_data,
    set_options,
    set_quantization,
    set_tensor,
)
from rlx.support.errors import UnsupportedOpError

CASES: dict[str, Case] = {
    "unknown operator": Refused(
        lambda: set_code(250),
        UnsupportedOpError,
        "operator 4 UNKNOWN_250",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 UNKNOWN_250 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  unknown operator"
        ),
    ),
    "custom operator": Refused(
        lambda: set_code(32, "my\nop"),
        UnsupportedOpError,
        "operator 4 CUSTOM 'my?op'",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 CUSTOM 'my?op' 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is a custom operator, which only the program that registered it "
            "can run"
        ),
    ),
    "operator not imported": Refused(
        lambda: set_code(50),
        UnsupportedOpError,
        "operator 4 LOG_SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 LOG_SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is imported on float32, but not on int8"
        ),
    ),
    "uint8 model": Refused(
        lambda: one("RELU", (1, 3), (1, 3), x={"dtype": "uint8"}, y={"dtype": "uint8"}),
        UnsupportedOpError,
        "operator 0 RELU",
        "the model computes in uint8; rlx imports models that compute in int8, int16 or float32",
    ),
    "int16 with a zero point": Refused(
        lambda: one(
            "RELU",
            (1, 3),
            (1, 3),
            x={"dtype": "int16", "scale": 0.5, "zero_point": 3},
            y={"dtype": "int16", "scale": 0.5},
        ),
        UnsupportedOpError,
        "operator 0 RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 RELU 'y' (int16[1, 3] -> int16[1, 3])\n"
            "    why  tensor 0 'x' is int16 with the zero point 3, expected 0"
        ),
    ),
    "int32 operator": Refused(
        lambda: one("RELU", (1, 3), (1, 3), x={"dtype": "int32"}, y={"dtype": "int32"}),
        UnsupportedOpError,
        "operator 0 RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 RELU 'y' (int32[1, 3] -> int32[1, 3])\n"
            "    why  tensor 0 'x' is int32[1, 3], expected float32"
        ),
    ),
    "complex input": Refused(
        lambda: one("RELU", (1, 3), (1, 3), x={"dtype": "complex64"}),
        UnsupportedOpError,
        "graph input 0",
        "tensor 0 'x' is complex64[1, 3], expected int8",
    ),
    "other output type": Refused(
        lambda: set_tensor(CONV, type=4, quantization=None),
        UnsupportedOpError,
        "operator 0 CONV_2D, operator 1 MAX_POOL_2D",
        (
            "2 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int64[1, 4, 4, 3])"
        ),
    ),
    "activations per channel": Refused(
        lambda: set_quantization(
            CONV,
            scale=np.ones(3, np.float32),
            zeroPoint=np.zeros(3, np.int64),
            quantizedDimension=3,
        ),
        UnsupportedOpError,
        "operator 0 CONV_2D, operator 1 MAX_POOL_2D",
        (
            "2 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 3 'conv' has 3 scales, expected one\n"
            "    try  express the layer by other operators in the model, and convert it "
            "again\n"
            "  operator 1 MAX_POOL_2D 'pooled' (int8[1, 4, 4, 3] -> int8[1, 2, 2, 3])\n"
            "    why  tensor 3 'conv' has 3 scales, expected one\n"
            "    try  express the layer by other operators in the model, and convert it "
            "again"
        ),
    ),
    "activation tanh": Refused(
        lambda: set_options(CONV_OP, fusedActivationFunction=4),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  has the fused activation TANH"
        ),
    ),
    "weights computed": Refused(
        lambda: computed(FC_W),
        UnsupportedOpError,
        "operator 3 FULLY_CONNECTED",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 3 FULLY_CONNECTED 'dense' (int8[1, 12], int8[5, 12], int32[5] -> "
            "int8[1, 5])\n"
            "    why  tensor 7 'fc_w' is computed at run time; rlx needs a constant there"
        ),
    ),
    "weights with zero point": Refused(
        lambda: set_quantization(W, zeroPoint=np.array([1, 1, 1], np.int64)),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' is int8 with a zero point other than 0"
        ),
    ),
    "weights along another axis": Refused(
        lambda: set_quantization(W, quantizedDimension=1),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' is quantized along axis 1, expected 0"
        ),
    ),
    "bias type": Refused(
        lambda: reconnected(CONV_OP, X, W, FC_W),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int8[5, "
            "12] -> int8[1, 4, 4, 3])\n"
            "    why  tensor 7 'fc_w' is int8[5, 12], expected int32"
        ),
    ),
    "accumulator": Refused(
        lambda: set_data(B, np.array([2**31 - 1, 0, 0], "<i4").tobytes()),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  the accumulator may reach 2147485969, which does not fit 32 bits"
        ),
    ),
    "pool changes the scale": Refused(
        lambda: scales((POOLED, 0.25), (FLAT, 0.25)),
        UnsupportedOpError,
        "operator 1 MAX_POOL_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 1 MAX_POOL_2D 'pooled' (int8[1, 4, 4, 3] -> int8[1, 2, 2, 3])\n"
            "    why  input and output must share scale and zero point, but (0.5, -128) "
            "and (0.25, -128) differ"
        ),
    ),
    "shuffled weights": Refused(
        lambda: set_options(DENSE_OP, weightsFormat=1),
        UnsupportedOpError,
        "operator 3 FULLY_CONNECTED",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 3 FULLY_CONNECTED 'dense' (int8[1, 12], int8[5, 12], int32[5] -> "
            "int8[1, 5])\n"
            "    why  has shuffled weights"
        ),
    ),
    "reshape at run time": Refused(
        lambda: computed(SHAPE),
        UnsupportedOpError,
        "operator 2 RESHAPE",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 2 RESHAPE 'flat' (int8[1, 2, 2, 3], int32[2] -> int8[1, 12])\n"
            "    why  tensor 5 'shape' is computed at run time; rlx needs a constant "
            "there"
        ),
    ),
    "softmax of tiny numbers": Refused(
        lambda: one(
            "SOFTMAX",
            (1, 5),
            (1, 5),
            beta=1.0,
            x={"scale": 1e-30},
            y={"scale": 1 / 256, "zero_point": -128},
        ),
        UnsupportedOpError,
        "operator 0 SOFTMAX",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 SOFTMAX 'y' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has the input scale 1.0000000031710769e-30, outside of the fixed "
            "point"
        ),
    ),
    "concatenation activation": Refused(
        lambda: one("CONCATENATION", (2, 3), (2, 3), axis=1, fusedActivationFunction="RELU"),
        UnsupportedOpError,
        "operator 0 CONCATENATION",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 CONCATENATION 'y' (int8[2, 3] -> int8[2, 3])\n"
            "    why  has a fused activation, which the interpreter refuses too"
        ),
    ),
    "argmax type": Refused(
        lambda: one("ARG_MAX", (1, 3), (1,), [1]),
        UnsupportedOpError,
        "operator 0 ARG_MAX",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 ARG_MAX 'y' (int8[1, 3], int32[1] -> int8[1])\n"
            "    why  tensor 2 'y' is int8[1], expected int32"
        ),
    ),
    "logistic of tiny numbers": Refused(
        lambda: one(
            "LOGISTIC", (1, 3), (1, 3), x={"scale": 1e-30}, y={"scale": 1 / 256, "zero_point": -128}
        ),
        UnsupportedOpError,
        "operator 0 LOGISTIC",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LOGISTIC 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the input scale 1.0000000031710769e-30, outside of the fixed "
            "point"
        ),
    ),
    "slope for each pixel": Refused(
        lambda: prelu((2, 2, 3)),
        UnsupportedOpError,
        "operator 0 PRELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 PRELU 'y' (int8[1, 2, 2, 3], int8[2, 2, 3] -> int8[1, 2, 2, 3])\n"
            "    why  tensor 1 'slopes' is int8[2, 2, 3], expected one slope for each channel of "
            "tensor 0 'x', which is int8[1, 2, 2, 3]"
        ),
    ),
    "slopes of several scales": Refused(
        lambda: prelu((3,), scale=[0.1, 0.2, 0.3], zero_point=[0, 0, 0], axis=0),
        UnsupportedOpError,
        "operator 0 PRELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 PRELU 'y' (int8[1, 2, 2, 3], int8[3] -> int8[1, 2, 2, 3])\n"
            "    why  tensor 1 'slopes' has 3 scales, expected one"
        ),
    ),
    "leaky relu slope": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=-1.0),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the slope -1.0, expected a finite number of at least 0"
        ),
    ),
    "leaky relu steep": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=3e38),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the slope 3.0000000054977558e+38, too steep for the fixed point"
        ),
    ),
    "scales far apart": Refused(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x={"scale": 2.0**29}, y={"scale": 0.5}),
        UnsupportedOpError,
        "operator 0 QUANTIZE",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 QUANTIZE 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 1.07e+09, expected "
            "less than 2^30"
        ),
    ),
    "leaky relu ratio": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=0.1, x={"scale": 1e20}),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the scales 1.0000000200408773e+20 and 0.5, outside of the "
            "fixed point"
        ),
    ),
    "hard swish ratio": Refused(
        lambda: one("HARD_SWISH", (1, 3), (1, 3), x={"scale": 1e-3}, y={"scale": 1.0}),
        UnsupportedOpError,
        "operator 0 HARD_SWISH",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 HARD_SWISH 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the scales 0.0010000000474974513 and 1.0, outside of the fixed "
            "point"
        ),
    ),
    "relu6 changes the scale": Refused(
        lambda: one("RELU6", (1, 3), (1, 3), y={"scale": 1.0}),
        UnsupportedOpError,
        "operator 0 RELU6",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 RELU6 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  input and output must share scale and zero point, but (0.5, 3) and "
            "(1.0, 0) differ"
        ),
    ),
}
