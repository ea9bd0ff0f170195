"""Recurrent layers: a cell that is run once for each element of a sequence."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Graph
from rlx.ops import real
from rlx.ops.control import Scan
from rlx.ops.expression import Expression
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.cell import SIGMOID, TANH, CellActivation
from rlx.ops.nn.linear import NnLinear

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Dim, TensorType, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NnRecurrent(NnOp):
    """Base of recurrent layers with G gates and a hidden state of H elements.

    Operands: ``x`` floating-point [T, B, I], a batch of B sequences of T elements; ``w``
    [G * H, I] and ``r`` [G * H, H], the weights of elements and of the hidden state; ``bias``
    [G * H]; the states before the first step, each [B, H], the hidden state first; then those that
    the layer adds; with ``masked`` last the lengths of the sequences, integers [B]. Results: the
    hidden state after each step [T, B, H], then the last states, each [B, H].

    Attributes:
        clip: If given, operands of the activations of gates are clamped to ``-clip ... clip``.
        reverse: Whether the last element of a sequence comes first. The hidden state after a step
            is still at the index of the element.
        masked: Whether sequences have lengths of their own. Beyond its length a sequence leaves
            the states as they are, and the first result is 0 at these steps.
    """

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    clip: float | None = None
    reverse: bool = False
    masked: bool = False

    @abstractmethod
    def extra_shapes(self, hidden: int) -> Mapping[str, tuple[int, ...]]:
        """Return name and shape of each operand that the layer adds."""

    @abstractmethod
    def captured(self, r: Expression, *extra: Expression) -> Sequence[Expression]:
        """Return the operands of all steps: the weights of the hidden state, made ready."""

    @abstractmethod
    def step(
        self, x: Expression, states: Sequence[Expression], captured: Sequence[Expression]
    ) -> Sequence[Expression]:
        """Return the states after a step.

        Args:
            x: The element, multiplied by its weights and with the bias [B, G * H].
            states: States before the step.
            captured: Result of ``captured``.
        """

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless weights, bias, states and lengths fit."""
        floats = operands[: len(operands) - self.masked]
        x, _, r, *_ = floats
        hidden = r.shape[-1] if r.rank == 2 else None
        if x.rank != 3 or not isinstance(hidden, int):
            rows = f"{self.gates} * H" if self.gates > 1 else "H"
            raise self.refuse(f"expected x [T, B, I] and r [{rows}, H], got {x} and {r}")
        self.check_float(*floats)
        shapes = self._shapes(x, hidden)
        if len(shapes) != len(floats):
            count = len(shapes) + self.masked
            raise self.refuse(f"expected {count} operands, got {len(operands)}")
        for type_, (name, shape) in zip(floats, shapes.items(), strict=True):
            if type_.shape != shape:
                raise self.refuse(f"{name} is {type_}, expected {type_.with_shape(shape)}")
        lengths = operands[-1]
        if self.masked and (lengths.shape != x.shape[1:2] or not lengths.dtype.is_integer):
            raise self.refuse(f"lengths are {lengths}, expected integers [{x.shape[1]}]")

    def _shapes(self, x: TensorType, hidden: int) -> dict[str, tuple[int | Dim, ...]]:
        """Return the expected shape of each operand but the lengths, by name."""
        _, batch, inputs = x.shape
        rows = self.gates * hidden
        return {
            "x": x.shape, "w": (rows, inputs), "r": (rows, hidden), "bias": (rows,),
            **dict.fromkeys(("h", "c")[:self.states], (batch, hidden)),
            **self.extra_shapes(hidden),
        }  # fmt: skip

    def expand(self, *operands: Expression) -> Sequence[Expression]:
        """Return the hidden state after each step, and the last states."""
        x, w, r, bias, *more = operands
        scanned = [x.apply(NnLinear(), w, bias)]
        if self.masked:
            scanned.append(_steps_within(x, more.pop()))
        states, captured = more[: self.states], self.captured(r, *more[self.states :])
        scan = Scan(
            body=self._body(states, scanned, captured),
            carries=self.states, scanned=len(scanned), length=x.shape[0], reverse=self.reverse,
        )  # fmt: skip
        first, *rest = (*states, *scanned, *captured)
        *last_states, y = first.apply_all(scan, *rest)
        return (y, *last_states)

    def _body(
        self,
        states: Sequence[Expression],
        scanned: Sequence[Expression],
        captured: Sequence[Expression],
    ) -> Graph:
        """Return one step as the body of a scan."""
        graph = Graph("step")
        previous = [_input(graph, f"state{i}", s.type) for i, s in enumerate(states)]
        x, *mask = (
            _input(graph, name, s.type.with_shape(s.shape[1:]))
            for name, s in zip(("x", "mask"), scanned, strict=False)
        )
        fixed = [_input(graph, f"captured{i}", c.type) for i, c in enumerate(captured)]
        following = self.step(x, previous, fixed)
        hidden = following[0]
        if mask:
            hidden = hidden.where(mask[0], 0.0)
            following = [
                after.where(mask[0], before)
                for after, before in zip(following, previous, strict=True)
            ]
        values: list[Value] = [v.value for v in (*following, hidden)]
        graph.output(*values)
        return graph

    def gate(self, x: Expression, activation: CellActivation) -> Expression:
        """Return a gate: the activation of ``x``, which is clipped first."""
        if self.clip is not None:
            x = x.maximum(-self.clip).minimum(self.clip)
        return activation.apply(x)


