"""Files with operators whose options, shapes or numbers do not fit."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import (
    CONV,
    CONV_OP,
    DENSE_OP,
    FC_B,
    FC_W,
    FLAT,
    POOL_OP,
    POOLED,
    PROBABILITY,
    SHAPE,
    SOFTMAX_OP,
    W,
    X,
    depthwise,
    one,
    options_of,
    padv2,
    reconnected,
    scales,
    set_data,
    set_operator,
    set_options,
    set_quantization,
    set_tensor,
    shaped,
    split,
    two,
    two_outputs,
    without_inputs,
    without_shape,
)
from rlx.support.errors import FrontendError, UnsupportedOpError

CASES: dict[str, Case] = {
    "no quantization": Refused(
        lambda: set_tensor(CONV, quantization=None),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 3 'conv' is int8[1, 4, 4, 3] without scale and zero point",
    ),
    "stride 0": Refused(
        lambda: set_options(CONV_OP, strideH=0),
        FrontendError,
        "subgraph 0, operator 0, options",
        "stride_h is 0, expected at least 1",
    ),
    "stride negative": Refused(
        lambda: set_options(POOL_OP, strideW=-2),
        FrontendError,
        "subgraph 0, operator 1, options",
        "stride_w is -2, expected at least 1",
    ),
    "dilation 0": Refused(
        lambda: set_options(CONV_OP, dilationWFactor=0),
        FrontendError,
        "subgraph 0, operator 0, options",
        "dilation_w is 0, expected at least 1",
    ),
    "filter 0": Refused(
        lambda: set_options(POOL_OP, filterHeight=0),
        FrontendError,
        "subgraph 0, operator 1, options",
        "filter_h is 0, expected at least 1",
    ),
    "padding unknown": Refused(
        lambda: set_options(CONV_OP, padding=7),
        FrontendError,
        "subgraph 0, operator 0, options",
        "padding is 7, expected at most 1",
    ),
    "activation unknown": Refused(
        lambda: set_options(CONV_OP, fusedActivationFunction=9),
        FrontendError,
        "subgraph 0, operator 0, options",
        "activation is 9, expected at most 5",
    ),
    "options of another operator": Refused(
        lambda: options_of(CONV_OP, POOL_OP),
        UnsupportedOpError,
        "operator 0",
        "is CONV_2D but carries Pool2DOptions, expected Conv2DOptions",
    ),
    "options absent": Refused(
        lambda: set_operator(CONV_OP, builtinOptions=None, builtinOptionsType=0),
        UnsupportedOpError,
        "operator 0",
        "has no Conv2DOptions, and the default is not valid: stride_w is 0, expected at least 1",
    ),
    "options announced but absent": Refused(
        lambda: set_operator(CONV_OP, builtinOptions=None),
        UnsupportedOpError,
        "operator 0",
        "has no Conv2DOptions, and the default is not valid: stride_w is 0, expected at least 1",
    ),
    "kernel larger than the image": Refused(
        lambda: set_options(POOL_OP, filterHeight=5),
        FrontendError,
        "operator 1 MAX_POOL_2D",
        "window (5, 2) does not fit the padded input i8[1, 4, 4, 3] q(0.5, -128)",
    ),
    "output shape": Refused(
        lambda: shaped((CONV, [1, 4, 4, 4])),
        FrontendError,
        "operator 0 CONV_2D",
        "computes i8[1, 4, 4, 3], but tensor 3 'conv' is int8[1, 4, 4, 4]",
    ),
    "two outputs": Refused(
        lambda: two_outputs(), FrontendError, "operator 0 RELU", "has 2 outputs, expected 1"
    ),
    "pool of rank 2": Refused(
        lambda: one(
            "MAX_POOL_2D", (4, 4), (2, 2), strideH=1, strideW=1, filterHeight=1, filterWidth=1
        ),
        FrontendError,
        "operator 0 MAX_POOL_2D",
        "tensor 0 'x' is int8[4, 4], expected 4 dimensions",
    ),
    "options of an unknown kind": Refused(
        lambda: set_operator(CONV_OP, builtinOptionsType=3),
        UnsupportedOpError,
        "operator 0",
        "is CONV_2D but carries options of type 3, expected Conv2DOptions",
    ),
    "too few inputs": Refused(
        lambda: reconnected(CONV_OP, X),
        FrontendError,
        "operator 0 CONV_2D",
        "has 1 input, expected 2 to 3",
    ),
    "weights of another rank": Refused(
        lambda: shaped((W, [3, 9, 2])),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' is int8[3, 9, 2], expected 4 dimensions",
    ),
    "channels do not divide": Refused(
        lambda: shaped((W, [3, 3, 2, 3])),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' is int8[3, 3, 2, 3], but the input has 2 channels",
    ),
    "image of rank 2": Refused(
        lambda: shaped((X, [4, 8])),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 0 'x' is int8[4, 8], expected 4 dimensions",
    ),
    "weights without scales": Refused(
        lambda: set_tensor(W, quantization=None),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' is int8[3, 3, 3, 2] without scales",
    ),
    "bias count": Refused(
        lambda: reconnected(CONV_OP, X, W, FC_B),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 8 'fc_b' has 5 biases for 3 channels",
    ),
    "scales far apart": Refused(
        lambda: scales((CONV, 3e38), (POOLED, 3e38), (FLAT, 3e38), (FC_W, 3e38)),
        UnsupportedOpError,
        "operator 3 FULLY_CONNECTED",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 3 FULLY_CONNECTED 'dense' (int8[1, 12], int8[5, 12], int32[5] "
            "-> int8[1, 5])\n"
            "    why  the scales give a factor of 3.6e+77, "
            "expected less than 2^30"
        ),
    ),
    "scale too small for relu6": Refused(
        lambda: scales((CONV, 1e-12), (POOLED, 1e-12), (FLAT, 1e-12), activation=3),
        FrontendError,
        "operator 0 CONV_2D",
        "the scale 9.999999960041972e-13 is too small for the activation's range",
    ),
    "output beside the shape": Refused(
        lambda: shaped((POOLED, [1, 1, 1, 11])),
        FrontendError,
        "operator 1 MAX_POOL_2D",
        "computes i8[1, 2, 2, 3], but tensor 4 'pooled' is int8[1, 1, 1, 11]",
    ),
    "dense input without rows": Refused(
        lambda: reconnected(DENSE_OP, X, FC_W, FC_B),
        FrontendError,
        "operator 3 FULLY_CONNECTED",
        "tensor 0 'x' is int8[1, 4, 4, 2], expected rows of 12",
    ),
    "reshape to more elements": Refused(
        lambda: shaped((FLAT, [1, 13]), operators=without_shape()),
        FrontendError,
        "operator 2 RESHAPE",
        "turns int8[1, 2, 2, 3] into int8[1, 13]",
    ),
    "reshape contradicts": Refused(
        lambda: set_data(SHAPE, np.array([12, 1], "<i4").tobytes()),
        FrontendError,
        "operator 2 RESHAPE",
        "asks for the shape [12, 1], but tensor 6 'flat' is int8[1, 12]",
    ),
    "reshape by floats": Refused(
        lambda: set_tensor(SHAPE, type=0),
        FrontendError,
        "operator 2 RESHAPE",
        "tensor 5 'shape' is float32[2], expected int32 or int64",
    ),
    "softmax scale": Refused(
        lambda: set_quantization(PROBABILITY, scale=np.array([0.25], np.float32)),
        FrontendError,
        "operator 4 SOFTMAX",
        "has the output scale 0.25 and zero point -128, expected 0.00390625 and -128",
    ),
    "softmax beta": Refused(
        lambda: set_options(SOFTMAX_OP, beta=float("nan")),
        UnsupportedOpError,
        "operator 4 SOFTMAX",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 SOFTMAX 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  has beta nan, expected a finite number above 0"
        ),
    ),
    "depth multiplier 0": Accepted(
        lambda: depthwise(0), "where it was left out, the interpreter goes by the weights"
    ),
    "depth multiplier 3": Refused(
        lambda: depthwise(3),
        FrontendError,
        "operator 0 DEPTHWISE_CONV_2D",
        "tensor 1 'w' is int8[1, 2, 2, 4], expected 1 as first and 2 channels "
        "x 3 as last dimension",
    ),
    "transpose repeats an axis": Refused(
        lambda: one("TRANSPOSE", (2, 3), (2, 2), [0, 0]),
        FrontendError,
        "operator 0 TRANSPOSE",
        "axes (0, 0) are not a permutation of 2 axes",
    ),
    "transpose axis": Refused(
        lambda: one("TRANSPOSE", (2, 3), (3, 2), [1, 2]),
        FrontendError,
        "operator 0 TRANSPOSE",
        "the axis is 2, but the input has 2 dimensions",
    ),
    "concatenation axis": Refused(
        lambda: one("CONCATENATION", (2, 3), (2, 3), axis=2),
        FrontendError,
        "operator 0 CONCATENATION",
        "the axis is 2, but the input has 2 dimensions",
    ),
    "concatenation of nothing": Refused(
        lambda: without_inputs("CONCATENATION"),
        FrontendError,
        "operator 0 CONCATENATION",
        "has 0 inputs, expected 1",
    ),
    "concatenation shapes": Refused(
        lambda: two("CONCATENATION", (2, 3), (3, 4), (2, 7), axis=1),
        FrontendError,
        "operator 0 CONCATENATION",
        "i8[3, 4] q(0.5, 3) does not join i8[2, 3] q(0.5, 3) along axis 1",
    ),
    "shapes do not broadcast": Refused(
        lambda: two("ADD", (2, 3), (2, 4), (2, 3)),
        FrontendError,
        "operator 0 ADD",
        "shapes do not broadcast: i8[2, 3] q(0.5, 3), i8[2, 4] q(0.5, 3)",
    ),
    "pack count": Refused(
        lambda: two("PACK", (2, 3), (2, 3), (2, 2, 3), valuesCount=3),
        FrontendError,
        "operator 0 PACK",
        "has 2 inputs, but values_count 3",
    ),
    "pack shapes": Refused(
        lambda: two("PACK", (2, 3), (2, 4), (2, 2, 3), valuesCount=2),
        FrontendError,
        "operator 0 PACK",
        "tensor 1 'x1' is int8[2, 4], expected the shape (2, 3)",
    ),
    "unpack count": Refused(
        lambda: one("UNPACK", (2, 3), (3,), num=1),
        FrontendError,
        "operator 0 UNPACK",
        "has 1 outputs for 2 indices",
    ),
    "padding negative": Refused(
        lambda: one("PAD", (2, 3), (1, 3), [[-1, 0], [0, 0]]),
        FrontendError,
        "operator 0 PAD",
        "has the widths [-1, 0, 0, 0], expected numbers of at least 0",
    ),
    "padding widths": Refused(
        lambda: one("PAD", (2, 3), (2, 3), [0, 0, 0]),
        FrontendError,
        "operator 0 PAD",
        "has 3 widths for 2 dimensions",
    ),
    "padding value": Refused(
        lambda: padv2(),
        FrontendError,
        "operator 0 PADV2",
        "tensor 2 'value' must be one value in the input's scale",
    ),
    "slice outside": Refused(
        lambda: one("SLICE", (2, 3), (2, 3), [0, 1], [2, 3]),
        FrontendError,
        "operator 0 SLICE",
        "[1:4:1] does not fit axis 1 of i8[2, 3] q(0.5, 3)",
    ),
    "slice count": Refused(
        lambda: one("SLICE", (2, 3), (2, 3), [0], [2]),
        FrontendError,
        "operator 0 SLICE",
        "input 1 has 1 numbers for 2 dimensions",
    ),
    "strided slice empty": Refused(
        lambda: one("STRIDED_SLICE", (2, 3), (2, 3), [2, 0], [2, 3], [1, 1]),
        FrontendError,
        "operator 0 STRIDED_SLICE",
        "[2:2:1] does not fit axis 0 of i8[2, 3] q(0.5, 3)",
    ),
    "strided slice index": Refused(
        lambda: one("STRIDED_SLICE", (2, 3), (3,), [2, 0], [3, 3], [1, 1], shrinkAxisMask=1),
        FrontendError,
        "operator 0 STRIDED_SLICE",
        "takes index 2 of axis 0, which has 2",
    ),
    "split uneven": Refused(
        lambda: split("SPLIT", [1]),
        FrontendError,
        "operator 0 SPLIT",
        "splits 5 indices into 2 parts",
    ),
    "split axes": Refused(
        lambda: split("SPLIT", [0, 1]), FrontendError, "operator 0 SPLIT", "has 2 axes, expected 1"
    ),
    "split 0": Refused(
        lambda: split("SPLIT", [1], count=0),
        FrontendError,
        "subgraph 0, operator 0, options",
        "num_splits is 0, expected at least 1",
    ),
    "split sizes": Refused(
        lambda: split("SPLIT_V", [2, 2], [1]),
        FrontendError,
        "operator 0 SPLIT_V",
        "splits 5 indices into parts of [2, 2]",
    ),
    "split too large": Refused(
        lambda: split("SPLIT_V", [7, -2], [1]),
        FrontendError,
        "operator 0 SPLIT_V",
        "[0:7:1] does not fit axis 1 of i8[2, 5] q(0.5, 3)",
    ),
    "squeeze of 3": Refused(
        lambda: one("SQUEEZE", (1, 3), (1,), squeezeDims=np.array([1], np.int32)),
        FrontendError,
        "operator 0 SQUEEZE",
        "takes away axes [1] of int8[1, 3]",
    ),
    "squeeze shape": Refused(
        lambda: one("SQUEEZE", (1, 3), (1, 3), squeezeDims=np.array([0], np.int32)),
        FrontendError,
        "operator 0 SQUEEZE",
        "makes the shape [3], but tensor 1 'y' is int8[1, 3]",
    ),
    "expand axis": Refused(
        lambda: one("EXPAND_DIMS", (1, 3), (1, 3, 1), [3]),
        FrontendError,
        "operator 0 EXPAND_DIMS",
        "the axis is 3, but the input has 3 dimensions",
    ),
    "expand axes": Refused(
        lambda: one("EXPAND_DIMS", (1, 3), (1, 3, 1), [0, 1]),
        FrontendError,
        "operator 0 EXPAND_DIMS",
        "has 2 axes, expected 1",
    ),
    "mean axis": Refused(
        lambda: one("MEAN", (1, 3), (1,), [5]),
        FrontendError,
        "operator 0 MEAN",
        "the axis is 5, but the input has 2 dimensions",
    ),
    "argmax axes": Refused(
        lambda: one("ARG_MAX", (1, 3), (1,), [0, 1], y={"dtype": "int32"}),
        FrontendError,
        "operator 0 ARG_MAX",
        "has 2 axes, expected 1",
    ),
    "logistic scale": Refused(
        lambda: one("LOGISTIC", (1, 3), (1, 3)),
        UnsupportedOpError,
        "operator 0 LOGISTIC",
        (
            "1 of 1 operators cannot be imported\n"
            "  operator 0 LOGISTIC 'y' (int8[1, 3] -> int8[1, 3])\n"
            "    why  has the output scale 0.5 and zero point 3, expected 0.00390625 and -128"
        ),
    ),
}
