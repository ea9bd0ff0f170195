"""Transposed convolutions.

On int8 a transposed convolution of stride ``s`` is one convolution of stride 1 that computes ``s x
s`` outputs, its phases, for each place of the image; they become squares of the result. Each
output is a sum of the same products as in the interpreter, so that its bits are the same.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, OverLimitError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import (
    activation_bounds,
    bias_array,
    checked_bias,
    layer_rescale,
    weight_scales,
    weights,
)
from rlx.frontends.tflite.ops.reals import biased, finish_activated, finite, weight_tensor
from rlx.frontends.tflite.ops.tensors import nonzero
from rlx.frontends.tflite.schema import Padding
from rlx.frontends.work import check_sizes
from rlx.ir import QuantParams
from rlx.ops.nn import NnConvTranspose
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QReshape, QSlice, QTranspose, Window
from rlx.ops.real import SpatialWindow
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value


@importer("TRANSPOSE_CONV")
def import_transpose_conv(call: Call) -> None:
    """``TRANSPOSE_CONV``: output shape, weights OHWI, input, perhaps a bias."""
    call.arity(3, 4)
    tensor = weights(call, 1, rank=4, axis=0)
    _check_image(call.input(2), tensor)
    outputs = tensor.shape[0]
    axes = _phase_axes(call, tensor.shape[1:3])
    strides = axes[0].stride, axes[1].stride
    quant, result = call.quant(2), call.result_quant
    bias = bias_array(call, 3, outputs)
    rescale = layer_rescale(call, tensor, bias, image=2)
    bias = checked_bias(call, tensor, bias, quant.zero_point, rescale)
    low, high = activation_bounds(call, result)
    op = QConv2d(
        window=Window((axes[0].taps, axes[1].taps), padding=(axes[0].padding, axes[1].padding)),
        x_zero_point=quant.zero_point,
        rescale=_repeated(rescale, math.prod(strides)),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    check_sizes(op.window, call.scope.limits)
    w = _phase_weights(call, tensor, nonzero(tensor), axes)
    biases = np.tile(bias, math.prod(strides))
    operands = w, call.scope.graph.constant(biases, origin=call.origin)
    if strides == (1, 1) and not any(axis.is_cut for axis in axes):
        call.finish(op, call.value(2), *operands)
        return
    phases = call.emit(op, call.value(2), *operands, quant=result)
    _interleave(call, phases, axes, outputs)


@dataclass(frozen=True, slots=True)
class _PhaseAxis:
    """One axis of a transposed convolution as a convolution of its phases.

    Output ``o`` is phase ``(o + cut) % stride`` of place ``(o + cut) // stride``, which reads the
    ``taps`` elements of the image up to that place.

    Attributes:
        size: Elements of the image.
        result: Elements of the result.
        kernel: Taps of the transposed convolution.
        stride: Number of phases.
        cut: Elements that it cuts off in front.
    """

    size: int
    result: int
    kernel: int
    stride: int
    cut: int

    @property
    def taps(self) -> int:
        """Taps of a phase, some of which are 0."""
        return -(-self.kernel // self.stride)

    @property
    def first(self) -> int:
        """The place of the first output."""
        return self.cut // self.stride

    @property
    def padding(self) -> tuple[int, int]:
        """Elements of padding before and after the image."""
        last = (self.result - 1 + self.cut) // self.stride
        return self.taps - 1 - self.first, max(last + 1 - self.size, 0)

    @property
    def places(self) -> int:
        """Number of places that the convolution computes."""
        return self.size + sum(self.padding) - self.taps + 1

    @property
    def start(self) -> int:
        """Index of the first output among the phases of all places."""
        return self.cut - self.first * self.stride

    @property
    def is_cut(self) -> bool:
        """Whether some phases are not outputs."""
        return self.places * self.stride != self.result

    def tap_indices(self) -> npt.NDArray[np.int64]:
        """Return the tap of the kernel that each phase has as each of its taps, [stride, taps]."""
        phases, taps = np.arange(self.stride), np.arange(self.taps)
        return phases[:, None] + self.stride * (self.taps - 1 - taps)


def _phase_axes(call: Call, kernel: tuple[int, ...]) -> tuple[_PhaseAxis, _PhaseAxis]:
    """Return rows and columns."""
    shape = call.integers(0)
    call.makes(shape)
    if len(shape) != 4:
        raise MalformedError(f"makes the shape {list(shape)}, expected 4 dimensions")
    stride = (call.options["stride_h"], call.options["stride_w"])
    rows, columns = (
        _PhaseAxis(size, result, k, s, _cut_before(call.options["padding"], result, k, s))
        for size, result, k, s in zip(
            call.input(2).shape[1:3], shape[1:3], kernel, stride, strict=True
        )
    )
    return rows, columns


def _repeated(rescale: Rescale, count: int) -> Rescale:
    """Return the factors of all phases; one factor for all stays one."""
    if rescale.channels == 1:
        return rescale
    return Rescale(rescale.multiplier * count, rescale.shift * count, rescale.rounding)


def _phase_weights(
    call: Call, tensor: Tensor, array: npt.NDArray[np.int8], axes: tuple[_PhaseAxis, _PhaseAxis]
) -> Value:
    """Return the weights of all phases, those of the first row of phases in front."""
    rows, columns = axes
    outputs, *_, inner = array.shape
    shape = (rows.stride, columns.stride, outputs, rows.taps, columns.taps, inner)
    if (size := math.prod(shape)) > call.scope.limits.elements:
        raise OverLimitError(
            f"the weights of its phases have {size} elements; "
            f"the limit is {call.scope.limits.elements}",
            hint=raise_hint("elements", size),
        )
    more = [(0, axis.stride * axis.taps - axis.kernel) for axis in axes]
    padded = np.pad(array, ((0, 0), *more, (0, 0)))
    row_taps, column_taps = rows.tap_indices(), columns.tap_indices()
    # [O, stride, taps, stride, taps, C] becomes [stride, stride, O, taps, taps, C].
    phase_weights = padded[:, row_taps][:, :, :, column_taps].transpose(1, 3, 0, 2, 4, 5)
    scales = tuple(s or 1.0 for s in weight_scales(tensor))
    if len(scales) > 1:
        scales *= rows.stride * columns.stride
    quant = QuantParams(scales, (0,) * len(scales), None if len(scales) == 1 else 0)
    flat = np.ascontiguousarray(phase_weights).reshape(-1, *shape[3:])
    return call.scope.constant(tensor, flat, quant)


def _interleave(
    call: Call, phases: Value, axes: tuple[_PhaseAxis, _PhaseAxis], outputs: int
) -> None:
    """Append the ops that make an image of phases, and cut off what is not part of it."""
    rows, columns = axes
    batch = phases.type.static_shape[0]
    height, width = rows.places * rows.stride, columns.places * columns.stride
    image = phases
    if rows.stride * columns.stride > 1:
        parts = (batch, rows.places, columns.places, rows.stride, columns.stride, outputs)
        split = call.emit(QReshape(shape=parts), phases)
        transposed = call.emit(QTranspose(axes=(0, 1, 3, 2, 4, 5)), split)
        whole = QReshape(shape=(batch, height, width, outputs))
        if not any(axis.is_cut for axis in axes):
            call.finish(whole, transposed)
            return
        image = call.emit(whole, transposed)
    start = (0, rows.start, columns.start, 0)
    stop = (batch, rows.start + rows.result, columns.start + columns.result, outputs)
    call.finish(QSlice(start=start, stop=stop, step=(1, 1, 1, 1)), image)


@real_importer("TRANSPOSE_CONV")
def import_real_transpose_conv(call: Call) -> None:
    """``TRANSPOSE_CONV`` on float32: output shape, weights OHWI, input, perhaps a bias."""
    call.arity(3, 4)
    image, kernel = _transposed_sizes(call, 2)
    shape = call.integers(0)
    call.makes(shape)
    stride = (call.options["stride_h"], call.options["stride_w"])
    cuts = [
        _cut(call.options["padding"], *sizes)
        for sizes in zip(image.shape[1:3], shape[1:3], kernel, stride, strict=True)
    ]
    window = SpatialWindow(kernel, stride, padding=tuple((b, a) for b, a, _ in cuts))
    more = tuple(more for _, _, more in cuts)
    op, operands = _transposed(call, window, more, (2, 1, 3))
    finish_activated(call, op, *operands)


@real_importer("CUSTOM 'Convolution2DTransposeBias'")
def import_media_pipe_transpose_conv(call: Call) -> None:
    """``Convolution2DTransposeBias`` of MediaPipe on float32: input, weights OHWI, bias.

    Source: MediaPipe ``transpose_conv_bias.cc``.
    """
    call.arity(3)
    image, kernel = _transposed_sizes(call, 0)
    if len(call.operator.custom_options) < _MEDIA_PIPE.size:
        raise MalformedError(
            f"has {len(call.operator.custom_options)} bytes of options, expected {_MEDIA_PIPE.size}"
        )
    padding, width, height = _MEDIA_PIPE.unpack_from(call.operator.custom_options)
    if padding not in (_SAME, _VALID) or min(width, height) < 1:
        raise MalformedError(f"has the padding {padding} and the strides {height} and {width}")
    cuts = []
    for size, taps, stride in zip(image.shape[1:3], kernel, (height, width), strict=True):
        cut = max(taps - (size - 1) % stride - 1, 0) if padding == _SAME else 0
        cuts.append((cut // 2, cut - cut // 2))
    window = SpatialWindow(kernel, (height, width), padding=tuple(cuts))
    op, operands = _transposed(call, window, (0, 0), (0, 1, 2))
    call.finish(op, *operands)


# Padding, width and height of the stride: ``TfLiteTransposeConvParams``, numbers of C.
_MEDIA_PIPE = struct.Struct("<iii")
_SAME, _VALID = 1, 2


def _transposed_sizes(call: Call, index: int) -> tuple[Tensor, tuple[int, int]]:
    """Return the image at ``index`` and the size of the kernel, whose weights are input 1."""
    tensor, image = weight_tensor(call, 1, rank=4, image=index), call.input(index)
    _check_image(image, tensor)
    _, rows, columns, _ = tensor.shape
    return image, (rows, columns)


def _check_image(image: Tensor, tensor: Tensor) -> None:
    """Check that an image has the channels that weights OHWI read."""
    if len(image.shape) != 4 or image.shape[3] != tensor.shape[3]:
        raise MalformedError(
            f"{image.label} is {image.described}, which {tensor.label}, "
            f"{tensor.described}, does not fit"
        )


def _transposed(
    call: Call, window: SpatialWindow, more: tuple[int, ...], indices: tuple[int, int, int]
) -> tuple[NnConvTranspose, tuple[Value, ...]]:
    """Return a transposed convolution and its operands, from places of input, weights, bias."""
    check_sizes(window, call.scope.limits)
    given, weights, bias = indices
    tensor = call.input(weights)
    operands = finite(call, tensor, (3, 1, 2, 0)), *biased(call, bias, tensor.shape[0])
    return NnConvTranspose(window=window, output_padding=more), (call.value(given), *operands)


def _cut(padding: int, size: int, result: int, kernel: int, stride: int) -> tuple[int, int, int]:
    """Return the elements a transposed convolution cuts off before and after, and adds after."""
    before = _cut_before(padding, result, kernel, stride)
    after = (size - 1) * stride + kernel - before - result
    return before, max(after, 0), max(-after, 0)


def _cut_before(padding: int, result: int, kernel: int, stride: int) -> int:
    """Return the elements cut off in front: the padding of the convolution of ``result``.

    Source: tflite-micro ``ComputePaddingHeightWidth``, whose quotients are truncated.
    """
    windows = -(-result // stride)
    if padding == Padding.VALID:
        windows = int((result + stride - kernel) / stride)
    return max((windows - 1) * stride + kernel - result, 0) // 2
