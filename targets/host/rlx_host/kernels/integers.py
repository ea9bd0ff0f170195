"""Rules of the kernels on integers.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ops.q import QConv2d, QDense
from rlx_host.kernels.linear.rule import conv2d, dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Op
    from rlx_host.layer import Rule

INTEGER_RULES: Final[Mapping[type[Op], Rule]] = {
    QConv2d: conv2d,
    QDense: dense,
}
"""Rule of each op on integers."""
