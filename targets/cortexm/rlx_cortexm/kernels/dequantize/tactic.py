"""Floats of quantized values: a product for each.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ops.q import CODE_RANGE
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.reals import scale_text
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.real import RealDequantize

ELEMENT: Final = 8
"""Instructions for each element, with hardware for floats."""

PORTABLE: Final = 8.0
"""Ratio of instructions without such hardware to those with it."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for the conversion back to floats.

    Raises:
        UnsupportedOpError: Another element type, or a scale for each channel.
    """
    op = cast("RealDequantize", node.op)
    x = node.operands[0].type
    if x.dtype not in CODE_RANGE:
        raise unsupported(node, f"expected i8, u8 or i16, got {x.dtype.value}")
    constants = {
        "length": x.size,
        "from": C_TYPES[x.dtype],
        "scale": scale_text(node, op.quant),
        "zero_point": op.quant.zero_point[0],
    }
    kernel = Kernel.of("dequantize", "dequantize/kernel", constants)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=x.size * ELEMENT)
    return (Candidate.of(layer, "dequantize"),)


DEQUANTIZE: Final = Tactic(
    candidates,
    "`dequantize`: a product of floats for each value; slow on a core without hardware for them.",
    portable=PORTABLE,
    baseline=2.7,
)
