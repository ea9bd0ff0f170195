"""Elementwise arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.onnx_ops.call import importer
from rlx.ops import real

if TYPE_CHECKING:
    from rlx.frontends.onnx_ops.call import Call, Real
    from rlx.ir import Op

_BINARY: dict[str, Op] = {
    "Add": real.RealAdd(),
    "Sub": real.RealSub(),
    "Mul": real.RealMul(),
    "Div": real.RealDiv(),
}


@importer(*_BINARY)
def import_binary(call: Call) -> Real:
    """``Add`` and its kin, which broadcast as NumPy does."""
    return call.value(0).apply(_BINARY[call.node.type], call.value(1))