def _input(graph: Graph, name: str, type_: TensorType) -> Expression:
    """Return a new input of a region."""
    return Expression(graph, graph.input(name, type_))


def _steps_within(x: Expression, lengths: Expression) -> Expression:
    """Return bool [T, B, 1]: whether a step is within the length of a sequence."""
    one = x.wrap(x.graph.constant(np.ones(1, np.int32)))
    number = one.broadcast_to(x.shape[0]).apply(real.RealCumsum(axis=0))
    return number.reshape(x.shape[0], 1, 1) <= lengths.cast(DType.I32).expand_dims(1)


def _parts(x: Expression, count: int) -> list[Expression]:
    """Return ``count`` equal parts of the last axis of ``x``, whose size is known."""
    size = x.type.shape[-1]
    assert isinstance(size, int)  # checked
    width = size // count
    return [x[..., i * width : (i + 1) * width] for i in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NnRnn(NnRecurrent):
    """Simple recurrent layer: ``h = tanh(w x[t] + r h + bias)``.

    Operands: ``x`` floating-point [T, B, I], ``w`` [H, I], ``r`` [H, H], ``bias`` [H], ``h``
    [B, H] before the first step; with ``masked`` the lengths of the sequences, integers [B].
    Results: ``h`` after each step [T, B, H], and after the last one [B, H].

    Attributes:
        activation: Activation of the hidden state.
        clip: If given, operands of the activation are clamped to ``-clip ... clip``.
        reverse: Whether the last element of a sequence comes first. The hidden state after a step
            is still at the index of the element.
        masked: Whether sequences have lengths of their own. Beyond its length a sequence leaves
            the state as it is, and the first result is 0 at these steps.

    Source: Elman, "Finding structure in time".
    """

    name: ClassVar[str] = "nn.rnn"
    operand_count: ClassVar[int | tuple[int, int | None]] = (5, 6)
    gates: ClassVar[int] = 1
    activation: CellActivation = TANH

    def extra_shapes(self, hidden: int) -> Mapping[str, tuple[int, ...]]:
        """Return nothing: the layer adds no operand."""
        del hidden
        return {}

    def captured(self, r: Expression, *extra: Expression) -> Sequence[Expression]:
        """Return the weights of the hidden state, transposed."""
        return (r.mT,)

    def step(
        self, x: Expression, states: Sequence[Expression], captured: Sequence[Expression]
    ) -> Sequence[Expression]:
        """Return the hidden state after a step."""
        (h,), (r,) = states, captured
        return (self.gate(x + h @ r, self.activation),)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnGru(NnRecurrent):
    """Gated recurrent unit, with the gates z (update), r (reset) and n (candidate).

    ``z = sigmoid(wz x[t] + rz h + bz)``, ``r = sigmoid(wr x[t] + rr h + br)``,
    ``n = tanh(wn x[t] + rn (r * h) + bn)``, ``h = (1 - z) * n + z * h``; with ``reset_after``
    ``n = tanh(wn x[t] + r * (rn h + inner) + bn)``.

    Operands: ``x`` floating-point [T, B, I], ``w`` [3 * H, I], ``r`` [3 * H, H] and ``bias``
    [3 * H], rows in the order z, r, n; ``h`` [B, H] before the first step; with ``reset_after``
    ``inner`` [H]; with ``masked`` the lengths of the sequences, integers [B].
    Results: ``h`` after each step [T, B, H], and after the last one [B, H].

    Attributes:
        reset_after: Whether the reset gate is applied after the product with ``rn``, as in PyTorch.
        gate_activation: Activation of the gates z and r.
        candidate_activation: Activation of n.
        clip: If given, operands of the activations are clamped to ``-clip ... clip``.
        reverse: Whether the last element of a sequence comes first. The hidden state after a step
            is still at the index of the element.
        masked: Whether sequences have lengths of their own. Beyond its length a sequence leaves
            the state as it is, and the first result is 0 at these steps.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical
    machine translation".
    """

    name: ClassVar[str] = "nn.gru"
    operand_count: ClassVar[int | tuple[int, int | None]] = (5, 7)
    gates: ClassVar[int] = 3
    reset_after: bool = False
    gate_activation: CellActivation = SIGMOID
    candidate_activation: CellActivation = TANH

    def extra_shapes(self, hidden: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shape of ``inner``."""
        return {"inner": (hidden,)} if self.reset_after else {}

    def captured(self, r: Expression, *extra: Expression) -> Sequence[Expression]:
        """Return the weights of the hidden state, transposed: of both gates, of the candidate."""
        *gates, candidate = _parts(r.mT, 3)
        return (gates[0].concat(gates[1], axis=1), candidate, *extra)

    def step(
        self, x: Expression, states: Sequence[Expression], captured: Sequence[Expression]
    ) -> Sequence[Expression]:
        """Return the hidden state after a step."""
        (h,), (gate_weights, weights, *inner) = states, captured
        x_update, x_reset, x_candidate = _parts(x, 3)
        h_update, h_reset = _parts(h @ gate_weights, 2)
        update = self.gate(x_update + h_update, self.gate_activation)
        reset = self.gate(x_reset + h_reset, self.gate_activation)
        product = reset * (h @ weights + inner[0]) if inner else (reset * h) @ weights
        candidate = self.gate(x_candidate + product, self.candidate_activation)
        return ((1.0 - update) * candidate + update * h,)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLstm(NnRecurrent):
    """Long short-term memory, with the gates i (input), o (output), f (forget) and g (candidate).

    ``i = sigmoid(wi x[t] + ri h + bi)``, ``o`` and ``f`` in the same way,
    ``g = tanh(wg x[t] + rg h + bg)``, ``c = f * c + i * g``, ``h = o * tanh(c)``. With peepholes
    ``pi * c`` is added for ``i``, ``pf * c`` for ``f``, and ``po`` times the new ``c`` for ``o``.

    Operands: ``x`` floating-point [T, B, I], ``w`` [4 * H, I], ``r`` [4 * H, H] and ``bias``
    [4 * H], rows in the order i, o, f, g; ``h`` and ``c`` [B, H] before the first step; with
    ``peepholes`` their weights [3 * H] in the order i, o, f; with ``masked`` the lengths of the
    sequences, integers [B].
    Results: ``h`` after each step [T, B, H], then ``h`` and ``c`` after the last one [B, H].

    Attributes:
        peepholes: Whether gates read the cell ``c``.
        coupled: Whether the forget gate is ``1 - i``.
        gate_activation: Activation of the gates i, o and f.
        candidate_activation: Activation of g.
        cell_activation: Activation of ``c`` for the hidden state; ``clip`` does not affect it.
        clip: If given, operands of the activations of gates are clamped to ``-clip ... clip``.
        reverse: Whether the last element of a sequence comes first. The hidden state after a step
            is still at the index of the element.
        masked: Whether sequences have lengths of their own. Beyond its length a sequence leaves
            the states as they are, and the first result is 0 at these steps.

    Source: Hochreiter and Schmidhuber, "Long short-term memory"; Gers et al., "Learning precise
    timing with LSTM recurrent networks".
    """

    name: ClassVar[str] = "nn.lstm"
    operand_count: ClassVar[int | tuple[int, int | None]] = (6, 8)
    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    peepholes: bool = False
    coupled: bool = False
    gate_activation: CellActivation = SIGMOID
    candidate_activation: CellActivation = TANH
    cell_activation: CellActivation = TANH

    def extra_shapes(self, hidden: int) -> Mapping[str, tuple[int, ...]]:
        """Return the shape of the peepholes."""
        return {"peepholes": (3 * hidden,)} if self.peepholes else {}

    def captured(self, r: Expression, *extra: Expression) -> Sequence[Expression]:
        """Return the weights of the hidden state, transposed, and those of each peephole."""
        return (r.mT, *(part for peepholes in extra for part in _parts(peepholes, 3)))

    def step(
        self, x: Expression, states: Sequence[Expression], captured: Sequence[Expression]
    ) -> Sequence[Expression]:
        """Return the hidden state and the cell after a step."""
        (h, c), (r, *peepholes) = states, captured
        to_input, to_output, to_forget, to_candidate = _parts(x + h @ r, 4)
        if peepholes:
            to_input, to_forget = to_input + peepholes[0] * c, to_forget + peepholes[2] * c
        entry = self.gate(to_input, self.gate_activation)
        forget = 1.0 - entry if self.coupled else self.gate(to_forget, self.gate_activation)
        cell = forget * c + entry * self.gate(to_candidate, self.candidate_activation)
        if peepholes:
            to_output = to_output + peepholes[1] * cell
        output = self.gate(to_output, self.gate_activation)
        return (output * self.cell_activation.apply(cell), cell)
