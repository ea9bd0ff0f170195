"""Images of another size.

Tests: tests/unit/frontends/tflite/ops/test_reals.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.ops.nn import Coordinates, Interpolation, NnResize
from rlx.ops.real import RealGather

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call


@real_importer("RESIZE_BILINEAR")
def import_resize_bilinear(call: Call) -> None:
    """``RESIZE_BILINEAR`` on float32."""
    size = _size(call)
    op = NnResize(size=size, interpolation=Interpolation.LINEAR, coordinates=_coordinates(call))
    call.finish(op, call.value(0))


@real_importer("RESIZE_NEAREST_NEIGHBOR")
def import_resize_nearest(call: Call) -> None:
    """``RESIZE_NEAREST_NEIGHBOR``: the interpreter's indices, which it computes in float32.

    Where ``nn.resize`` has the same ones it replaces the operator, else two gathers do.
    """
    size, shape = _size(call), call.input(0).shape[1:3]
    indices_by_axis = [_nearest(call, *pair) for pair in zip(shape, size, strict=True)]
    for coordinates in Coordinates:
        for floor in (True, False):
            op = NnResize(size=size, coordinates=coordinates, floor=floor)
            if all(map(_has_indices, (op, op), shape, indices_by_axis)):
                call.finish(op, call.value(0))
                return
    value = call.value(0)
    for axis, axis_indices in enumerate(indices_by_axis, start=1):
        indices = call.scope.graph.constant(axis_indices, origin=call.origin)
        value = call.emit(RealGather(axis=axis), value, indices)
    call.bind(value)


def _size(call: Call) -> tuple[int, int]:
    """Return the height and width of the result."""
    call.arity(2)
    image, size = call.input(0), call.integers(1)
    require_float(image, call.output)
    if len(image.shape) != 4 or len(size) != 2:
        raise MalformedError(
            f"resizes {image.described} to {list(size)}, expected an image and 2 sizes"
        )
    call.makes((image.shape[0], *size, image.shape[3]))
    return size[0], size[1]


def _coordinates(call: Call) -> Coordinates:
    """Return the mapping of elements of the result to coordinates in the input."""
    corners, centers = call.options["align_corners"], call.options["half_pixel_centers"]
    if corners and centers:
        raise UnsupportedError("expected align_corners or half_pixel_centers, got both")
    if corners:
        return Coordinates.ALIGN_CORNERS
    return Coordinates.HALF_PIXEL if centers else Coordinates.ASYMMETRIC


def _nearest(call: Call, old: int, new: int) -> npt.NDArray[np.int32]:
    """Return the index of the input that each index of the result reads along one axis.

    Source: tflite ``reference_ops::GetNearestNeighbor``.
    """
    corners = call.options["align_corners"] and new > 1
    scale = (
        np.float32(old - 1) / np.float32(new - 1) if corners else np.float32(old) / np.float32(new)
    )
    offset = np.float32(0.5 if call.options["half_pixel_centers"] else 0.0)
    coordinates = (np.arange(new, dtype=np.float32) + offset) * scale
    whole = np.floor(coordinates)
    if call.options["align_corners"]:
        # Halves round up; the difference to the floor is exact.
        whole = whole + (coordinates - whole >= np.float32(0.5))
    indices: npt.NDArray[np.int32] = np.clip(whole, 0, old - 1).astype(np.int32)
    return indices


def _has_indices(op: NnResize, old: int, indices: npt.NDArray[np.int32]) -> bool:
    """Return whether ``op`` selects the given indices along an axis of ``old``."""
    one = NnResize(size=(len(indices), 1), coordinates=op.coordinates, floor=op.floor)
    (found,) = one.evaluate(np.arange(old, dtype=np.float64).reshape(1, old, 1, 1))
    return bool((found.reshape(-1) == indices).all())
