"""Standard operators on quantized values: the standard's arithmetic on their integers.

Where an operator only picks or bounds values, it does the same on the real values, so that the
result keeps its meaning; other operators see plain integers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.frontends.onnx.file import DOMAIN
from rlx.frontends.onnx.ops.quantize import with_meaning
from rlx.frontends.onnx.ops.scope import Real
from rlx.ir import DType
from rlx.ops.nn import NnQuantized
from rlx.ops.quantized_values import plain_integers
from rlx.ops.real import RealDequantize, RealQuantize, Ties

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.registry import Importer
    from rlx.frontends.onnx.ops.scope import Results
    from rlx.ir import QuantParams

_PICK: Final[Mapping[str, tuple[int, ...] | None]] = {
    "Clip": (0, 1, 2), "Max": None, "MaxPool": (0,), "GlobalMaxPool": (0,), "Min": None,
    "Pad": (0, 2), "ReduceMax": (0,), "ReduceMin": (0,), "Relu": (0, 1), "Resize": (0,),
    "Upsample": (0,), "Where": (1, 2),
}  # fmt: skip
"""Operators whose results are some of the values of these inputs (None: of all of them)."""

_KEEP: Final = frozenset((
    "DepthToSpace", "DequantizeLinear", "Expand", "Flatten", "Gather", "Identity",
    "QLinearConv", "QLinearMatMul", "Reshape", "Shape", "Size", "Slice", "SpaceToDepth", "Split",
    "Squeeze", "Tile", "Transpose", "Unsqueeze", "Dropout", "ReverseSequence", "GatherElements",
    "GatherND",
))  # fmt: skip
"""Operators whose importers accept quantized values."""


def on_quantized(call: Call, importer: Importer) -> Results:
    """Return the results of an importer for a node of which some inputs may be quantized."""
    _note_bounds(call)
    quantized = [v for v in _values(call).values() if v.type.quant is not None]
    if not quantized or call.node.domain != DOMAIN or _keeps(call, quantized):
        return importer(call)
    if _picks(call) and len({(v.type.quant, v.dtype) for v in quantized}) == 1:
        (first, *_) = quantized
        if first.type.quant is not None and _same_places(call, first):
            return _pick_values(call, importer, first.type.quant, first.dtype)
    return importer(seen_as(call, {n: plain_integers(v) for n, v in _values(call).items()}))


def _picks(call: Call) -> bool:
    """Return whether the results of a node are some of its operands' values."""
    between = call.node.type in ("Resize", "Upsample") and call.text("mode") != "nearest"
    return call.node.type in _PICK and not between


def _keeps(call: Call, quantized: Sequence[Real]) -> bool:
    """Return whether the importer accepts quantized values."""
    operator = call.node.type
    if operator == "Concat":
        return len({(v.type.quant, v.dtype) for v in _values(call).values()}) == 1
    if operator == "Pad":
        return call.text("mode") not in ("constant", "")
    return operator in _KEEP


def _values(call: Call) -> dict[str, Real]:
    """Return the inputs that are values of the graph, by name."""
    places = [i for i in range(call.count) if call.has(i) and call.texts(i) is None]
    found = {call.node.inputs[i]: call.operand(i) for i in places}
    return {name: value for name, value in found.items() if isinstance(value, Real)}


def _same_places(call: Call, first: Real) -> bool:
    """Return whether all values have one scale, or scales of an axis that stays unchanged."""
    quant = first.type.quant
    return quant is not None and (quant.axis is None or call.node.type in ("Clip", "Relu"))


def seen_as(call: Call, values: Mapping[str, Real | npt.NDArray[Any]]) -> Call:
    """Return the node with other values for some names."""
    names = [(i, n) for i, n in enumerate(call.node.inputs) if n]
    seen = {n: values[n] if n in values else call.operand(i) for i, n in names}
    return replace(call, scope=replace(call.scope, values=seen))


def _pick_values(call: Call, importer: Importer, quant: QuantParams, dtype: DType) -> Results:
    """Return an operator that picks values: of constants computed at once, else of real values."""
    call = _with_zero(call, dtype)
    input_indices = _PICK[call.node.type] or range(call.count)
    operands = {call.node.inputs[i]: call.operand(i) for i in input_indices if call.has(i)}
    arrays = [v.array if isinstance(v, Real) else v for v in operands.values()]
    if all(a is not None for a in arrays):
        plain = {n: plain_integers(v) for n, v in operands.items() if isinstance(v, Real)}
        return [with_meaning(call, r, quant) if isinstance(r, Real) and r.dtype is dtype else r
                for r in _result_list(importer(seen_as(call, plain)))]  # fmt: skip
    numbers = {n: _number(v, quant) for n, v in operands.items()}
    if call.node.type == "Relu":
        importer = _relu
    op = RealQuantize(quant=quant, dtype=dtype, ties=_ties(operands.values()))
    return [r.apply(op) if isinstance(r, Real) and r.dtype is DType.F32 else r
            for r in _result_list(importer(seen_as(call, numbers)))]  # fmt: skip


def _ties(values: Iterable[Real | npt.NDArray[Any]]) -> Ties:
    """Return the rounding of ties that values state; those picked of them state the same."""
    for node in (v.value.node for v in values if isinstance(v, Real)):
        if isinstance(node.op, RealQuantize):
            return node.op.ties
        if isinstance(node.op, NnQuantized):
            return node.op.ties(*node.operands)
    return Ties.EVEN


def _note_bounds(call: Call) -> None:
    """Note the bounds of constants after a ``Clip``: they have fewer bits than their type."""
    given = call.node.type == "Clip" and call.version >= 12 and call.has(1) and call.has(2)
    if given and call.type(0).dtype is DType.I8 and call.known(0) is not None:
        low, high = (int(call.array(i).reshape(-1)[0]) for i in (1, 2))
        call.scope.bounds[call.node.outputs[0]] = low, high


def _with_zero(call: Call, dtype: DType) -> Call:
    """Return a node with the 0 that it brings itself as an input: an integer, not a real value."""
    if not (call.node.type == "Relu" or (call.node.type == "Pad" and not call.has(2))):
        return call
    name = f"{call.node.inputs[0]} 0"
    node = replace(call.node, inputs=(*call.node.inputs[:2], name, *call.node.inputs[3:]))
    return seen_as(replace(call, node=node), {name: np.zeros((), dtype.numpy)})


def _relu(call: Call) -> Real:
    return call.value(0).clamp(float(call.array(1)), None)


def _result_list(results: Results) -> Sequence[Any]:
    return results if isinstance(results, list | tuple) else [results]


def _number(value: Real | npt.NDArray[Any], quant: QuantParams) -> Real | npt.NDArray[Any]:
    """Return the numbers of quantized values; known elements are computed at once."""
    op = RealDequantize(quant=quant)
    known = value.array if isinstance(value, Real) else value
    if known is None:
        assert isinstance(value, Real)
        return value.apply(op)
    (numbers,) = op.evaluate(known)
    return np.asarray(numbers)
