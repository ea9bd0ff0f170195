"""A depthwise convolution on planes: geometry, and the multiplication of a line of taps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rlx_cortexm.image import WindowedImage

PLANES: Final = 4
"""Channels that are unpacked together."""

OUTPUTS: Final = 2
"""Neighbours that are computed together."""


class PlaneAxis(NamedTuple):
    """Sizes along one axis of the image; steps are distances in memory, in values."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    dilation: int
    pad: int
    in_step: int
    out_step: int


class TapProduct(NamedTuple):
    """One multiplication of a word of two values.

    Attributes:
        output: Index of the output it belongs to, 0 or 1.
        form: Instruction: ``smlad`` for two taps; else ``smlabb`` or a variant of it, whose last
            letters select the half of the inputs and the half of the weights to multiply.
        weights: Index among a line's words of weights.
    """

    output: int
    form: str
    weights: int


class Load(NamedTuple):
    """One load of words of two values.

    Attributes:
        word: The first word.
        registers: Names of the words in C: one or two neighbours.
    """

    word: int
    registers: tuple[str, ...]

    @property
    def reach(self) -> int:
        """Largest offset in values: LDR has 12 bits of bytes, LDRD 8 bits of words."""
        return 1020 // 2 if len(self.registers) > 1 else 4095 // 2


@dataclass(frozen=True, slots=True)
class TapLine:
    """Multiplication of a line of taps: words of weights, products for each word of values.

    Attributes:
        weights: Taps in the lower and upper half of each word, None for zero.
        products: For each word of inputs, its products with weights.
    """

    weights: tuple[tuple[int, int | None], ...]
    products: tuple[tuple[TapProduct, ...], ...]

    @staticmethod
    @cache
    def of(kernel: int, stride: int, outputs: int = OUTPUTS) -> TapLine:
        """Return the products of a line of ``kernel`` taps for outputs ``stride`` apart.

        Args:
            kernel: Taps.
            stride: Distance of neighbouring outputs.
            outputs: Outputs that are computed together: two, or one if a line has only one left.
        """
        words = ((outputs - 1) * stride + kernel - 1) // 2 + 1
        # Taps that meet the halves of a word of values, for each output.
        met = [[(2 * i - o * stride, 2 * i + 1 - o * stride) for o in range(outputs)]
               for i in range(words)]  # fmt: skip
        taps = range(kernel)
        pairs = {pair: None for word in met for pair in word if set(pair) <= set(taps)}
        weights: list[tuple[int, int | None]] = list(pairs)
        products = []
        for word in met:
            output_products = []
            for output, (lower, upper) in enumerate(word):
                if lower in taps and upper in taps:
                    output_products.append(
                        TapProduct(output, "smlad", weights.index((lower, upper)))
                    )
                elif lower in taps or upper in taps:
                    word_index, half = _half(weights, lower if lower in taps else upper)
                    form = f"smla{'b' if lower in taps else 't'}{half}"
                    output_products.append(TapProduct(output, form, word_index))
            products.append(tuple(output_products))
        return TapLine(tuple(weights), tuple(products))

    def words(self, outputs: int) -> int:
        """Return the number of words of values that the first ``outputs`` outputs need."""
        return 1 + max(i for i, own in enumerate(self.products) for p in own if p.output < outputs)

    def loads(self, outputs: int) -> tuple[Load, ...]:
        """Return the loads of all words that the first ``outputs`` outputs have products with."""
        word_loads = []
        for first in range(0, len(self.products), 2):
            used = [
                i for i, own in enumerate(self.products[first : first + 2], first)
                if any(p.output < outputs for p in own)
            ]  # fmt: skip
            if used:
                word_loads.append(Load(used[0], tuple(_REGISTERS[i - first] for i in used)))
        return tuple(word_loads)

    def registers(self, outputs: int) -> tuple[str, ...]:
        """Return the registers of all loads."""
        used = {name for load in self.loads(outputs) for name in load.registers}
        return tuple(name for name in _REGISTERS if name in used)


_REGISTERS: Final = ("lower", "upper")


def _half(weights: list[tuple[int, int | None]], tap: int) -> tuple[int, str]:
    """Return the word of weights that holds a tap, and its half; add a word if none does."""
    for place, (lower, upper) in enumerate(weights):
        if tap in (lower, upper):
            return place, "b" if tap == lower else "t"
    weights.append((tap, None))
    return len(weights) - 1, "b"


@dataclass(frozen=True, slots=True)
class Planes:
    """A depthwise convolution on planes.

    Attributes:
        image: Its geometry.
        down: Lines are columns of the image, not rows.
        strip: Lines of outputs whose values are unpacked together.
        unrolled: Pairs of outputs of the unrolled loop body.
    """

    image: WindowedImage
    down: bool
    strip: int
    unrolled: int = 1

    @property
    def axes(self) -> tuple[PlaneAxis, PlaneAxis]:
        """Along a line, and from line to line."""
        image, window = self.image, self.image.window
        vertical = PlaneAxis(
            image.in_h, image.out_h, window.kernel[0], window.stride[0], window.dilation[0],
            window.padding[0][0], image.in_w * image.in_c, image.out_w * image.out_c,
        )  # fmt: skip
        horizontal = PlaneAxis(
            image.in_w, image.out_w, window.kernel[1], window.stride[1], window.dilation[1],
            window.padding[1][0], image.in_c, image.out_c,
        )  # fmt: skip
        return (vertical, horizontal) if self.down else (horizontal, vertical)

    @property
    def line(self) -> TapLine:
        """Multiplication of a line of taps."""
        along = self.axes[0]
        return TapLine.of(along.kernel, along.stride, min(along.outputs, OUTPUTS))

    @property
    def pairs(self) -> int:
        """Pairs of outputs in a line; one output more may be left."""
        return self.axes[0].outputs // OUTPUTS

    @property
    def pixels(self) -> int:
        """Values of a line that some window sees."""
        along = self.axes[0]
        seen = (along.outputs - 1) * along.stride + along.kernel - along.pad
        return max(min(along.inputs, seen), 0)

    @property
    def pitch(self) -> int:
        """Elements from line to line of a plane, even."""
        along, line = self.axes[0], self.line
        last, left = divmod(along.outputs, OUTPUTS)
        read = [(last - 1) * along.stride + line.words(OUTPUTS)] if last else []
        read += [last * along.stride + line.words(1)] if left else []
        return 2 * max(*read, -(-(along.pad + self.pixels) // 2), 1)

    @property
    def tail(self) -> int:
        """Elements at the end of a line beyond the image, if a window reads any there."""
        along = self.axes[0]
        there = along.pad + self.pixels
        seen = (along.outputs - 1) * along.stride + along.kernel
        return self.pitch - (there + there % 2) if seen > there else 0

    @property
    def pads(self) -> bool:
        """Whether some window sees lines above or below the image."""
        across = self.axes[1]
        last = (across.outputs - 1) * across.stride + (across.kernel - 1) * across.dilation
        return across.pad > 0 or last - across.pad >= across.inputs

    @property
    def fills(self) -> bool:
        """Whether more than single elements are filled with the zero point."""
        return self.tail > 0 or self.axes[0].pad > 1 or self.pads

    @property
    def lines(self) -> int:
        """Lines of a plane."""
        across = self.axes[1]
        return (self.strip - 1) * across.stride + (across.kernel - 1) * across.dilation + 1

    @property
    def strips(self) -> int:
        """Parts that the lines are cut into."""
        return -(-self.axes[1].outputs // self.strip)

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for the planes."""
        return 2 * PLANES * self.lines * self.pitch
