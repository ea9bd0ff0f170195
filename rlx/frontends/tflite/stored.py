"""Constants that a file does not store element after element: sparse, packed, in blocks.

All of them become plain constants: sparse ones dense, those of 4 and 2 bits int8, those with a
scale for each block float32.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.refusal import FileRefusedError, MalformedError, OverLimitError, UnsupportedError
from rlx.frontends.tflite.check import check_constants
from rlx.frontends.tflite.schema import ELEMENT_BITS, TensorType
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.frontends.tflite.file import Model, Tensor
    from rlx.frontends.tflite.flatbuffer import Record
    from rlx.support.limits import Limits

    Bytes = npt.NDArray[np.uint8]
    Integers = npt.NDArray[np.int64]

NARROW = {TensorType.INT4: 4, TensorType.INT2: 2}
"""Bits of the element types that are stored several to a byte."""


def expanded(model: Model, limits: Limits) -> Model:
    """Return a checked model whose constants are plain, without the operators that made them so.

    Raises:
        MalformedError: A constant contradicts its description, or they are over the limit.
        UnsupportedError: One is stored in a way that rlx does not read.
    """
    named = {i for o in model.operators for i in o.inputs}
    tensors = list(model.tensors)
    for tensor in model.tensors:
        if tensor.data is None or tensor.index not in named or tensor.refusal is not None:
            continue
        try:
            tensors[tensor.index] = _decode(tensor, model.tensors, limits)
        except FileRefusedError as error:
            raise error.inside(tensor.label) from None
    left = []
    for operator in model.operators:
        operands = [tensors[i] for i in operator.inputs if i != -1]
        if operator.name == "DENSIFY" and len(operands) == len(operator.outputs) == 1:
            dense_tensor = tensors[operator.outputs[0]]
            if operands[0].data is not None and _same_type(operands[0], dense_tensor):
                tensors[dense_tensor.index] = replace(
                    dense_tensor, data=operands[0].data, stored=operands[0].stored
                )
                continue
        left.append(operator)
    model = replace(model, tensors=tuple(tensors), operators=tuple(left))
    check_constants(model, limits)
    return model


def _same_type(x: Tensor, y: Tensor) -> bool:
    return (x.shape, x.stored or x.type) == (y.shape, y.stored or y.type)


def _decode(tensor: Tensor, tensors: Sequence[Tensor], limits: Limits) -> Tensor:
    """Return a constant, element after element."""
    size = math.prod(tensor.shape)
    if (tensor.sparsity or tensor.blocks) and 4 * size > limits.constant_bytes:
        raise OverLimitError(
            f"has {size} elements, {4 * size} bytes as float32; the limit is "
            f"{limits.constant_bytes} bytes",
            hint=raise_hint("constant_bytes", 4 * size),
        )
    if tensor.sparsity is not None:
        tensor = replace(tensor, data=_dense(tensor, tensor.sparsity), sparsity=None)
    if tensor.type in NARROW and tensor.data is not None:
        values = _unpacked(tensor.data, NARROW[tensor.type], size)
        stored = tensor.type
        tensor = replace(tensor, data=values.view(np.uint8), type=TensorType.INT8, stored=stored)
    if tensor.blocks is not None:
        tensor = _scaled(tensor, tensor.blocks, tensors)
    return tensor


def _unpacked(data: Bytes, bits: int, count: int) -> npt.NDArray[np.int8]:
    """Return integers of few bits, the first in the low bits of a byte."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    values = ((data[:, np.newaxis] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    half = 1 << (bits - 1)
    found: npt.NDArray[np.int8] = ((values ^ half).astype(np.int8)) - np.int8(half)
    return found


