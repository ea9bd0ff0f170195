"""Images of another size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.ops.nn import Coordinates, Interpolation, NnResize
from rlx.ops.q import QResizeBilinear, QResizeNearest
from rlx.ops.real import RealGather

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call


@importer("RESIZE_BILINEAR")
def import_resize_bilinear(call: Call) -> None:
    """``RESIZE_BILINEAR``, unless ``align_corners`` and ``half_pixel_centers`` are both set."""
    size = _int8_size(call)
    _coordinates(call)
    op = QResizeBilinear(size=size, **_flags(call))
    for axis in op.axes(call.input(0).shape[1:3]):
        if axis.overrun is not None:
            raise UnsupportedError(axis.overrun, hint="resize in two layers")
    call.finish(op, call.value(0))


@importer("RESIZE_NEAREST_NEIGHBOR")
def import_resize_nearest(call: Call) -> None:
    """``RESIZE_NEAREST_NEIGHBOR``: the interpreter's indices, which it computes in float32."""
    size = _int8_size(call)
    call.finish(QResizeNearest(size=size, **_flags(call)), call.value(0))


@real_importer("RESIZE_BILINEAR")
def import_real_resize_bilinear(call: Call) -> None:
    """``RESIZE_BILINEAR`` on float32."""
    size = _float_size(call)
    op = NnResize(size=size, interpolation=Interpolation.LINEAR, coordinates=_coordinates(call))
    call.finish(op, call.value(0))


@real_importer("RESIZE_NEAREST_NEIGHBOR")
def import_real_resize_nearest(call: Call) -> None:
    """``RESIZE_NEAREST_NEIGHBOR``: the interpreter's indices, which it computes in float32.

    Where ``nn.resize`` has the same ones it replaces the operator, else two gathers do.
    """
    size, shape = _float_size(call), call.input(0).shape[1:3]
    axes = QResizeNearest(size=size, **_flags(call)).axes(shape)
    indices_by_axis = [axis.nearest for axis in axes]
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


def _float_size(call: Call) -> tuple[int, int]:
    """Return the height and width of a float result."""
    call.arity(2)
    require_float(call.input(0), call.output)
    return _size(call)


def _int8_size(call: Call) -> tuple[int, int]:
    """Return the height and width of an int8 result with the quantization of the input."""
    call.arity(2)
    call.same_quant()
    return _size(call)


def _size(call: Call) -> tuple[int, int]:
    """Return the height and width of the result."""
    image, size = call.input(0), call.integers(1)
    if len(image.shape) != 4 or len(size) != 2:
        raise MalformedError(
            f"resizes {image.described} to {list(size)}, expected an image and 2 sizes"
        )
    call.makes((image.shape[0], *size, image.shape[3]))
    return size[0], size[1]


def _flags(call: Call) -> dict[str, bool]:
    """Return the options that determine positions."""
    names = ("align_corners", "half_pixel_centers")
    return {name: bool(call.options[name]) for name in names}


def _coordinates(call: Call) -> Coordinates:
    """Return the mapping of elements of the result to coordinates in the input."""
    corners, centers = call.options["align_corners"], call.options["half_pixel_centers"]
    if corners and centers:
        raise UnsupportedError("expected align_corners or half_pixel_centers, got both")
    if corners:
        return Coordinates.ALIGN_CORNERS
    return Coordinates.HALF_PIXEL if centers else Coordinates.ASYMMETRIC


def _has_indices(op: NnResize, old: int, indices: npt.NDArray[np.int32]) -> bool:
    """Return whether ``op`` selects the given indices along an axis of ``old``."""
    one = NnResize(size=(len(indices), 1), coordinates=op.coordinates, floor=op.floor)
    (found,) = one.evaluate(np.arange(old, dtype=np.float64).reshape(1, old, 1, 1))
    return bool((found.reshape(-1) == indices).all())
