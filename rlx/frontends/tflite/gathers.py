"""Functions of one int8 value that a file computes by ``CAST``, ``ADD`` and ``GATHER``.

TFLite has no operator for a table of 256 values. ``rlx export`` writes one as the value as int32,
128 added, as the index into a constant. Here the three operators become one again: a ``GATHER``
whose indices are the int8 values.

Tests: tests/unit/frontends/tflite/ops/test_table.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx.frontends.tflite.schema import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.frontends.tflite.file import Model, Operator

TABLE_SIZE: Final = 256
"""Values of a table: one for each int8 value, that of -128 first."""

_OFFSET: Final = 128
"""Difference between an index and its int8 value: the table begins with that of -128."""


def joined(model: Model) -> Model:
    """Return a model whose tables are one operator each; the model itself if it has none."""
    tables = {gather.index: (gather, apart) for gather, *apart in _tables(model)}
    if not tables:
        return model
    left_out = {operator.index for _, apart in tables.values() for operator in apart}
    operators = (
        _joined(*tables[one.index]) if one.index in tables else one
        for one in model.operators
        if one.index not in left_out
    )
    return replace(model, operators=tuple(operators))


def _joined(gather: Operator, apart: list[Operator]) -> Operator:
    """Return a ``GATHER`` that reads the operand of the ``CAST``."""
    return replace(gather, inputs=(gather.inputs[0], apart[0].inputs[0]))


def _tables(model: Model) -> Iterator[tuple[Operator, Operator, Operator]]:
    """Yield each ``GATHER`` of a table with the ``CAST`` and ``ADD`` that only it reads."""
    makers = {index: operator for operator in model.operators for index in operator.outputs}
    readers: dict[int, int] = {}
    for operator in model.operators:
        for index in operator.inputs:
            readers[index] = readers.get(index, 0) + 1
    for gather in model.operators:
        if gather.name != "GATHER" or len(gather.inputs) != 2:
            continue
        add = makers.get(gather.inputs[1])
        if add is None or add.name != "ADD" or not _adds_offset(model, add):
            continue
        cast = makers.get(add.inputs[0])
        if cast is None or cast.name != "CAST" or len(cast.inputs) != 1:
            continue
        single = all(
            readers.get(operator.outputs[0]) == 1 and operator.outputs[0] not in model.outputs
            for operator in (cast, add)
        )
        table, source = (model.tensors[i] for i in (gather.inputs[0], cast.inputs[0]))
        if single and table.shape == (TABLE_SIZE,) and source.type is TensorType.INT8:
            yield gather, cast, add


def _adds_offset(model: Model, add: Operator) -> bool:
    """Return whether an ``ADD`` of int32 adds 128, and nothing else, to its first input."""
    if len(add.inputs) != 2 or add.options["activation"]:
        return False
    constant = model.tensors[add.inputs[1]]
    if constant.data is None or constant.type is not TensorType.INT32:
        return False
    return constant.array().reshape(-1).tolist() == [_OFFSET]
