"""Attention of float32: scores of a tile of queries at a time, then their softmax and the sums.

Keys are packed in panels in each run. One query is multiplied by the keys in place, and blocks of
keys that a mask excludes are skipped.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedAttention
from rlx.ops.fused.attention import ScoreStepKind
from rlx_c.layer import Kernel
from rlx_c.nest import broadcast_strides, nest
from rlx_host.kernels.expressions import float_literal
from rlx_host.kernels.tiling import max_rows, panels, row_sections, tiles
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ops.fused.attention import AttentionForm
    from rlx_c.nest import StridedLoop
    from rlx_host.instruction_set import InstructionSet


def attention(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of an attention."""
    assert isinstance(node.op, FusedAttention)
    form: AttentionForm = node.op.form
    masks = tuple(s.operand for s in form.steps if s.operand is not None)
    floats = (form.q, form.k, form.v, *(_added(form)))
    if any(node.operands[i].type.dtype is not DType.F32 for i in floats):
        return Refusal("its operands are not f32")
    q, k, v = (node.operands[i].type.static_shape for i in (form.q, form.k, form.v))
    queries, depth, keys, width = q[-2], q[-1], v[-2], v[-1]
    if min(len(q), len(k), len(v)) < 2:
        return Refusal("an operand is a vector")
    lanes = instructions.lanes
    score_panels, value_panels = panels(keys, lanes), panels(width, lanes)
    sections = row_sections(queries, max_rows(instructions))
    single = queries == 1 and form.transposed
    batch = tuple(np.broadcast_shapes(q[:-2], k[:-2], v[:-2]))
    scores = (*np.broadcast_shapes(q[:-2], k[:-2]), queries, keys)
    mask_shapes = [node.operands[i].type.static_shape for i in masks]
    if any(len(m) > len(batch) + 2 for m in mask_shapes):
        return Refusal("a mask has more axes than the scores")
    loops = _loops(batch, (q, k, v, *mask_shapes))
    cost = math.prod(batch) * queries * keys * (depth + width + 16) // lanes
    split = Split.of(loops[0].extent, cost) if loops else None
    constants: dict[str, Any] = {
        "split": split is not None,
        "queries": queries,
        "depth": depth,
        "keys": keys,
        "width": width,
        "loops": loops,
        "masks": tuple(_mask(m, scores[-2:]) for m in mask_shapes),
        "scale": float_literal(form.scale),
        "steps": _steps(form),
        "transposed": form.transposed,
        "single": single,
        "sections": sections,
        "score_panels": score_panels,
        "value_panels": value_panels,
    }
    names = tiles(sections, value_panels)
    names += () if single else tiles(sections, score_panels)
    kernel = Kernel.of("attention", "attention/kernel", constants, ("floats", "softmax", *names))
    padded_keys = -(-keys // (2 * lanes)) * 2 * lanes
    scratch = sections[0][2] * padded_keys + (0 if single else depth * padded_keys)
    scratch += keys * 2 * lanes if width % (2 * lanes) else 0
    return NativeLayer(kernel, (form.q, form.k, form.v, *masks), (), 4 * scratch, split=split)


def _added(form: AttentionForm) -> tuple[int, ...]:
    """Return the operands that are added to the scores."""
    adds = [s.operand for s in form.steps if s.kind is ScoreStepKind.ADD]
    return tuple(i for i in adds if i is not None)


def _loops(batch: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[StridedLoop, ...]:
    """Return the loops over leading axes, with strides of each operand."""
    strides = []
    for shape in shapes:
        leading, inner = shape[:-2], math.prod(shape[-2:])
        strides.append([s * inner for s in broadcast_strides(leading, batch)])
    return nest(batch, *strides)


def _mask(shape: tuple[int, ...], scores: tuple[int, int]) -> tuple[int, int]:
    """Return the strides of a mask over queries and keys."""
    row, column = broadcast_strides(shape[-2:], scores)
    return row, column


def _steps(form: AttentionForm) -> tuple[tuple[str, int, str], ...]:
    """Return kind, number of the mask (-1 for none) and number of each step on the scores."""
    found = []
    mask = -1
    for step in form.steps:
        mask += step.operand is not None
        index = mask if step.operand is not None else -1
        found.append((step.kind.value, index, float_literal(step.number)))
    return tuple(found)
