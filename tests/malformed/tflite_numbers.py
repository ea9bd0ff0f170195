"""Scales, zero points, slopes and biases at the ends of what numbers can be."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import (
    CONV,
    DENSE,
    FC_W,
    FLAT,
    POOLED,
    SOFTMAX_OP,
    B,
    W,
    X,
    one,
    scales,
    set_data,
    set_options,
    set_quantization,
)
from malformed.tflite_oddities import accumulator, sum_of
from rlx.support.errors import FrontendError, UnsupportedOpError

HUGE, TINY, DENORMAL = 3.4e38, 1e-38, 1e-45

CASES: dict[str, Case] = {
    "leaky relu slope near the greatest": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=3e38),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the slope 3.0000000054977558e+38, too steep for the fixed point"
        ),
    ),
    "leaky relu slope infinite": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=float("inf")),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the slope inf, expected a finite number of at least 0"
        ),
    ),
    "leaky relu slope NaN": Refused(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=float("nan")),
        UnsupportedOpError,
        "operator 0 LEAKY_RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LEAKY_RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the slope nan, expected a finite number of at least 0"
        ),
    ),
    "leaky relu of denormal scales": Accepted(
        lambda: one(
            "LEAKY_RELU", (1, 3), (1, 3), alpha=1.0, x={"scale": DENORMAL}, y={"scale": DENORMAL}
        ),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "leaky relu of huge scales": Accepted(
        lambda: one("LEAKY_RELU", (1, 3), (1, 3), alpha=5.0, x={"scale": HUGE}, y={"scale": HUGE}),
        "its factors are in range; what fixed point cannot hold vanishes",
    ),
    "hard swish of huge scales": Accepted(
        lambda: one("HARD_SWISH", (1, 3), (1, 3), x={"scale": HUGE}, y={"scale": HUGE}),
        "its factors are in range; what fixed point cannot hold vanishes",
    ),
    "hard swish of tiny scales": Accepted(
        lambda: one("HARD_SWISH", (1, 3), (1, 3), x={"scale": TINY}, y={"scale": TINY}),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "quantize from huge to denormal": Refused(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x={"scale": HUGE}, y={"scale": DENORMAL}),
        UnsupportedOpError,
        "operator 0 QUANTIZE",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 QUANTIZE 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 2.43e+83, "
            "expected less than 2^30"
        ),
    ),
    "quantize from denormal to huge": Accepted(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x={"scale": DENORMAL}, y={"scale": HUGE}),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "relu from huge to denormal": Refused(
        lambda: one("RELU", (1, 3), (1, 3), x={"scale": HUGE}, y={"scale": DENORMAL}),
        UnsupportedOpError,
        "operator 0 RELU",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 RELU 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 2.43e+83, "
            "expected less than 2^30"
        ),
    ),
    "logistic of huge numbers": Refused(
        lambda: one(
            "LOGISTIC", (1, 3), (1, 3), x={"scale": HUGE}, y={"scale": 1 / 256, "zero_point": -128}
        ),
        UnsupportedOpError,
        "operator 0 LOGISTIC",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LOGISTIC 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the input scale 3.3999999521443642e+38, outside of the fixed "
            "point"
        ),
    ),
    "tanh of denormal numbers": Refused(
        lambda: one("TANH", (1, 3), (1, 3), x={"scale": DENORMAL}, y={"scale": 1 / 128}),
        UnsupportedOpError,
        "operator 0 TANH",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 TANH 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the input scale 1.401298464324817e-45, outside of the fixed "
            "point"
        ),
    ),
    "tanh with another result": Refused(
        lambda: one("TANH", (1, 3), (1, 3), y={"scale": 1 / 256}),
        UnsupportedOpError,
        "operator 0 TANH",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 TANH 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the output scale 0.00390625 and zero point 0, expected 0.0078125 and 0"
        ),
    ),
    "softmax beta 0": Refused(
        lambda: set_options(SOFTMAX_OP, beta=0.0),
        UnsupportedOpError,
        "operator 4 SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has beta 0.0, expected a finite number above 0"
        ),
    ),
    "softmax beta negative": Refused(
        lambda: set_options(SOFTMAX_OP, beta=-1.0),
        UnsupportedOpError,
        "operator 4 SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has beta -1.0, expected a finite number above 0"
        ),
    ),
    "softmax beta infinite": Refused(
        lambda: set_options(SOFTMAX_OP, beta=float("inf")),
        UnsupportedOpError,
        "operator 4 SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has beta inf, expected a finite number above 0"
        ),
    ),
    "softmax beta near the greatest": Accepted(
        lambda: set_options(SOFTMAX_OP, beta=HUGE),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "softmax beta denormal": Refused(
        lambda: set_options(SOFTMAX_OP, beta=DENORMAL),
        UnsupportedOpError,
        "operator 4 SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has the input scale 0.25, outside of the fixed point"
        ),
    ),
    "softmax of huge numbers": Accepted(
        lambda: scales((DENSE, HUGE)),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "sum of huge and denormal": Refused(
        lambda: sum_of("ADD", HUGE, DENORMAL, 1.0),
        UnsupportedOpError,
        "operator 0 ADD",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 ADD 'y' (int8[1, 3], int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 6.48e+32, "
            "expected less than 2^30"
        ),
    ),
    "sum of huge to denormal": Refused(
        lambda: sum_of("ADD", HUGE, HUGE, DENORMAL),
        UnsupportedOpError,
        "operator 0 ADD",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 ADD 'y' (int8[1, 3], int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 4.63e+77, "
            "expected less than 2^30"
        ),
    ),
    "sum of denormal": Accepted(
        lambda: sum_of("ADD", DENORMAL, DENORMAL, DENORMAL),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "difference of huge and denormal": Refused(
        lambda: sum_of("SUB", HUGE, DENORMAL, 1.0),
        UnsupportedOpError,
        "operator 0 SUB",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 SUB 'y' (int8[1, 3], int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 6.48e+32, "
            "expected less than 2^30"
        ),
    ),
    "difference of huge to denormal": Refused(
        lambda: sum_of("SUB", HUGE, HUGE, DENORMAL),
        UnsupportedOpError,
        "operator 0 SUB",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 SUB 'y' (int8[1, 3], int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 4.63e+77, "
            "expected less than 2^30"
        ),
    ),
    "difference of denormal": Accepted(
        lambda: sum_of("SUB", DENORMAL, DENORMAL, DENORMAL),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "product of huge": Refused(
        lambda: sum_of("MUL", HUGE, HUGE, DENORMAL),
        UnsupportedOpError,
        "operator 0 MUL",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 MUL 'y' (int8[1, 3], int8[1, 3] -> int8[1, 3])\n"
            "    why  the scales give a factor of 8.25e+121, "
            "expected less than 2^30"
        ),
    ),
    "product of denormal": Accepted(
        lambda: sum_of("MUL", DENORMAL, DENORMAL, HUGE),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "product clamped at six": Refused(
        lambda: sum_of("MUL", 1.0, 1.0, DENORMAL, fusedActivationFunction="RELU6"),
        FrontendError,
        "operator 0 MUL",
        "the scale 1.401298464324817e-45 is too small for the activation's range",
    ),
    "convolution of huge weights": Refused(
        lambda: set_quantization(W, scale=np.full(3, HUGE, np.float32)),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  the scales give a factor of 3.4e+38, "
            "expected less than 2^30"
        ),
    ),
    "convolution of denormal weights": Accepted(
        lambda: set_quantization(W, scale=np.full(3, DENORMAL, np.float32)),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "convolution to a denormal scale": Refused(
        lambda: scales((CONV, DENORMAL), (POOLED, DENORMAL), (FLAT, DENORMAL)),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  the scales give a factor of 3.57e+43, "
            "expected less than 2^30"
        ),
    ),
    "dense from a huge scale": Refused(
        lambda: scales((CONV, HUGE), (POOLED, HUGE), (FLAT, HUGE)),
        UnsupportedOpError,
        "operator 3 FULLY_CONNECTED",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 3 FULLY_CONNECTED 'dense' (int8[1, 12], int8[5, 12], int32[5] "
            "-> int8[1, 5])\n"
            "    why  the scales give a factor of 3.4e+38, "
            "expected less than 2^30"
        ),
    ),
    "dense of a denormal weight scale": Accepted(
        lambda: scales((FC_W, DENORMAL)),
        "its factors are finite; what fixed point cannot hold saturates or vanishes",
    ),
    "mean to a denormal scale": Refused(
        lambda: one("MEAN", (2, 3), (2,), [1], x={"scale": HUGE}, y={"scale": DENORMAL}),
        UnsupportedOpError,
        "operator 0 MEAN",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 MEAN 'y' (int8[2, 3], int32[1] -> int8[2])\n"
            "    why  the scales give a factor of 2.43e+83, "
            "expected less than 2^30"
        ),
    ),
    "scale negative zero": Refused(
        lambda: set_quantization(CONV, scale=np.array([-0.0], np.float32)),
        FrontendError,
        "tensor 3 'conv'",
        "has the scale -0.0 (number 0), expected a finite number above 0",
    ),
    "scale minus infinity": Refused(
        lambda: set_quantization(CONV, scale=np.array([-np.inf], np.float32)),
        FrontendError,
        "tensor 3 'conv'",
        "has the scale -inf (number 0), expected a finite number above 0",
    ),
    "zero point -129": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.array([-129], np.int64)),
        FrontendError,
        "tensor 3 'conv'",
        "has the zero point -129, expected -128 to 127",
    ),
    "zero point 128": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.array([128], np.int64)),
        FrontendError,
        "tensor 3 'conv'",
        "has the zero point 128, expected -128 to 127",
    ),
    "zero point of 64 bits": Refused(
        lambda: set_quantization(X, zeroPoint=np.array([2**63 - 1], np.int64)),
        FrontendError,
        "tensor 0 'x'",
        "has the zero point 9223372036854775807, expected -128 to 127",
    ),
    "three zero points for one scale": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.zeros(3, np.int64)),
        FrontendError,
        "tensor 3",
        "has 1 scales but 3 zero points",
    ),
    "no zero points": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.zeros(0, np.int64)),
        FrontendError,
        "tensor 3",
        "has 1 scales but 0 zero points",
    ),
    "bias scale NaN": Accepted(
        lambda: set_quantization(B, scale=np.full(3, np.nan, np.float32)),
        "nothing reads the scale of a bias",
    ),
    "bias scale 0": Accepted(
        lambda: set_quantization(B, scale=np.zeros(3, np.float32)),
        "nothing reads the scale of a bias",
    ),
    "bias at the least number": Refused(
        lambda: set_data(B, np.full(3, -(2**31), "<i4").tobytes()),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  the accumulator may reach 2147485970, which does not fit 32 bits"
        ),
    ),
    "accumulator by the zero point": Refused(
        lambda: accumulator(-128),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  the accumulator may reach 2147485951, which does not fit 32 bits"
        ),
    ),
}
