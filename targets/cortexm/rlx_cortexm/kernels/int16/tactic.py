"""Ops of both widths on int16, element by element in plain C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QDense
from rlx.targets.operands import constant_operand
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.elementwise import loop_constants
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.scaling import INT32_BOUND, WIDE, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64, Rescale
    from rlx.ops.q import QAdd, QConv2d, QMul, QRequantize

PRODUCT: Final = 7
"""Instructions per product of a layer whose sums are int32."""

WIDE_PRODUCT: Final = 9
"""Instructions per product of a layer whose sums are int64."""

RESULT: Final = 40
"""Instructions per result of a layer."""

ELEMENT: Final = 60
"""Instructions per element of a sum, a product or a change of scale."""

REACH: Final = 1 << 15
"""Largest magnitude of an int16 value."""

_MAX_PART: Final = INT32_BOUND // (REACH * 128) - 1
"""Products whose sum fits int32 for any values."""


def layer(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a convolution or a dense layer."""
    op = cast("QConv2d | QDense", node.op)
    weights = constant_operand(node, 1, "weights").astype(np.int8)
    bias = constant_operand(node, 2, "bias").astype(np.int64)
    sizes = _sizes(node, weights)
    group_in = weights.shape[-1]
    taps = weights[0].size // group_in
    sum_type = _sum_type(op.rescale, weights, bias)
    factors = _factors(op.rescale, bias, low_word=sum_type != "int64_t")
    constants: dict[str, Hashable] = {
        **sizes,
        "group_in": group_in,
        "group_out": len(weights) // (1 if isinstance(op, QDense) else op.groups),
        "sum": sum_type,
        "part": sum_type == "int64_t" and 1 < group_in <= _MAX_PART,
        "row": factors.shape[1],
        "low": op.low,
        "high": op.high,
    }
    support = ("scale_wide",) if sum_type == "uint32_t" else ()
    note = f"weights of {len(weights)} outputs, {taps} taps by {group_in} inputs"
    sums = node.types[0].size
    macs = sums * taps * group_in
    each = WIDE_PRODUCT if sum_type == "int64_t" else PRODUCT
    lowered = LoweredLayer(
        Kernel.of("layer16", "int16/layer", constants, support),
        operands=node.operands[:1],
        tables=(
            ConstantTable("weights", "int8_t", weights.reshape(-1), note),
            ConstantTable("factors", "int32_t", factors.reshape(-1), "factors of each output"),
        ),
        macs=macs,
        instructions=macs * each + sums * RESULT,
        weight_bits=8,
    )
    return (Candidate.of(lowered, "layer16"),)


def _sizes(node: Node, weights: Array) -> dict[str, Hashable]:
    """Return the geometry of a layer; a dense one has images of a pixel."""
    if not isinstance(node.op, QDense):
        image = WindowedImage.of(node)
        return {**image.constants, "loops": image.loops, "clipped": image.inside != "all"}
    outputs, inputs = weights.shape
    rows = node.types[0].size // outputs
    sides = ("in_h", "out_h", "kernel_h", "kernel_w", "stride_h", "stride_w")
    return {
        **dict.fromkeys((*sides, "batch", "dilation_h", "dilation_w"), 1),
        **{"in_w": rows, "out_w": rows, "in_c": inputs, "out_c": outputs},
        **{"pad_h": 0, "pad_w": 0, "loops": (), "clipped": False},
    }


def _sum_type(rescale: Rescale, weights: Array, bias: Int64) -> str:
    """Return the C type of a layer's sums: those that are rounded twice are taken modulo 2^32."""
    if not rescale.is_wide:
        return "uint32_t"
    bounds = REACH * magnitudes(weights.reshape(len(weights), -1)) + np.abs(bias)
    return "int32_t" if int(bounds.max()) < INT32_BOUND else "int64_t"


def _factors(rescale: Rescale, bias: Int64, *, low_word: bool) -> Int64:
    """Return multiplier, shift and bias of each channel, int32 each; the bias in two words."""
    multiplier, shift = np.array(rescale.multiplier), np.array(rescale.shift)
    if rescale.is_wide:
        multiplier, shift = multiplier >> 16, 15 - shift
    columns = [np.broadcast_to(multiplier, bias.shape), np.broadcast_to(shift, bias.shape)]
    low = bias.astype(np.uint32).view(np.int32)
    columns += [low] if low_word else [low, bias >> 32]
    return np.stack([c.astype(np.int64) for c in columns], axis=1)


def total(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a sum or a difference."""
    op = cast("QAdd", node.op)
    ends = np.array([-REACH, REACH - 1], np.int16)
    bound = sum(int(np.abs(values).max()) for values in op.scaled_operands((ends, ends)))
    reach = REACH << op.left_shift
    scales = (_scale(op.x_rescale, reach), _scale(op.y_rescale, reach), _scale(op.rescale, bound))
    sign = "-" if op.name == "q.sub" else "+"
    constants: dict[str, Hashable] = {"sign": sign, "left_shift": op.left_shift}
    return _pair(node, "sum16", "int16/sum", scales, constants)


def product(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a product."""
    scale = _scale(cast("QMul", node.op).rescale, REACH * REACH)
    return _pair(node, "product16", "int16/product", (scale,), {})


def _scale(rescale: Rescale, bound: int) -> tuple[str, int, int]:
    """Return the function, multiplier and shift that scale values up to ``bound``."""
    chosen = scaling(rescale, bound)
    function = chosen.function.replace("requantize", "scale")
    return function, chosen.multiplier[0], chosen.shift[0]


def _pair(
    node: Node,
    kind: str,
    template: str,
    scales: tuple[tuple[str, int, int], ...],
    constants: dict[str, Hashable],
) -> tuple[Candidate, ...]:
    op = cast("QAdd | QMul", node.op)
    constants = {
        **constants,
        **loop_constants(node),
        "scales": scales,
        "wide": _result_type(scales[-1][0]),
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of(kind, template, constants, tuple(function for function, _, _ in scales))
    instructions = node.types[0].size * ELEMENT
    lowered = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(lowered, kind),)


def scale_constants(rescale: Rescale, bound: int) -> dict[str, Hashable]:
    """Return the constants with which templates scale values up to ``bound``."""
    function, multiplier, shift = _scale(rescale, bound)
    wide = _result_type(function)
    return {"scale": function, "wide": wide, "multiplier": multiplier, "shift": shift}


def _result_type(function: str) -> str:
    return "int64_t" if function in WIDE else "int32_t"


def requantize(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a change of scale."""
    op = cast("QRequantize", node.op)
    scale = scale_constants(op.rescale, REACH)
    constants = {
        **scale,
        "length": node.types[0].size,
        "from": "int16_t",
        "to": "int16_t",
        "flips": False,
        "x_zero_point": 0,
        "zero_point": 0,
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of("requantize16", "convert/kernel", constants, (str(scale["scale"]),))
    instructions = node.types[0].size * ELEMENT
    lowered = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(lowered, "requantize16"),)


LAYER: Final = Tactic(layer, "`layer16`: a sum of 16-bit products for each output.", baseline=2)
TOTAL: Final = Tactic(
    total, "`sum16`: both operands of each element scaled, and their sum.", baseline=4
)
PRODUCT_OF: Final = Tactic(product, "`product16`: a product for each element, scaled.", baseline=5)
REQUANTIZE: Final = Tactic(requantize, "`requantize16`: each value scaled.", baseline=5)
