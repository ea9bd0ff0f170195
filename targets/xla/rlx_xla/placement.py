"""Devices on which the values of a program are.

Tests: tests/targets/xla/test_parallel.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from rlx.support.errors import UsageError
from rlx_xla.platforms import PLATFORMS, devices_of, wide_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Value
    from rlx.runtime import Device

    Axes: TypeAlias = Sequence[tuple[str, int]]
    Split: TypeAlias = tuple[str | None, ...]


class Placement:
    """Placement of values: all on one device, or on a mesh of several.

    Attributes:
        replicated: Sharding of a value that is whole on each device.
        is_single: Whether there is one device.
        options: Options of compilation for it.
        prefers_floats: Whether products of float32 are faster than those of integers.
    """

    def __init__(self, device: Device, axes: Axes, splits: Mapping[str, Split]) -> None:
        """Choose devices.

        Args:
            device: Kind of device.
            axes: Name and size of each axis of the mesh; none for one device.
            splits: For the name of a value the axis of the mesh along which each of its dimensions
                is split, or None.

        Raises:
            UsageError: There are fewer devices than the mesh has.
        """
        devices = devices_of(device)
        self.is_single = not axes
        self.options = PLATFORMS[device].options
        self.prefers_floats = PLATFORMS[device].prefers_floats
        self._splits = splits
        self._sizes = dict(axes)
        self.replicated: Any = SingleDeviceSharding(devices[0])
        if axes:
            count = math.prod(self._sizes.values())
            if count > len(devices):
                raise UsageError(
                    f"a mesh of {count} devices does not fit {len(devices)} of kind {device}",
                    where="backend xla",
                    hint="choose smaller axes, or let more processes join",
                )
            grid = np.array(devices[:count]).reshape([size for _, size in axes])
            self._mesh = jax.sharding.Mesh(grid, [name for name, _ in axes])
            self.replicated = NamedSharding(self._mesh, PartitionSpec())

    def is_split(self, value: Value) -> bool:
        """Whether a value is split among devices."""
        return value.name in self._splits

    def sharding(self, value: Value) -> Any:  # noqa: ANN401 - a sharding of JAX
        """Return the sharding of a value."""
        if value.name not in self._splits:
            return self.replicated
        return NamedSharding(self._mesh, PartitionSpec(*self._splits[value.name]))

    def check(self, values: Sequence[Value]) -> None:
        """Raise UsageError unless each split is that of one of ``values``, and divides it."""
        by_name = {value.name: value for value in values}
        for name, split in self._splits.items():
            if name not in by_name:
                raise UsageError(
                    f"no input, parameter or state is called {name!r}",
                    where="backend xla",
                    hint=f"there are: {', '.join(map(str, by_name))}",
                )
            type_ = by_name[name].type
            sizes = [self._sizes.get(axis, 0) if axis else 1 for axis in split]
            fits = len(split) == type_.rank and all(
                size and dimension % size == 0
                for size, dimension in zip(sizes, type_.static_shape, strict=True)
            )
            if not fits:
                mesh = ", ".join(f"{axis} of {size}" for axis, size in self._sizes.items())
                raise UsageError(
                    f"{name!r} {type_} cannot be split by {split}",
                    where="backend xla",
                    hint=f"name an axis that divides the dimension, or None; axes: {mesh}",
                )

    def put(self, array: Array, sharding: Any) -> Any:  # noqa: ANN401 - types of JAX
        """Return an array on its devices."""
        with wide_types():
            if jax.process_count() == 1:
                return jax.device_put(array, sharding)
            return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])
