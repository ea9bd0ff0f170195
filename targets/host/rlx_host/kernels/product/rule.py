"""Matrix products of float32, alone, with an epilogue, or as a gated pair.

Constant right factors are packed in panels; others are read in place, and what does not fit the
panels is packed in each run.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedGated, FusedMatmul
from rlx_c.layer import Kernel
from rlx_c.nest import broadcast_strides, nest
from rlx_host.kernels.epilogue import activation_lines
from rlx_host.kernels.tiling import (
    max_rows,
    pack,
    pad_to_vectors,
    panels,
    row_sections,
    tiles,
)
from rlx_host.layer import NativeLayer, Split, is_fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx.ops.fused import Activation
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import Pack


@dataclass(frozen=True, slots=True)
class _Product:
    """A product ``activation(x y + bias + addend)``.

    Attributes:
        x: Index of the left factor among the operands.
        y: Index of the right factor.
        bias: Index of the bias, None for none.
        addend: Index of the addend, None for none.
        transposed: Whether the last two axes of ``y`` are swapped.
        activation: The function at the end, None for none.
    """

    x: int
    y: int
    bias: int | None = None
    addend: int | None = None
    transposed: bool = False
    activation: Activation | None = None


def matmul(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a matrix product."""
    return _layer(node, _Product(0, 1), instructions)


