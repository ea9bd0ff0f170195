"""Kinds of the layers of a report, for colours and legends.

Tests: tests/unit/reports/test_page.py
"""

from __future__ import annotations

from typing import Final

from rlx.ir.lookup import OWN_DIALECTS

OTHER: Final = "other"
_OPS: Final = {
    "convolution": "conv conv2d conv_transpose quantized_conv",
    "matrix product": (
        "attention dense dot gru linear lstm lstm_cell lstm_output matmul quantized_linear rnn "
        "svdf svdf_state"
    ),
    "pooling": "average_pool avg_pool2d max_pool max_pool2d quantized_average_pool",
    "reduction": (
        "argmax argmin cumprod cumsum log_sum_exp mean reduce_max reduce_mean reduce_min "
        "reduce_prod reduce_sum top_k variance"
    ),
    "movement": (
        "bitcast broadcast_to concat depth_to_space embedding flatten gather pad reshape resize "
        "resize_bilinear resize_nearest reverse scatter slice space_to_depth split take_along tile "
        "transpose"
    ),
    "arithmetic": (
        "abs acos add asin atan batch_norm bit_and bit_or bit_xor cast ceil chain clamp compare "
        "convert cos dequantize div elementwise elu erf exp expm1 floor gated gelu group_norm "
        "hard_sigmoid hard_swish l2_norm layer_norm leaky_relu log log1p log_softmax maximum "
        "minimum mish mul neg norm pow prelu quantize quantized_add quantized_mul "
        "quantized_sigmoid quantized_softmax relu remainder requantize residual_norm rms_norm "
        "round rsqrt selu shift_left shift_right sigmoid sigmoid16 sign silu sin softmax softmax16 "
        "softplus softsign sqrt squared_difference stop_gradient sub table tan tanh tanh16 where"
    ),
    OTHER: "if random_bits random_normal random_uniform scan while",
}
"""Names of ops by kind, without the dialect: ``conv`` is a convolution in each."""

KINDS: Final = {name: kind for kind, names in _OPS.items() for name in names.split()}
"""Kind of each op by its name without the dialect."""


def kind_of(op: str) -> str:
    """Return the kind of an op, such as ``convolution``; ``other`` for ops of other packages."""
    dialect, _, name = op.partition(".")
    return KINDS[name] if dialect in OWN_DIALECTS and name in KINDS else OTHER


def colour_of(op: str) -> str:
    """Return the class of the colour of an op."""
    return "k-" + kind_of(op).partition(" ")[0]
