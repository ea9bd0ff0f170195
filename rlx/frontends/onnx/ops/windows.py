"""Windows of convolutions and pools: kernel, stride, dilation, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.ir import Shape


def sizes(call: Call, shape: Shape) -> tuple[int, ...]:
    """Return the spatial dimensions of an image [N, C, spatial...], which must be integers.

    Raises:
        MalformedError: There are none.
        UnsupportedError: One is a symbol.
    """
    if len(shape) < 3:
        raise call.malformed(f"the input has {len(shape)} dimensions, expected at least 3")
    static_dims = tuple(d for d in shape[1:] if isinstance(d, int))
    if len(static_dims) != len(shape) - 1:
        raise call.refuse(
            f"the image is [{', '.join(map(str, shape))}], expected sizes for all dimensions but "
            "the batch",
            hint=OPEN_SHAPE,
        )
    return static_dims[1:]


def listed(call: Call, name: str, rank: int, minimum: int, default: int) -> tuple[int, ...]:
    """Return an attribute with a value for each spatial axis, its default without one."""
    values = call.integers(name)
    if values is None:
        return (default,) * rank
    if len(values) != rank:
        raise call.malformed(f"{name} needs {rank} numbers, got {list(values)}")
    if min(values, default=minimum) < minimum:
        raise call.malformed(f"{name} must be at least {minimum}, got {list(values)}")
    if max(values, default=0) > call.scope.limits.dimension:
        raise call.malformed(
            f"{name} is {list(values)}; the limit is {call.scope.limits.dimension}"
        )
    return values


def pads(call: Call, rank: int) -> tuple[tuple[int, int], ...]:
    """Return the attribute ``pads`` as a pair for each spatial axis."""
    given = listed(call, "pads", 2 * rank, 0, 0)
    return tuple(zip(given[:rank], given[rank:], strict=True))


def kernel_of(call: Call, weights_kernel: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the kernel's size: as the weights say, and the attribute must agree."""
    kernel = call.integers("kernel_shape")
    if kernel is None:
        if not weights_kernel:
            raise call.malformed("lacks the attribute 'kernel_shape'")
        return weights_kernel
    if (weights_kernel and kernel != weights_kernel) or min(kernel, default=1) < 1:
        expected = f"{list(weights_kernel)}, the weights'" if weights_kernel else "numbers from 1"
        raise call.malformed(f"kernel_shape is {list(kernel)}, expected {expected}")
    return kernel


def window_of(call: Call, size: tuple[int, ...], kernel: tuple[int, ...]) -> SpatialWindow:
    """Return the window of a convolution or pool over an image of ``size``."""
    rank = len(size)
    if len(kernel) != rank:
        raise call.malformed(f"the kernel is {list(kernel)}, but there are {rank} spatial axes")
    stride = listed(call, "strides", rank, 1, 1)
    dilation = (1,) * rank
    if call.schema is None or "dilations" in call.schema.attributes:
        dilation = listed(call, "dilations", rank, 1, 1)
    bare, stated = SpatialWindow(kernel, stride, dilation), pads(call, rank)
    mode = call.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return SpatialWindow(kernel, stride, dilation, stated)
    if mode == "VALID":
        return bare
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise call.malformed(
            f"auto_pad is {mode!r}, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER"
        )
    padding = tuple(
        _same(mode, max((-(-n // s) - 1) * s + extent - n, 0))
        for n, s, extent in zip(size, stride, bare.extent, strict=True)
    )
    return SpatialWindow(kernel, stride, dilation, padding)


def _same(mode: str, total: int) -> tuple[int, int]:
    """Return padding of ``total`` elements; an odd one is after the axis, or before it."""
    half = total // 2
    return (half, total - half) if mode == "SAME_UPPER" else (total - half, half)


def ceiling(call: Call, window: SpatialWindow, size: tuple[int, ...]) -> tuple[int, ...]:
    """Return the padding of ``ceil_mode`` after each axis, so that the last elements are read.

    A window that would begin after the image and the padding before it is left out.
    """
    if call.attribute("ceil_mode") is None or not call.flag("ceil_mode"):
        return (0,) * len(size)
    extra = []
    for n, (before, after), extent, stride in zip(
        size, window.padding, window.extent, window.stride, strict=True
    ):
        left = n + before + after - extent
        count = -(-left // stride) + 1
        if (count - 1) * stride >= n + before:
            count -= 1
        extra.append(max((count - 1) * stride - left, 0))
    return tuple(extra)
