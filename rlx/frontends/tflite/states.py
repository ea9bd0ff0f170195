"""Variables of a TFLite file as states of the graph.

Tests: tests/unit/frontends/tflite/test_variables.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.tensors import input_type, is_near, quant_of
from rlx.frontends.tflite.schema import TensorType
from rlx.frontends.tflite.signed import UINT8_OFFSET
from rlx.ir import Origin
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QRequantize
from rlx.support.text.names import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.tflite.file import Variable
    from rlx.frontends.tflite.ops.call import Scope
    from rlx.ir import Value


def add_states(scope: Scope, names: Sequence[str]) -> None:
    """Append a state for each variable that keeps something from run to run."""
    for variable, name in zip(scope.model.states, names, strict=True):
        tensor = scope.model.tensors[variable.tensor]
        origin = Origin(scope.model.source, f"variable {name}")
        scope.values[tensor.index] = scope.graph.state(
            name, input_type(tensor), initial=_initial(scope, variable), origin=origin
        )


def _initial(scope: Scope, variable: Variable) -> int:
    """Return every element of a variable before the first run.

    TensorFlow Lite Micro fills variables that nothing sets with their zero point.
    """
    tensor = scope.model.tensors[variable.tensor]
    if variable.initial is None:
        return quant_of(tensor).zero_point if tensor.type is TensorType.INT8 else 0
    return variable.initial - (UINT8_OFFSET if tensor.index in scope.from_uint8 else 0)


def next_values(scope: Scope) -> list[Value]:
    """Return the value that each variable keeps for the next run, in the type of its state."""
    return [_next_value(scope, variable) for variable in scope.model.states]


def _next_value(scope: Scope, variable: Variable) -> Value:
    tensor = scope.tensors[variable.following]
    if tensor.index in scope.following:
        return scope.following[tensor.index]
    if tensor.index in scope.known:
        value = scope.constant(tensor, scope.known[tensor.index])
    else:
        value = scope.value(tensor.index)
    state = scope.values[variable.tensor]
    if value.type == state.type:
        return value
    same = value.type.with_quant(None) == state.type.with_quant(None)
    if not same or state.type.quant is None or not is_near(value.type.quant, state.type.quant):
        error = UnsupportedError(
            f"the variable is read as {state.type}, but {tensor.label}, which is assigned, is "
            f"{value.type}",
            hint="use one scale and zero point for a variable: quantize the model again",
        )
        raise error.inside(f"variable '{shorten(variable.name)}'")
    (point,) = state.type.quant.zero_point
    op = QRequantize(x_zero_point=point, rescale=Rescale.of(1.0), zero_point=point)
    return scope.graph.apply(op, value, quant=state.type.quant, origin=state.node.origin)
