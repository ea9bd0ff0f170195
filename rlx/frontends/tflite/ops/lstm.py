"""LSTM layers, a step after the other.

Hidden and cell state are variable tensors of the file, which become states of the graph.

Tests: tests/unit/frontends/tflite/ops/test_recurrent.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rlx.frontends.quantization import check_accumulator, rescale_of
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer
from rlx.frontends.tflite.ops.parts import bias_array, weights
from rlx.frontends.tflite.ops.recurrent import state_tensor
from rlx.frontends.tflite.ops.tensors import is_near, nonzero, quant_of, require_type
from rlx.frontends.tflite.schema import Activation, TensorType
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import LSTM_POWERS, QConcat, QLstmCell, QLstmOutput, QReshape, QSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value
    from rlx.ops.numerics.fixed_point import Rescale

MAX_STEPS: Final = 64
"""Steps of a layer that are unrolled: each is two nodes with the same weights, and moves."""

_INPUT_WEIGHTS, _RECURRENT_WEIGHTS, _BIASES = 1, 5, 12
"""Indices of the first of four inputs, for the gates i, f, g and o."""
_HIDDEN, _CELL = 18, 19
_ABSENT = (*range(9, 12), 16, 17, *range(20, 24))
"""Inputs of peepholes, projection and layer normalization."""

_ARGUMENT: Final = 2.0**-12
_GATE: Final = 2.0**-15
"""Units of the arguments of gates and of their results."""


@importer("UNIDIRECTIONAL_SEQUENCE_LSTM")
def import_lstm(call: Call) -> None:
    """``UNIDIRECTIONAL_SEQUENCE_LSTM`` of 64 steps at most, whose cell state is int16."""
    call.arity(20, 24)
    _check_form(call)
    hidden, cell = _states(call)
    layer = _Layer.of(call, hidden, cell)
    h, c = (call.scope.value(tensor.index) for tensor in (hidden, cell))
    outputs = []
    for x in _steps(call):
        h, c = layer.step(x, h, c)
        outputs.append(h)
    call.scope.following.update({hidden.index: h, cell.index: c})
    _join(call, outputs)


def _check_form(call: Call) -> None:
    """Refuse forms of the layer that the reference has not either, and long sequences."""
    for index in _ABSENT:
        if call.optional(index) is not None:
            raise UnsupportedError(
                f"has input {index}, expected no peephole, projection or layer normalization",
                hint="train the layer without them",
            )
    if Activation(call.options["activation"]) is not Activation.TANH:
        raise UnsupportedError("has another activation than tanh", hint="use activation='tanh'")
    image = call.input(0)
    require_type(image, TensorType.INT8)
    if len(image.shape) != 3:
        raise MalformedError(f"{image.label} is {image.described}, expected 3 dimensions")
    steps = image.shape[_time_axis(call)]
    if steps > MAX_STEPS:
        raise UnsupportedError(
            f"has {steps} steps, expected at most {MAX_STEPS}",
            hint="run the layer on shorter parts of the sequence; its state is kept between runs",
        )


def _time_axis(call: Call) -> int:
    return 0 if call.options["time_major"] else 1


def _states(call: Call) -> tuple[Tensor, Tensor]:
    """Return the tensors of hidden and cell state."""
    hidden = state_tensor(call, _HIDDEN, TensorType.INT8)
    cell = state_tensor(call, _CELL, TensorType.INT16)
    image = call.input(0)
    batch = image.shape[1 - _time_axis(call)]
    if len(cell.shape) != 2 or cell.shape[0] != batch or hidden.shape != cell.shape:
        raise MalformedError(
            f"{hidden.label} is {hidden.described} and {cell.label} is {cell.described}, expected "
            f"one shape with {batch} rows"
        )
    call.makes((*image.shape[:2], cell.shape[1]))
    if not is_near(quant_of(hidden).params, call.result_quant.params):
        raise UnsupportedError(
            f"{hidden.label} and {call.output.label} differ in scale or zero point",
            hint="convert the model again; the output of a layer is its hidden state",
        )
    return hidden, cell


def _steps(call: Call) -> list[Value]:
    """Return the input of each step, [B, K]."""
    x, axis = call.value(0), _time_axis(call)
    shape = x.type.static_shape
    row = QReshape(shape=(shape[1 - axis], shape[2]))
    if shape[axis] == 1:
        return [call.emit(row, x)]
    steps = []
    for step in range(shape[axis]):
        start, stop = [0, 0, 0], [*shape]
        start[axis], stop[axis] = step, step + 1
        part = QSlice(start=tuple(start), stop=tuple(stop), step=(1, 1, 1))
        steps.append(call.emit(row, call.emit(part, x)))
    return steps


def _join(call: Call, outputs: Sequence[Value]) -> None:
    """Append the ops that make the output of the hidden states of all steps."""
    axis, (batch, units) = _time_axis(call), outputs[0].type.static_shape
    row = QReshape(shape=(1, batch, units) if axis == 0 else (batch, 1, units))
    if len(outputs) == 1:
        call.finish(row, outputs[0])
        return
    rows = [call.emit(row, h) for h in outputs]
    call.finish(QConcat(axis=axis), *rows)


class _Gates(NamedTuple):
    """Constants and scalings of gates that one op computes."""

    operands: tuple[Value, Value, Value]
    input_rescale: Rescale
    recurrent_rescale: Rescale


@dataclass(frozen=True)
class _Layer:
    """The two ops of a step, and their constants.

    Attributes:
        call: The operator.
        cell: Op of the cell state.
        cell_operands: Its weights and biases.
        output: Op of the hidden state.
        output_operands: Its weights and biases.
    """

    call: Call
    cell: QLstmCell
    cell_operands: tuple[Value, Value, Value]
    output: QLstmOutput
    output_operands: tuple[Value, Value, Value]

    @staticmethod
    def of(call: Call, hidden: Tensor, cell: Tensor) -> _Layer:
        """Read the constants of the operator."""
        x, h, scale = call.quant(0), quant_of(hidden), quant_of(cell).real
        power = round(math.log2(scale))
        low, high = LSTM_POWERS
        if not low <= power <= high:
            raise UnsupportedError(
                f"{cell.label} has the scale {scale}, expected 2^{low} to 2^{high}",
                hint="quantize the model again; a scale is out of proportion",
            )
        inner, outer = _gates(call, (0, 1, 2)), _gates(call, (3,))
        points = {"x_zero_point": x.zero_point, "h_zero_point": h.zero_point}
        cell_op = QLstmCell(
            **points,
            input_rescale=inner.input_rescale,
            recurrent_rescale=inner.recurrent_rescale,
            forget_rescale=rescale_of(_GATE),
            update_rescale=rescale_of(_GATE * _GATE / scale),
            clip=_clip(call, scale),
        )
        output_op = QLstmOutput(
            **points,
            input_rescale=outer.input_rescale,
            recurrent_rescale=outer.recurrent_rescale,
            power=power,
            rescale=rescale_of(_GATE * _GATE / h.real),
        )
        return _Layer(call, cell_op, inner.operands, output_op, outer.operands)

    def step(self, x: Value, h: Value, c: Value) -> tuple[Value, Value]:
        """Append a step; return hidden and cell state after it."""
        following = self.call.emit(self.cell, x, h, c, *self.cell_operands, quant=c.type.quant)
        operands = following, *self.output_operands
        return self.call.emit(self.output, x, h, *operands, quant=h.type.quant), following


def _clip(call: Call, scale: float) -> int:
    """Return the bound on the cell state; 2^15, which is none, without one."""
    bound = call.options["cell_clip"]
    if not bound > 0:
        return 1 << 15
    return int(min(float(np.float32(bound)) / scale, 32767))


def _gates(call: Call, gates: tuple[int, ...]) -> _Gates:
    """Return the constants of some of the gates i, f, g and o, joined, and their scalings."""
    x, h, units = call.quant(0), quant_of(call.input(_HIDDEN)), call.input(_CELL).shape[1]
    of_input = [_weights(call, _INPUT_WEIGHTS + k, call.input(0).shape[2], units) for k in gates]
    of_state = [_weights(call, _RECURRENT_WEIGHTS + k, units, units) for k in gates]
    biases = np.concatenate([_bias(call, _BIASES + k, units) for k in gates])
    w, r = (np.concatenate([nonzero(t) for t in tensors]) for tensors in (of_input, of_state))
    check_accumulator(magnitudes(w), biases, x.zero_point)
    check_accumulator(magnitudes(r), np.zeros(len(r), np.int32), h.zero_point)
    graph, origin = call.scope.graph, call.origin
    input_factors = (x.real * quant_of(t).real / _ARGUMENT for t in of_input)
    recurrent_factors = (h.real * quant_of(t).real / _ARGUMENT for t in of_state)
    operands = tuple(graph.constant(array, origin=origin) for array in (w, r, biases))
    first, second, third = operands
    return _Gates(
        (first, second, third), rescale_of(*input_factors), rescale_of(*recurrent_factors)
    )


def _weights(call: Call, index: int, inputs: int, units: int) -> Tensor:
    """Return the int8 weights of a gate."""
    if call.optional(index) is None:
        raise UnsupportedError(
            f"input {index} is absent, expected weights of all four gates",
            hint="train the layer with an input gate of its own",
        )
    tensor = weights(call, index, rank=2, axis=0)
    if tensor.type is not TensorType.INT8 or tensor.shape != (units, inputs):
        raise MalformedError(f"{tensor.label} is {tensor.described}, expected {[units, inputs]}")
    return tensor


def _bias(call: Call, index: int, units: int) -> npt.NDArray[np.int32]:
    """Return the bias of a gate."""
    if call.optional(index) is None:
        raise UnsupportedError(
            f"input {index} is absent, expected a bias for each gate",
            hint="train the layer with biases",
        )
    return bias_array(call, index, units).astype(np.int32, copy=False)
