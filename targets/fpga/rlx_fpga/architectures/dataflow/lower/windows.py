"""Layers that begin with a sliding window: the cells before the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal

from rlx_fpga.architectures.dataflow.latency import Demand, by_pixel
from rlx_fpga.architectures.dataflow.lower.rules import LayerHardware, pipeline_hold
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.geometry import geometry_of
from rlx_fpga.cells.pad import Pad
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from rlx_fpga.cells.window import WindowGenerator

if TYPE_CHECKING:
    from rlx.ops.q import Window
    from rlx_fpga.cells.geometry import Geometry
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.explore.fold import Fold

# Maximum bytes of a window that is kept in registers, twice.
WHOLE_WINDOW_BYTES = 128


@dataclass(frozen=True, slots=True)
class Image:
    """Frames of a layer with a window.

    Attributes:
        count: Images in a frame of the stream.
        height: Rows of an image.
        width: Columns of an image.
        channels: Channels of a pixel.
    """

    count: int
    height: int
    width: int
    channels: int

    def geometry(self, window: Window, lanes: int) -> Geometry:
        """Return the geometry of ``window`` over the image, in words of ``lanes`` channels."""
        return geometry_of(
            self.height,
            self.width,
            self.channels // lanes,
            window.kernel,
            window.stride,
            window.dilation,
            window.padding,
        )


def window_cell(
    image: Image,
    window: Window,
    *,
    lanes: int,
    pad_value: int,
    repeat: int,
    order: Literal["dense", "channelwise"],
) -> WindowGenerator:
    """Return the window generator of a layer."""
    return WindowGenerator(
        height=image.height,
        width=image.width,
        channels=image.channels,
        lanes=lanes,
        kernel=window.kernel,
        stride=window.stride,
        dilation=window.dilation,
        padding=window.padding,
        pad_value=pad_value,
        repeat=repeat,
        order=order,
    )


def windowed(cells: dict[str, Cell], fold: Fold, image: Image) -> LayerHardware:
    """Return a layer whose first cell is a window generator."""
    window = cells["window"]
    assert isinstance(window, WindowGenerator)
    geometry = window.geometry
    words = window.reads * geometry.out_height * geometry.out_width * image.count
    # A pixel being accumulated, and one being drained.
    pixels = Fraction(2, geometry.out_height * geometry.out_width)
    registers = pipeline_hold([*cells.values()], words)
    return LayerHardware(
        Chain(cells),
        fold,
        window.cycles_per_frame * image.count,
        (geometry.hold + pixels) / image.count + registers,
        max(geometry.lead, Fraction(0)) / image.count,
        jitter=(Fraction(0), geometry.jitter / image.count),
        burst=words,
        demand=demand_of(geometry, image.count),
    )


@cache
def demand_of(geometry: Geometry, count: int) -> Demand:
    """Return the demand of a layer that slides a window over ``count`` images."""
    return by_pixel(geometry.needed, geometry.words, count)


def whole_window(image: Image, window: Window) -> WholeWindow | None:
    """Return the cell that outputs whole windows of the padded image, or None if unsupported."""
    (top, bottom), (left, right) = window.padding
    height, width = image.height + top + bottom, image.width + left + right
    small = window.taps * image.channels <= WHOLE_WINDOW_BYTES
    if not small or window.dilation != (1, 1) or width < 2:
        return None
    return WholeWindow(
        height=height,
        width=width,
        channels=image.channels,
        kernel=window.kernel,
        stride=window.stride,
    )


def whole_front(
    image: Image, window: Window, simd: int, pad_value: int, repeat: int
) -> dict[str, Cell]:
    """Return the cells that send whole windows in parts of ``simd`` taps, ``repeat`` times."""
    whole = whole_window(image, window)
    assert whole is not None
    front: dict[str, Cell] = {}
    if window.is_padded:
        (top, bottom), (left, right) = window.padding
        sizes = (image.height, image.width)
        front["pad"] = Pad(image.channels, sizes, (top, left), (bottom, right), pad_value)
    return {**front, "window": whole, "replay": Replay(whole.lanes, simd, repeat)}


def whole_windowed(
    front: dict[str, Cell], cells: dict[str, Cell], fold: Fold, image: Image, window: Window
) -> LayerHardware:
    """Return a layer that begins with ``front``, as made by ``whole_front``."""
    whole, replay, pad = front["window"], front["replay"], front.get("pad")
    assert isinstance(whole, WholeWindow)
    assert isinstance(replay, Replay)
    added = Fraction(0)
    if isinstance(pad, Pad):
        added = Fraction(pad.beats_out - pad.beats_in, pad.beats_out)
    (top, _), (left, _) = window.padding
    geometry = whole.geometry
    pixels = geometry.out_height * geometry.out_width
    # One window in the shift registers, one replayed; then one accumulated, one drained.
    ends = [*geometry.needed[2:], geometry.words, geometry.words][:pixels]
    beats = max(
        Fraction(needed, geometry.words) - Fraction(pixel, pixels)
        for pixel, needed in enumerate(ends)
    )
    registers = pipeline_hold([*front.values(), *cells.values()], pixels * replay.beats)
    counted = [
        top <= row < top + image.height and left <= column < left + image.width
        for row in range(geometry.height)
        for column in range(geometry.width)
    ]
    flow = whole.jitter(replay.beats, counted)
    return LayerHardware(
        Chain({**front, **cells}),
        fold,
        whole.cycles_per_frame(replay.beats) * image.count,
        (beats + added + Fraction(2, pixels)) / image.count + registers,
        (max(geometry.lead, Fraction(0)) + added) / image.count,
        jitter=(flow[0] / image.count, max(flow[1], geometry.jitter) / image.count),
        burst=pixels * replay.beats * image.count,
        demand=demand_of(geometry, image.count),
    )
