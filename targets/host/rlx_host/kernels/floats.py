"""Rules of the kernels on floats.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ops.real import RealAdd, RealMul, RealSub
from rlx_host.kernels.binary.rule import binary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Op
    from rlx_host.layer import Rule

FLOAT_RULES: Final[Mapping[type[Op], Rule]] = {
    RealAdd: binary,
    RealMul: binary,
    RealSub: binary,
}
"""Rule of each op on floats."""