def _scaled(tensor: Tensor, blocks: Record, tensors: Sequence[Tensor]) -> Tensor:
    """Return the float32 of integers with a scale for each block along an axis."""
    if tensor.type is not TensorType.INT8:
        raise UnsupportedError(
            f"is {tensor.described} with a scale for each block; rlx reads int8, int4 and int2",
            hint="quantize with one scale for each channel",
        )
    scales = _scales(blocks.integer("scales"), tensors)
    if blocks.integer("zero_points") >= 0:
        raise UnsupportedError(
            "has a zero point for each block", hint="quantize the weights symmetrically"
        )
    parts = [n // max(m, 1) for n, m in zip(tensor.shape, scales.shape, strict=False)]
    fits = tuple(m * n for m, n in zip(scales.shape, parts, strict=True)) == tensor.shape
    longest = max(parts, default=1)
    if not fits or blocks.integer("block_size") not in (0, longest):
        raise MalformedError(
            f"is {tensor.described} in blocks of {blocks.integer('block_size')}, "
            f"with scales of the shape {list(scales.shape)}"
        )
    for axis, count in enumerate(parts):
        scales = np.repeat(scales, count, axis)
    reals = (scales * tensor.array().astype(np.float32)).astype("<f4")
    return replace(
        tensor,
        data=np.frombuffer(reals.tobytes(), np.uint8),
        type=TensorType.FLOAT32,
        stored=tensor.stored or tensor.type,
        blocks=None,
    )


def _scales(index: int, tensors: Sequence[Tensor]) -> npt.NDArray[np.float32]:
    """Return the tensor of scales, which no operator names."""
    if not 0 <= index < len(tensors):
        raise MalformedError(f"has its scales in tensor {index}, but there are {len(tensors)}")
    stored = tensors[index]
    if stored.type not in (TensorType.FLOAT16, TensorType.FLOAT32):
        raise UnsupportedError(
            f"has scales in {stored.label}, which is {stored.described}, expected float16 or "
            "float32",
            hint="quantize with scales of float16 or float32",
        )
    byte_count = math.prod(stored.shape) * ELEMENT_BITS[stored.type] // 8
    if stored.data is None or min(stored.shape, default=1) < 1 or len(stored.data) != byte_count:
        raise MalformedError(
            f"has scales in {stored.label}, which is {stored.described} without data"
        )
    scales: npt.NDArray[np.float32] = stored.array().astype(np.float32)
    if not (np.isfinite(scales) & (scales >= 0)).all():
        raise MalformedError("has scales that are negative, infinite or NaN")
    return scales


def _dense(tensor: Tensor, sparsity: Record) -> Bytes:
    """Return all elements of a sparse tensor; those that are not stored are 0.

    A tensor is a tree: each level is an axis, or an axis of blocks, in the order of traversal. A
    dense level has every index, another one lists those that it has.

    Source: the comments on ``SparsityParameters`` in the schema of TensorFlow Lite.
    """
    bits = ELEMENT_BITS.get(tensor.type, 0)
    if bits % 8 or not bits or tensor.data is None:
        raise UnsupportedError(
            f"is {tensor.described} in a sparse format", hint="convert without sparsity"
        )
    sizes = _level_sizes(tensor, sparsity)
    order = sparsity.integers("traversal_order")
    count, level_indices = 1, [np.zeros(1, np.int64) for _ in order]
    total = math.prod(tensor.shape)
    for level, (axis, record) in enumerate(zip(order, sparsity.records("dimensions"), strict=True)):
        parents, indices = _children(record, sizes[axis], count, total)
        level_indices = (
            [p[parents] for p in level_indices[:level]] + [indices] + level_indices[level + 1 :]
        )
        count = len(indices)
    if count * (bits // 8) != len(tensor.data):
        raise MalformedError(
            f"is {tensor.described} with {count} elements that are not 0, "
            f"but buffer {tensor.buffer} has {len(tensor.data)} bytes"
        )
    rank, blocks = len(tensor.shape), sparsity.integers("block_map")
    indices_of = dict(zip(order, level_indices, strict=True))
    for number, axis in enumerate(blocks):
        inner = rank + number
        indices_of[axis] = indices_of[axis] * sizes[inner] + indices_of[inner]
    dense = np.zeros((*tensor.shape, bits // 8), np.uint8)
    dense[tuple(indices_of[axis] for axis in range(rank))] = tensor.data.reshape(count, -1)
    return dense.reshape(-1)


def _level_sizes(tensor: Tensor, sparsity: Record) -> list[int]:
    """Return the number of indices of each axis, and of each axis of blocks after them."""
    order, blocks = sparsity.integers("traversal_order"), sparsity.integers("block_map")
    records, rank = sparsity.records("dimensions"), len(tensor.shape)
    levels = rank + len(blocks)
    sound = sorted(order) == list(range(levels)) and len(records) == levels
    sound = sound and len(set(blocks)) == len(blocks) and all(0 <= axis < rank for axis in blocks)
    sizes = list(tensor.shape)
    for number, axis in enumerate(blocks if sound else ()):
        size = records[order.index(rank + number)].integer("dense_size")
        sound = sound and size > 0 and sizes[axis] % size == 0
        sizes[axis] //= max(size, 1)
        sizes.append(size)
    if not sound:
        raise MalformedError(
            f"is {tensor.described}, which its {len(records)} sparse dimensions do not fit"
        )
    return sizes


def _children(record: Record, size: int, parents: int, total: int) -> tuple[Integers, Integers]:
    """Return the parent and the index of each node of a level.

    Args:
        record: Record of the level in the file.
        size: Number of indices of its axis.
        parents: Number of nodes of the level above.
        total: Number of elements of the tensor, which no level has more nodes than.
    """
    if not record.integer("format"):
        if record.integer("dense_size") != size or parents * size > total:
            raise MalformedError(
                f"has a dense dimension of {record.integer('dense_size')}, expected {size}, "
                f"for {parents} parts"
            )
        return np.repeat(np.arange(parents), size), np.tile(np.arange(size), parents)
    segments, indices = (_numbers(record.record(n)) for n in ("segments", "indices"))
    counts = np.diff(segments)
    sound = len(segments) == parents + 1 and segments[0] == 0 and (counts >= 0).all()
    if not sound or segments[-1] != len(indices) or len(indices) > total:
        raise MalformedError(
            f"has sparse indices that do not fit the {parents} parts of the dimension before"
        )
    if len(indices) and not 0 <= indices.min() <= indices.max() < size:
        raise MalformedError(f"has a sparse index that is not in 0 to {size - 1}")
    return np.repeat(np.arange(parents), counts), indices


def _numbers(record: Record | None) -> npt.NDArray[Any]:
    return np.empty(0, np.int64) if record is None else record.array("values").astype(np.int64)
