"""Recurrent layers: one or two directions, in either layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import Dim
from rlx.ops.nn import CellActivation, CellFunction, NnGru, NnLstm, NnRecurrent, NnRnn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_DIRECTIONS: Final = {
    "forward": (False,), "reverse": (True,), "bidirectional": (False, True),
}  # fmt: skip


class _Function(NamedTuple):
    """Function of a cell, and the defaults of its parameters.

    Attributes:
        function: The function.
        alpha: Default of its first parameter; None if it has none.
        beta: Default of its second parameter; None if it has none.
        explicit: Whether the parameters must be given: the standard names no default, or ONNX
            Runtime takes another one.
    """

    function: CellFunction
    alpha: float | None = None
    beta: float | None = None
    explicit: bool = False


_FUNCTIONS: Final = {
    "Affine": _Function(CellFunction.AFFINE, 1.0, 0.0, explicit=True),
    "Elu": _Function(CellFunction.ELU, 1.0),
    "HardSigmoid": _Function(CellFunction.HARD_SIGMOID, 0.2, 0.5),
    "LeakyRelu": _Function(CellFunction.LEAKY_RELU, 0.01),
    "Relu": _Function(CellFunction.RELU),
    "ScaledTanh": _Function(CellFunction.SCALED_TANH, 1.0, 1.0, explicit=True),
    "Sigmoid": _Function(CellFunction.SIGMOID),
    "Softplus": _Function(CellFunction.SOFTPLUS),
    "Softsign": _Function(CellFunction.SOFTSIGN),
    "Tanh": _Function(CellFunction.TANH),
    "ThresholdedRelu": _Function(CellFunction.THRESHOLDED_RELU, 1.0, explicit=True),
}
"""Functions by name."""


@importer("RNN")
def import_rnn(call: Call) -> Sequence[Real | None]:
    """``RNN``."""
    return _Layer(call, 1).results(
        [
            NnRnn(activation=activation, clip=_clip(call), reverse=reverse)
            for reverse, (activation,) in _directions(call, "Tanh")
        ]
    )


@importer("GRU")
def import_gru(call: Call) -> Sequence[Real | None]:
    """``GRU``."""
    reset_after = bool(call.integer("linear_before_reset", 0))
    return _Layer(call, 3).results(
        [
            NnGru(
                gate_activation=gate, candidate_activation=candidate, clip=_clip(call),
                reset_after=reset_after, reverse=reverse,
            )
            for reverse, (gate, candidate) in _directions(call, "Sigmoid", "Tanh")
        ]
    )  # fmt: skip


@importer("LSTM")
def import_lstm(call: Call) -> Sequence[Real | None]:
    """``LSTM``."""
    coupled = bool(call.integer("input_forget", 0))
    return _Layer(call, 4).results(
        [
            NnLstm(
                gate_activation=gate, candidate_activation=candidate, cell_activation=cell,
                clip=_clip(call), coupled=coupled, peepholes=call.has(7), reverse=reverse,
            )
            for reverse, (gate, candidate, cell) in _directions(call, "Sigmoid", "Tanh", "Tanh")
        ]
    )  # fmt: skip


def _clip(call: Call) -> float | None:
    """Return the limit of operands of activations; None if there is none."""
    if call.attribute("clip") is None:
        return None
    clip = call.number("clip")
    if not clip > 0.0:
        raise call.malformed(f"clip is {clip}, expected a number above 0")
    return clip


def _directions(
    call: Call, *defaults: str
) -> Iterator[tuple[bool, tuple[CellActivation, ...]]]:  # fmt: skip
    """Yield for each direction whether it is reversed, and the activations of its cell."""
    direction = call.text("direction")
    if direction not in _DIRECTIONS:
        raise call.malformed(f"direction is {direction!r}, expected {', '.join(_DIRECTIONS)}")
    reverses = _DIRECTIONS[direction]
    count = len(defaults)
    names = call.attribute("activations") or defaults * len(reverses)
    if not isinstance(names, tuple) or len(names) != count * len(reverses):
        raise call.malformed(f"activations are {names}, expected {count} for each direction")
    activations = _activations(call, [str(name) for name in names])
    for index, reverse in enumerate(reverses):
        yield reverse, tuple(activations[index * count : (index + 1) * count])


def _activations(call: Call, names: Sequence[str]) -> list[CellActivation]:
    """Return activations by name; those with parameters take the next ones that are given."""
    alphas = iter(call.numbers("activation_alpha") or ())
    betas = iter(call.numbers("activation_beta") or ())
    activations = []
    for name in names:
        kind = _FUNCTIONS.get(name)
        if kind is None:
            raise call.refuse(
                f"the activation '{name}' is not one of the standard",
                f"use one of {', '.join(_FUNCTIONS)}",
            )
        activations.append(
            CellActivation(
                kind.function,
                _parameter(call, name, "alpha", kind.alpha, alphas, explicit=kind.explicit),
                _parameter(call, name, "beta", kind.beta, betas, explicit=kind.explicit),
            )
        )
    return activations


def _parameter(
    call: Call, name: str, parameter: str, default: float | None, values: Iterator[float],
    *, explicit: bool,
) -> float:  # fmt: skip
    """Return a parameter of an activation; 0 if the activation has no such parameter."""
    if default is None:
        return 0.0
    value = next(values, None)
    if value is None and explicit:
        raise call.refuse(
            f"the activation '{name}' has no {parameter}, and implementations differ in the "
            "default",
            f"give it: activation_{parameter}",
        )
    return default if value is None else value


@dataclass(frozen=True, slots=True)
class _Layer:
    """Operands of a recurrent layer.

    Attributes:
        call: The node.
        gates: Number of gates.
    """

    call: Call
    gates: int

    def results(self, ops: Sequence[NnRecurrent]) -> list[Real | None]:
        """Return the outputs of the node, computed by one op for each direction."""
        call = self.call
        layout = call.integer("layout", 0)
        if layout not in (0, 1):
            raise call.malformed(f"layout is {layout}, expected 0 or 1")
        self._check(len(ops), layout)
        x = call.value(0)
        x = x.transpose(1, 0, 2) if layout else x
        lengths = self._lengths(*x.shape[:2])
        directions = [self._run(x, op, d, layout, lengths) for d, op in enumerate(ops)]
        y, *states = (
            _stacked(parts, layout if place else 1)
            for place, parts in enumerate(zip(*directions, strict=True))
        )  # y: [T, D, B, H]
        outputs = [y.transpose(2, 0, 1, 3) if layout else y, *states]
        return [v if call.wants(i) else None for i, v in enumerate(outputs)]

    def _check(self, directions: int, layout: int) -> None:
        """Refuse operands without the axes of the standard; the op checks the other sizes."""
        ranks = ((0, 3, None), (1, 3, 0), (2, 3, 0), (3, 2, 0), (5, 3, layout), (6, 3, layout),
                 (7, 2, 0))  # fmt: skip
        for index, rank, axis in ranks:
            if index < 3 or self.call.has(index):
                self._check_operand(index, rank, axis, directions)
        self._check_hidden()

    def _check_operand(self, index: int, rank: int, axis: int | None, directions: int) -> None:
        """Refuse an operand of another type or rank, or without a part for each direction."""
        call, type_ = self.call, self.call.type(index)
        if not type_.dtype.is_float:
            raise call.malformed(f"input {index} is {type_}, expected floating-point numbers")
        if type_.rank != rank:
            raise call.malformed(f"input {index} is {type_}, expected {rank} dimensions")
        size = directions if axis is None else type_.shape[axis]
        if isinstance(size, int) and size != directions:
            raise call.malformed(
                f"input {index} is {type_}, expected {directions} in dimension {axis}, one for "
                "each direction"
            )

    def _check_hidden(self) -> None:
        """Refuse an unknown number of hidden elements, or one that operands contradict."""
        call = self.call
        hidden = call.shape(2)[2]
        if not isinstance(hidden, int):
            raise call.refuse(
                f"input 2 is {call.type(2)}, expected a number in dimension 2", OPEN_SHAPE
            )
        size = call.attribute("hidden_size")
        if size is not None and size != hidden:
            raise call.malformed(f"hidden_size is {size}, but input 2 is {call.type(2)}")
        rows = call.shape(3)[1] if call.has(3) else None
        if isinstance(rows, int) and rows != hidden * self.gates * 2:
            raise call.malformed(
                f"input 3 is {call.type(3)}, expected {hidden * self.gates * 2} in dimension 1"
            )

    def _lengths(self, steps: int | Dim, batch: int | Dim) -> Real | None:
        """Return the lengths of the sequences; None if all have that of the tensor."""
        call = self.call
        if not call.has(4):
            return None
        type_ = call.type(4)
        fits = type_.shape == (batch,) or (type_.rank == 1 and isinstance(batch, Dim))
        if not type_.dtype.is_integer or not fits:
            raise call.malformed(f"input 4 is {type_}, expected integers [{batch}]")
        known = call.known(4)
        if known is None or not isinstance(steps, int):
            return call.value(4)
        if known.size and not 0 <= known.min() <= known.max() <= steps:
            raise call.malformed(f"input 4 holds lengths {known.tolist()} of {steps} steps")
        return None if (known == steps).all() else call.value(4)

    def _run(
        self, x: Real, op: NnRecurrent, direction: int, layout: int, lengths: Real | None
    ) -> Sequence[Real]:
        """Return the results of one direction: the state of each step, and the last states."""
        call = self.call
        first = [
            self._state(x, index, direction, layout) for index in range(5, 5 + op.states)
        ]  # fmt: skip
        weights = [call.value(index)[direction] for index in (1, 2)]
        bias, inner = self._biases(x, direction, op)
        more = [call.value(7)[direction]] if call.has(7) else []
        if inner is not None:
            more.append(inner)
        if lengths is None:
            return x.apply_all(op, *weights, bias, *first, *more)
        masked = replace(op, masked=True)
        y, *states = x.apply_all(masked, *weights, bias, *first, *more, lengths)
        return y, *(_unless_empty(state, lengths) for state in states)

    def _state(self, x: Real, index: int, direction: int, layout: int) -> Real:
        """Return an initial state [B, H]."""
        call = self.call
        if not call.has(index):
            return x.lift(0.0).broadcast_to(x.shape[1], call.shape(2)[2])
        state = call.value(index)
        return state[:, direction] if layout else state[direction]

    def _biases(self, x: Real, direction: int, op: NnRecurrent) -> tuple[Real, Real | None]:
        """Return the bias of all gates, and that inside of the reset gate of a GRU."""
        call = self.call
        hidden = call.shape(2)[2]
        rows = hidden * self.gates
        bias = call.maybe(3)
        both = x.lift(0.0).broadcast_to(rows * 2) if bias is None else bias[direction]
        of_x, of_state = both[:rows], both[rows:]
        if not isinstance(op, NnGru) or not op.reset_after:
            return of_x + of_state, None
        outside = (of_x + of_state)[: 2 * hidden].concat(of_x[2 * hidden :], axis=0)
        return outside, of_state[2 * hidden :]


def _stacked(parts: Sequence[Real], axis: int) -> Real:
    """Return tensors joined along a new axis."""
    first, *others = (part.expand_dims(axis) for part in parts)
    return first.concat(*others, axis=axis) if others else first


def _unless_empty(state: Real, lengths: Real) -> Real:
    """Return a last state, 0 for sequences without elements, as in ONNX Runtime."""
    return state.where(lengths.expand_dims(1) > 0, 0.0)
