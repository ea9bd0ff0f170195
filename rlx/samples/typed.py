"""Arrays in the element types of a network's inputs.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir.inspect import printable
from rlx.ops.numbers import quantized
from rlx.samples.classes import KEYS
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Graph, Value

    Numbers = npt.NDArray[Any]


def as_inputs(
    inputs: Sequence[Value], arrays: Mapping[str, Numbers]
) -> tuple[dict[str, Numbers], list[str]]:
    """Quantize floats for quantized inputs; return all arrays, and a description of the conversion.

    Args:
        inputs: The network's inputs.
        arrays: By name: each input's own, or ``x`` where there is one input.

    Raises:
        UsageError: A value is NaN or infinite.
    """
    converted, notes = dict(arrays), []
    for value in inputs:
        name = value.name if value.name in arrays or len(inputs) != 1 else "x"
        array, quant = arrays.get(name), value.type.quant
        if array is None or array.dtype.kind != "f":
            continue
        where = f"samples, input {printable(value.name)!r}"
        if not np.isfinite(array).all():
            raise UsageError("hold NaN or infinite numbers", where=where, hint="leave them out")
        if value.type.dtype.is_float:
            converted[name] = array.astype(value.type.dtype.numpy)
        elif quant is not None and quant.axis is None:
            converted[name] = quantized(array, value.type)
            notes.append(
                f"input {printable(value.name)!r}: floats were quantized with its scale"
                f" {quant.scale[0]:.6g} and zero point {quant.zero_point[0]}"
            )
    return converted, notes


def labels_in(graph: Graph, arrays: Mapping[str, Numbers]) -> tuple[str, Numbers] | None:
    """Return the classes that came with samples, and their name; None if there are none.

    An array ``y`` that does not have one value for each sample holds expected outputs.
    """
    inputs = {value.name for value in graph.run_inputs}
    counts = {len(array) for name, array in arrays.items() if name not in KEYS and array.ndim}
    for name in KEYS:
        array = arrays.get(name)
        if array is None or name in inputs or array.dtype.kind not in "iub":
            continue
        if name != "y" or (counts == {array.size} and graph.outputs[0].type.size > 1):
            return name, array
    return None


def vectors_for(
    graph: Graph, arrays: Mapping[str, Numbers]
) -> tuple[dict[str, Numbers], list[str]]:
    """Return samples as golden vectors: quantized, without classes; and describe the conversion.

    Raises:
        UsageError: A value is NaN or infinite.
    """
    converted, notes = as_inputs(graph.run_inputs, arrays)
    labels = labels_in(graph, arrays)
    if labels is not None:
        del converted[labels[0]]
    return converted, notes
