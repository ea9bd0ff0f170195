"""Floats at inputs and outputs.

Tests: tests/targets/cortexm/test_real_ports.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.targets.operands import unsupported
from rlx_c.ports import float32_text

if TYPE_CHECKING:
    from rlx.ir import Node, QuantParams


def scale_text(node: Node, quant: QuantParams) -> str:
    """Return the one scale as a C constant.

    Raises:
        UnsupportedOpError: Channels have scales of their own, or float32 cannot hold the scale.
    """
    if len(quant.scale) != 1:
        raise unsupported(
            node, f"expected one scale, got one for each of {len(quant.scale)} channels"
        )
    try:
        return float32_text(quant.scale[0])
    except ValueError as e:
        raise unsupported(node, f"its scale: {e}") from None
