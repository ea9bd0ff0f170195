"""Change of the element type: one inverted bit, or a scaling for each.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import CODE_RANGE
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.scaling import WIDE, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.q import QConvert

FLIP: Final = 5
SCALE: Final = 12
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a change of type."""
    op = cast("QConvert", node.op)
    x = node.operands[0].type
    flips = _flips(node)
    constants: dict[str, Hashable] = {
        "length": x.size,
        "from": C_TYPES[x.dtype],
        "to": C_TYPES[op.dtype],
        "flips": flips,
    }
    support: tuple[str, ...] = ()
    if not flips:
        low, high = CODE_RANGE[x.dtype]
        value_scaling = scaling(op.rescale, high - low)
        function = value_scaling.function.replace("requantize", "scale")
        low, high = CODE_RANGE[op.dtype]
        constants |= {
            "scale": function,
            "wide": "int64_t" if function in WIDE else "int32_t",
            "multiplier": value_scaling.multiplier[0],
            "shift": value_scaling.shift[0],
            "x_zero_point": op.x_zero_point,
            "zero_point": op.zero_point,
            "low": low,
            "high": high,
        }
        support = (function,)
    kernel = Kernel.of("convert", "convert/kernel", constants, support)
    instructions = x.size * (FLIP if flips else SCALE)
    return (
        Candidate.of(
            LoweredLayer(kernel, operands=node.operands, instructions=instructions), "convert"
        ),
    )


def _flips(node: Node) -> bool:
    """Whether every value of 8 bits becomes the one with the other top bit."""
    op = cast("QConvert", node.op)
    types = (node.operands[0].type.dtype, op.dtype)
    if any(dtype.bits != 8 for dtype in types) or types[0] is types[1]:
        return False
    bits = np.arange(256, dtype=np.uint8)
    (values,) = op.evaluate(bits.view(types[0].numpy))
    return bool((values.view(np.uint8) == bits ^ 0x80).all())


CONVERT: Final = Tactic(candidates, "`convert`: each value in another element type.", baseline=5)
