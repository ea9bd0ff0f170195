"""Matrix products.

Tests: tests/unit/frontends/onnx/ops/test_layers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.registry import importer
from rlx.ops import nn
from rlx.ops.real import RealDequantize

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@importer("Gemm")
def import_gemm(call: Call) -> Real:
    """``Gemm``: ``alpha * A B + beta * C``, either matrix transposed if asked."""
    a, b = call.value(0), call.value(1)
    if a.ndim != 2 or b.ndim != 2:
        raise call.malformed(f"A and B must be matrices, got {a.type} and {b.type}")
    alpha, beta = call.number("alpha"), call.number("beta")
    a = a.mT if call.flag("transA") else a
    if not a.dtype.is_float:
        return _integer_gemm(call, a, b.mT if call.flag("transB") else b, alpha, beta)
    weights = b if call.flag("transB") else b.mT
    weights = weights if alpha == 1.0 else weights * alpha
    if not call.has(2):
        return a.linear(weights)
    c = call.value(2) if beta == 1.0 else call.value(2) * beta
    outputs = weights.shape[0]
    if c.shape in ((outputs,), (1, outputs)):
        return a.linear(weights, c.reshape(outputs))
    return a.linear(weights) + c


def _integer_gemm(call: Call, a: Real, b: Real, alpha: float, beta: float) -> Real:
    """Return the product of integers; factors that are not whole are refused."""
    if not (alpha.is_integer() and beta.is_integer()):
        raise call.refuse(
            f"expected integers as alpha and beta for A {a.type}, got {alpha} and {beta}"
        )
    product = a @ b
    product = product if alpha == 1.0 else product * int(alpha)
    if not call.has(2):
        return product
    return product + (call.value(2) if beta == 1.0 else call.value(2) * int(beta))


@importer("MatMul")
def import_matmul(call: Call) -> Real:
    """``MatMul`` as NumPy's: vectors get an axis of 1, which the result does not have."""
    return matmul(call.value(0), call.value(1))


def matmul(x: Real, y: Real) -> Real:
    """Return the product; a constant matrix on the right makes it a linear layer."""
    if y.ndim == 2 and x.ndim >= 2 and x.dtype.is_float and _is_constant(y):
        return x.apply(nn.NnLinear(), y.mT)
    left = x.expand_dims(0) if x.ndim == 1 else x
    right = y.expand_dims(1) if y.ndim == 1 else y
    product = left @ right
    shape = list(product.shape)
    if y.ndim == 1:
        del shape[-1]
    if x.ndim == 1:
        del shape[-1 if y.ndim == 1 else -2]
    return product.reshape(*shape)


def _is_constant(x: Real) -> bool:
    """Whether a value is a constant, or dequantized from constant quantized values."""
    node = x.value.node
    return x.array is not None or (
        isinstance(node.op, RealDequantize) and node.operands[0].constant is not None
    )
