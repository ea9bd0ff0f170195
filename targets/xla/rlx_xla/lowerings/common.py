"""Numbers that the lowerings share: narrow floats are computed in float32, as in ``rlx.ops.real``.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx_xla.trace import held_type

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced

PRECISE = lax.Precision.HIGHEST
"""Products of float32 in float32: a GPU and a TPU round their operands otherwise."""

_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


def is_float(x: Traced) -> bool:
    """Whether an array holds floats."""
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def widen(x: Traced) -> Traced:
    """Return ``x`` in the type that ops compute in: narrow floats become float32."""
    return x.astype(jnp.float32) if is_float(x) and x.dtype not in _WIDE else x


def narrow(x: Traced, node: Node, index: int = 0) -> Traced:
    """Return ``x`` rounded to the element type of a result of ``node``."""
    return x.astype(held_type(node.types[index].dtype))


def shape_of(node: Node, index: int = 0) -> tuple[int, ...]:
    """Return the shape of a result."""
    return node.types[index].static_shape