def fused_matmul(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a matrix product with bias, addend and activation."""
    assert isinstance(node.op, FusedMatmul)
    form = node.op.form
    if form.transpose_x:
        return Refusal("its left factor is transposed")
    bias, addend = form.bias, form.addend
    if bias is not None and addend is None and _is_addend(node, bias):
        bias, addend = None, bias
    product = _Product(form.x, form.y, bias, addend, form.transpose_y, form.activation)
    return _layer(node, product, instructions)


def _is_addend(node: Node, bias: int) -> bool:
    """Whether a bias is computed, and that of a product of one row: then it is not packed."""
    operand = node.operands[bias]
    return not is_fixed(operand) and operand.type.size == node.results[0].type.size


def pointwise(
    node: Node,
    positions: tuple[int, int, int | None, int | None],
    weights: Sequence[int],
    written: tuple[tuple[str, ...], str],
    instructions: InstructionSet,
) -> NativeLayer:
    """Return the layer of a convolution that is a product of each position with the weights.

    Args:
        node: The node.
        positions: Indices of image, weights, bias and addend among the operands.
        weights: Shape of the weights [O, 1..., C].
        written: Statements of the activation, and its result.
        instructions: The instruction set.
    """
    x, w, bias, addend = positions
    columns, depth = weights[0], weights[-1]
    rows = node.operands[x].type.size // depth
    constants = _cuts(rows, columns, instructions) | {
        "depth": depth,
        "columns": columns,
        "rows": rows,
        "loops": (),
        "bias": bias is not None,
        "addend": addend is not None,
        "lines": written[0],
        "value": written[1],
        "form": "packed",
    }
    product = _Product(x, w, bias, addend, transposed=True)
    return _finish(product, constants, columns, depth, instructions)


def _layer(node: Node, product: _Product, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a product."""
    x, y = (node.operands[i].type for i in (product.x, product.y))
    if any(v.type.dtype is not DType.F32 for v in (*node.operands, *node.results)):
        return Refusal("its operands are not f32")
    if product.bias is not None and not is_fixed(node.operands[product.bias]):
        return Refusal("its bias is computed")
    if len(x.shape) < 2 or len(y.shape) < 2:
        return Refusal("a factor is a vector")
    written = activation_lines(product.activation)
    if isinstance(written, Refusal):
        return written
    fixed = is_fixed(node.operands[product.y]) and math.prod(y.static_shape[:-2]) == 1
    one_matrix = math.prod(y.static_shape[:-2]) == 1
    batch, rows = ((), math.prod(x.static_shape[:-1])) if one_matrix else _batch(x, y)
    depth = x.static_shape[-1]
    columns = node.results[0].type.size // (math.prod(batch) * rows)
    constants = _cuts(rows, columns, instructions) | {
        "depth": depth,
        "columns": columns,
        "rows": rows,
        "loops": _loops(batch, x.static_shape, y.static_shape, rows * depth, columns * depth),
        "bias": product.bias is not None,
        "addend": product.addend is not None,
        "lines": written[0],
        "value": written[1],
        "form": "packed" if fixed else "transposed" if product.transposed else "plain",
    }
    return _finish(product, constants, columns, depth, instructions)


def _batch(x: Any, y: Any) -> tuple[tuple[int, ...], int]:  # noqa: ANN401
    """Return the leading axes of a stack of products, and the rows of each."""
    shape = np.broadcast_shapes(x.static_shape[:-2], y.static_shape[:-2])
    return tuple(shape), x.static_shape[-2]


def _loops(
    batch: tuple[int, ...], x: Sequence[int], y: Sequence[int], x_size: int, y_size: int
) -> object:
    """Return the loops over the products of a stack."""
    if not batch:
        return ()
    x_strides = [s * x_size for s in broadcast_strides(x[:-2], batch)]
    y_strides = [s * y_size for s in broadcast_strides(y[:-2], batch)]
    return nest(batch, x_strides, y_strides)


def _cuts(rows: int, columns: int, instructions: InstructionSet) -> dict[str, Any]:
    """Return the tiles of a product."""
    cut = panels(columns, instructions.lanes)
    limit = 12 if cut[0][2] == 1 else max_rows(instructions)
    return {"sections": row_sections(rows, limit), "panels": cut}


def _finish(
    product: _Product,
    constants: dict[str, Any],
    columns: int,
    depth: int,
    instructions: InstructionSet,
) -> NativeLayer:
    """Return the layer: which operands are passed, which are packed."""
    lanes = instructions.lanes
    passed, scratch = [product.x], 0
    tables: list[Pack] = []
    if constants["form"] == "packed":
        shape = (columns, depth) if product.transposed else (depth, columns)
        tables.append(partial(_pack_weights, product.y, shape, product.transposed, lanes))
    else:
        passed.append(product.y)
        packed = columns if constants["form"] == "transposed" else columns % (2 * lanes)
        scratch = 4 * depth * -(-packed // (2 * lanes)) * 2 * lanes
    if product.addend is not None:
        passed.append(product.addend)
    if product.bias is not None:
        tables.append(_bias_table(product.bias, lanes))
    split = _split(constants, lanes)
    names = tiles(constants["sections"], constants["panels"])
    kernel = Kernel.of("product", "product/kernel", constants, ("floats", *names))
    return NativeLayer(kernel, tuple(passed), tuple(tables), scratch, split=split)


def _split(constants: dict[str, Any], lanes: int) -> Split | None:
    """Return the split of a product, and add its units to the constants."""
    sections, loops = constants["sections"], constants["loops"]
    counts = [(bottom - top) // height for top, bottom, height in sections]
    panel_count = -(-constants["columns"] // (2 * lanes))
    if loops:
        unit, units = "stack", loops[0].extent
    elif constants["form"] == "packed" and sum(counts) > panel_count:
        unit, units = "tile", sum(counts)
    else:
        unit, units = "panel", panel_count
    stack = math.prod(loop.extent for loop in loops)
    products = stack * constants["rows"] * constants["columns"] * constants["depth"]
    split = Split.of(units, products // lanes)
    constants |= {
        "unit": unit,
        "units": units,
        "tops": tuple(sum(counts[:i]) for i in range(len(counts))),
        "split": split is not None,
    }
    return split


def _pack_weights(
    index: int, shape: tuple[int, int], transposed: bool, lanes: int, values: Sequence[Array]
) -> Array:
    matrix = values[index].reshape(shape)
    return pack(matrix.T if transposed else matrix, lanes)


def _bias_table(index: int, lanes: int) -> Pack:
    return lambda values: pad_to_vectors(values[index], lanes)


def gated(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a gated pair: a panel has a vector of each half."""
    assert isinstance(node.op, FusedGated)
    form, lanes = node.op.form, instructions.lanes
    if any(v.type.dtype is not DType.F32 for v in (*node.operands, *node.results)):
        return Refusal("its operands are not f32")
    fixed = [form.w, *([] if form.bias is None else [form.bias])]
    if form.transpose_x or not all(is_fixed(node.operands[i]) for i in fixed):
        return Refusal("its left factor is transposed, or its weights are computed")
    x, w = (node.operands[i].type.static_shape for i in (form.x, form.w))
    if math.prod(w[:-2]) != 1:
        return Refusal("its weights are a stack of matrices")
    written = activation_lines(form.activation)
    if isinstance(written, Refusal):
        return written
    rows = math.prod(x[:-1])
    sections = row_sections(rows, max_rows(instructions))
    units = -(-form.width // lanes)
    split = Split.of(units, 2 * rows * form.width * x[-1] // lanes)
    constants = {
        "rows": rows,
        "depth": x[-1],
        "columns": form.width,
        "sections": sections,
        "bias": form.bias is not None,
        "gate": 0 if form.gate_first else 1,
        "lines": written[0],
        "value": written[1],
        "split": split is not None,
        "units": units,
    }
    support = ("floats", *(f"tile_{height}_2" for *_, height in sections))
    tables: list[Pack] = [partial(_pack_gated, form.w, x[-1], form.transpose_w, lanes)]
    if form.bias is not None:
        tables.append(partial(_pack_gated, form.bias, 1, False, lanes))
    kernel = Kernel.of("gated", "product/gated", constants, support)
    return NativeLayer(kernel, (form.x,), tuple(tables), split=split)


def _pack_gated(
    index: int, depth: int, transposed: bool, lanes: int, values: Sequence[Array]
) -> Array:
    """Return the columns of both halves in turns of a vector each, packed."""
    columns = values[index].size // depth
    matrix = values[index].reshape((columns, depth) if transposed else (depth, columns))
    matrix = matrix.T if transposed else matrix
    width = columns // 2
    whole = -(-width // lanes) * lanes
    padded = np.zeros((depth, 2, whole), np.float32)
    padded[:, :, :width] = matrix.reshape(depth, 2, width)
    turns = padded.reshape(depth, 2, whole // lanes, lanes).transpose(0, 2, 1, 3)
    return pack(turns.reshape(depth, 2 * whole), lanes)
