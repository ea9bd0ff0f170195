"""Small files that ask for much work or memory, and sizes that only look like it."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import CONV_OP, one, set_options, two
from malformed.tflite_oddities import (
    chain,
    doubled_shape,
    pool,
    set_split_count,
    shared_weights,
    wide,
)
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder


def joined(count: int) -> bytes:
    """Return a concatenation of one tensor with itself, ``count`` times."""
    model = TfliteBuilder()
    x = model.tensor((1, 2), scale=0.5)
    y = model.tensor((1, 2 * count), scale=0.5)
    model.operator("CONCATENATION", [x] * count, [y], axis=1)
    return model.build([x], [y])


CASES: dict[str, Case] = {
    "average pool of 2^31 rows": Refused(
        lambda: pool("AVERAGE_POOL_2D", (2, 2), (2**31 - 1, 1)),
        FrontendError,
        "operator 0 AVERAGE_POOL_2D",
        "kernel[0] is 2147483647; the limit is 8388608",
    ),
    "maximum pool of 2^31 columns": Refused(
        lambda: pool("MAX_POOL_2D", (2, 2), (1, 2**31 - 1)),
        FrontendError,
        "operator 0 MAX_POOL_2D",
        "kernel[1] is 2147483647; the limit is 8388608",
    ),
    "pool of 2^23 x 2^23": Refused(
        lambda: pool("AVERAGE_POOL_2D", (2, 2), (2**23, 2**23)),
        FrontendError,
        "operator 0 AVERAGE_POOL_2D",
        ("a tensor has 70368760954881 elements, its padding counted; the limit is 8388608"),
    ),
    "pool of 20,000 x 20,000": Refused(
        lambda: pool("MAX_POOL_2D", (3, 3), (20_000, 20_000)),
        FrontendError,
        "operator 0 MAX_POOL_2D",
        ("a tensor has 400080004 elements, its padding counted; the limit is 8388608"),
    ),
    "pool of 3,000 x 3,000 over a large image": Refused(
        lambda: pool(
            "AVERAGE_POOL_2D", (4096, 4096), (3000, 3000), out=(1097, 1097), padding="VALID"
        ),
        FrontendError,
        "tensor 0 'x'",
        ("has the shape [1, 4096, 4096, 1], 16777216 elements; the limit is 8388608"),
    ),
    "pool stride 2^31": Refused(
        lambda: pool("MAX_POOL_2D", (4, 4), (1, 1), out=(1, 1), strideH=2**31 - 1),
        FrontendError,
        "operator 0 MAX_POOL_2D",
        "stride[0] is 2147483647; the limit is 8388608",
    ),
    "pool stride 2^23": Accepted(
        lambda: pool("MAX_POOL_2D", (4, 4), (1, 1), out=(1, 4), strideH=2**23),
        "one window a column fits, whatever the stride",
    ),
    "dilation of 2^30": Refused(
        lambda: set_options(CONV_OP, dilationHFactor=2**30),
        FrontendError,
        "operator 0 CONV_2D",
        "dilation[0] is 1073741824; the limit is 8388608",
    ),
    "dilation of 2^31 columns": Refused(
        lambda: set_options(CONV_OP, dilationWFactor=2**31 - 1),
        FrontendError,
        "operator 0 CONV_2D",
        "dilation[1] is 2147483647; the limit is 8388608",
    ),
    "dilation of 2^23": Refused(
        lambda: set_options(CONV_OP, dilationHFactor=2**23),
        FrontendError,
        "operator 0 CONV_2D",
        ("a tensor has 201326640 elements, its padding counted; the limit is 8388608"),
    ),
    "dilation of 2^20 in both directions": Refused(
        lambda: set_options(CONV_OP, dilationHFactor=2**20, dilationWFactor=2**20),
        FrontendError,
        "operator 0 CONV_2D",
        ("a tensor has 8796126576672 elements, its padding counted; the limit is 8388608"),
    ),
    "dilation of 1,000": Accepted(
        lambda: set_options(CONV_OP, dilationHFactor=1000),
        "padding makes the image large, but not too large",
    ),
    "stride of 2^31": Refused(
        lambda: set_options(CONV_OP, strideH=2**31 - 1),
        FrontendError,
        "operator 0 CONV_2D",
        "stride[0] is 2147483647; the limit is 8388608",
    ),
    "padding to 2^28 elements": Refused(
        lambda: one(
            "PAD", (1, 1, 1, 1), (1, 4096, 4096, 16), [[0, 0], [0, 4095], [0, 4095], [0, 15]]
        ),
        FrontendError,
        "tensor 2 'y'",
        ("has the shape [1, 4096, 4096, 16], 268435456 elements; the limit is 8388608"),
    ),
    "padding to 2^31 rows": Refused(
        lambda: one("PAD", (1, 1), (2**31 - 1, 1), [[0, 2**31 - 2], [0, 0]]),
        FrontendError,
        "tensor 2 'y'",
        "has the shape [2147483647, 1]; the limit is 8388608 a dimension",
    ),
    "padding beyond its output": Refused(
        lambda: one("PAD", (1, 1), (2, 1), [[2**31 - 1, 2**31 - 1], [0, 0]]),
        FrontendError,
        "operator 0 PAD",
        "computes i8[4294967295, 1], but tensor 2 'y' is int8[2, 1]",
    ),
    "a thousand paddings": Refused(
        lambda: chain("PAD", 1000, [[0, 0], [0, 200_000]]),
        FrontendError,
        "tensor 43 'y41'",
        "has the shape [1, 8400003]; the limit is 8388608 a dimension",
    ),
    "broadcast to 2^28 elements": Refused(
        lambda: two("ADD", (16384, 1), (1, 16384), (16384, 16384)),
        FrontendError,
        "tensor 2 'y'",
        "has the shape [16384, 16384], 268435456 elements; the limit is 8388608",
    ),
    "output of 2^31 elements": Refused(
        lambda: two("CONCATENATION", (2**16, 2**14), (2**16, 2**14), (2**17, 2**14), axis=0),
        FrontendError,
        "tensor 0 'x0'",
        "has the shape [65536, 16384], 1073741824 elements; the limit is 8388608",
    ),
    "list of sizes without end": Refused(
        lambda: one("RESHAPE", (2, 3), (6,), np.ones(5000)),
        FrontendError,
        "operator 0 RESHAPE",
        "input 1 has 5000 numbers, expected at most 17",
    ),
    "permutation without end": Refused(
        lambda: one("TRANSPOSE", (2, 3), (3, 2), np.zeros(5000)),
        FrontendError,
        "operator 0 TRANSPOSE",
        "input 1 has 5000 numbers, expected at most 17",
    ),
    "axes without end": Refused(
        lambda: one("MEAN", (2, 3), (2,), np.ones(5000)),
        FrontendError,
        "operator 0 MEAN",
        "input 1 has 5000 numbers, expected at most 17",
    ),
    "widths without end": Refused(
        lambda: one("PAD", (2, 3), (2, 3), np.zeros(5000)),
        FrontendError,
        "operator 0 PAD",
        "input 1 has 5000 numbers, expected at most 17",
    ),
    "list of dimensions doubled": Refused(
        lambda: doubled_shape(20),
        UnsupportedOpError,
        "operator 21 RESHAPE",
        (
            "1 of 22 operators cannot be imported\n"
            "  operator 21 RESHAPE 'y' (int8[1, 3], int32[2097152] -> int8[1, 3])\n"
            "    why  tensor 22 'shape19' is computed at run time; rlx needs a constant there"
        ),
    ),
    "split into 2^31 parts": Refused(
        lambda: set_split_count(2**31 - 1),
        FrontendError,
        "operator 0 SPLIT",
        "has 1 outputs, expected 2147483647",
    ),
    "depth 10,000": Refused(
        lambda: chain("RELU", 10_000),
        FrontendError,
        "subgraph 0",
        "there are 10000 operators; the limit is 8000",
    ),
    "depth 3,000": Accepted(lambda: chain("RELU", 3_000), "its work grows with its size"),
    "width 5,000": Refused(
        lambda: joined(5_000),
        FrontendError,
        "operator 0 CONCATENATION",
        "has 5000 inputs or outputs; the limit is 4000",
    ),
    "dense layer with 65,536 outputs": Accepted(
        lambda: wide(65_536), "its work grows with its size"
    ),
    "one weight tensor in 2,000 layers": Accepted(
        lambda: shared_weights(2000), "the layers share one constant"
    ),
}
