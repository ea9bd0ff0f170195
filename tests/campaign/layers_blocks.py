"""Random layers that move squares of an image, fill them, or look values up in a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from campaign.layers import IMAGE, layer, ranks

if TYPE_CHECKING:
    from campaign.draft import Draft, Tensor


def _divisors(size: int) -> list[int]:
    """Return the sides up to 4 that divide a size."""
    return [n for n in range(1, 5) if size % n == 0]


@layer(weight=1.2, ranks=IMAGE)
def _space_to_depth(draft: Draft, x: Tensor) -> bool:
    """Append SPACE_TO_DEPTH, or DEPTH_TO_SPACE where only the channels can be divided."""
    batch, height, width, channels = x.shape
    side = draft.pick(_divisors(math.gcd(height, width)))
    if side == 1 and channels % 4 == 0:
        return _depth_to_space(draft, x)
    shape = (batch, height // side, width // side, channels * side * side)
    draft.apply("SPACE_TO_DEPTH", [x], shape, x.codes, blockSize=side)
    return True


@layer(weight=1.2, ranks=IMAGE)
def _depth_to_space(draft: Draft, x: Tensor) -> bool:
    """Append DEPTH_TO_SPACE."""
    batch, height, width, channels = x.shape
    side = draft.pick([n for n in range(1, 5) if channels % (n * n) == 0])
    shape = (batch, height * side, width * side, channels // (side * side))
    draft.apply("DEPTH_TO_SPACE", [x], shape, x.codes, blockSize=side)
    return True


@layer(weight=1.2, ranks=IMAGE)
def _space_to_batch(draft: Draft, x: Tensor) -> bool:
    """Append SPACE_TO_BATCH_ND."""
    # Without padding: TensorFlow Lite Micro pads with a number that it never sets.
    batch, height, width, channels = x.shape
    block = [draft.pick(_divisors(n)) for n in (height, width)]
    sizes = [n // part for n, part in zip((height, width), block, strict=True)]
    shape = (batch * math.prod(block), *sizes, channels)
    operands = [x, draft.integers(block), draft.integers([(0, 0), (0, 0)])]
    draft.apply("SPACE_TO_BATCH_ND", operands, shape, x.codes)
    return True


@layer(weight=1.2, ranks=IMAGE)
def _batch_to_space(draft: Draft, x: Tensor) -> bool:
    """Append BATCH_TO_SPACE_ND with crops that leave something of the image."""
    batch, height, width, channels = x.shape
    block = [draft.pick(_divisors(batch))]
    block.append(draft.pick(_divisors(batch // block[0])))
    ends, sizes = [], []
    for size, part in zip((height, width), block, strict=True):
        before, after = (draft.pick([0, 0, 1]) for _ in "ba")
        if before + after >= size * part:
            before = after = 0
        ends.append((before, after))
        sizes.append(size * part - before - after)
    operands = [x, draft.integers(block), draft.integers(ends)]
    shape = (batch // math.prod(block), *sizes, channels)
    draft.apply("BATCH_TO_SPACE_ND", operands, shape, x.codes)
    return True


@layer(weight=0.8, ranks=ranks(1, 5))
def _fill(draft: Draft, x: Tensor) -> bool:
    """Append FILL in the shape of a value."""
    operands = [draft.integers(x.shape), draft.constant((), x.codes)]
    draft.apply("FILL", operands, x.shape, x.codes)
    return True


@layer(weight=0.8)
def _table(draft: Draft, x: Tensor) -> bool:
    """Append CAST, ADD of 128 and GATHER: a function of one code, written as a table."""
    codes = draft.codes()
    wide = draft.apply_numbers("CAST", [x], x.shape, inDataType=9, outDataType=2)
    index = draft.apply_numbers("ADD", [wide, draft.integers(128)], x.shape)
    draft.apply("GATHER", [draft.constant((256,), codes), index], x.shape, codes)
    return True
