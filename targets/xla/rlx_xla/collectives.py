"""Exchange of arrays among the devices of a mesh, inside ``jax.shard_map``.

Each function takes the part of an array that one device has, and the name of an axis of the mesh:
all devices along that axis take part, and call the same functions in the same order.

Tests: tests/targets/xla/test_parallel.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REDUCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "sum": lax.psum,
    "mean": lax.pmean,
    "max": lax.pmax,
    "min": lax.pmin,
}


def all_reduce(x: Any, axis: str, how: str = "sum") -> Any:  # noqa: ANN401 - arrays of JAX
    """Return the reduction of all devices' arrays, the same on each.

    Args:
        x: An array of the same shape on each device.
        axis: Axis of the mesh.
        how: ``sum``, ``mean``, ``max`` or ``min``.

    Raises:
        UsageError: The reduction is unknown.
    """
    if how not in _REDUCTIONS:
        raise UsageError(
            f"no reduction is called {how!r}",
            hint=did_you_mean(how, _REDUCTIONS, what="reductions"),
        )
    return _REDUCTIONS[how](x, axis)


def all_gather(x: Any, axis: str, dimension: int = 0) -> Any:  # noqa: ANN401
    """Return all devices' arrays joined along ``dimension``, the same on each."""
    return lax.all_gather(x, axis, axis=dimension, tiled=True)


def reduce_scatter(x: Any, axis: str, dimension: int = 0) -> Any:  # noqa: ANN401
    """Return one part of the sum of all devices' arrays, which is split along ``dimension``."""
    return lax.psum_scatter(x, axis, scatter_dimension=dimension, tiled=True)


def broadcast(x: Any, axis: str, source: int = 0) -> Any:  # noqa: ANN401
    """Return the array of the device at place ``source`` of the axis."""
    is_source = lax.axis_index(axis) == source
    if x.dtype == jnp.bool_:
        return lax.pmax(jnp.where(is_source, x, False).astype(jnp.int8), axis).astype(jnp.bool_)
    return lax.psum(jnp.where(is_source, x, jnp.zeros_like(x)), axis)


def all_to_all(x: Any, axis: str, split: int = 0, concat: int = 0) -> Any:  # noqa: ANN401
    """Return the parts that all devices have for this one.

    Args:
        x: An array whose dimension ``split`` has a part for each device.
        axis: Axis of the mesh.
        split: Dimension that is split.
        concat: Dimension along which received parts are joined.
    """
    return lax.all_to_all(x, axis, split, concat, tiled=True)
