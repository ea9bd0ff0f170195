"""Loops: while a condition holds, or once for each element.

Tests: tests/unit/ops/control/test_control.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from rlx.ir import Dim, Graph, TensorType
from rlx.ir.binding import symbols_of
from rlx.ir.evaluate import call
from rlx.ir.program import prepare_graph
from rlx.ops.control.base import ControlOp, result_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator

_Run: TypeAlias = "Callable[..., tuple[Array, ...]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class While(ControlOp):
    """A region that is run while the result of another one is true.

    ``while condition(carries, others): carries = body(carries, others)``

    Operands: first values for the carries, one for each output of the body; then the values that
    both regions read in every iteration. Results: the carries after the last iteration.

    Attributes:
        condition: Accepts all operands, with the carries of this iteration; returns bool[].
        body: Accepts the same; returns the carries of the next iteration.
        max_iterations: The loop ends after this number, for any condition; None for no bound, so
            that a loop whose condition always holds does not end.
    """

    name: ClassVar[str] = "core.while"
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    condition: Graph
    body: Graph
    max_iterations: int | None = None

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the carries."""
        if self.max_iterations is not None and self.max_iterations < 0:
            raise self.refuse(f"max_iterations must not be negative, got {self.max_iterations}")
        self.check_inputs("condition", self.condition, operands)
        self.check_inputs("body", self.body, operands)
        conditions = result_types(self.condition)
        if len(conditions) != 1:
            raise self.refuse(f"condition must give one value, got {len(conditions)}")
        self.check_condition("what condition gives", conditions[0])
        carries = result_types(self.body)
        if not 0 < len(carries) <= len(operands):
            raise self.refuse(f"body gives {len(carries)} carries for {len(operands)} operands")
        return tuple(
            self.check_same(f"carry {i} after an iteration", found, wanted)
            for i, (found, wanted) in enumerate(zip(carries, operands, strict=False))
        )

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the carries after the last iteration."""

        def condition(*values: Array) -> tuple[Array, ...]:
            return call(self.condition, values)

        def body(*values: Array) -> tuple[Array, ...]:
            return call(self.body, values)

        return self._loop(condition, body, operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return a function with both regions prepared once for all iterations."""
        if symbols_of(self):
            return self.evaluate
        # First values of carries say nothing about the later ones.
        carries = len(self.body.outputs)
        known = [*[None] * carries, *constants[carries:]]
        condition, body = prepare_graph(self.condition, known), prepare_graph(self.body, known)

        def run(*operands: Array) -> tuple[Array, ...]:
            return self._loop(condition, body, operands)

        return run

    def _loop(self, condition: _Run, body: _Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        """Return the carries after the last iteration."""
        count = len(self.body.outputs)
        carries, captures = tuple(operands[:count]), tuple(operands[count:])
        iterations = 0
        while self.max_iterations is None or iterations < self.max_iterations:
            if not condition(*carries, *captures)[0]:
                break
            carries = body(*carries, *captures)
            iterations += 1
        return carries


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(ControlOp):
    """A region run once for each element along the first axis of tensors.

    ``for t in range(length): carries, ys[t] = body(carries, xs[t], others)``

    Operands: first values for the carries; the scanned tensors, each with ``length`` as its first
    dimension; then the values that the body reads in every iteration. Results: the carries after
    the last iteration; then each other output of the body, all iterations along a new first axis. A
    body that returns its carry as such an output too saves each step.

    Attributes:
        body: Accepts carries, one element of each tensor, and the others; returns the carries of
            the next iteration, then the collected values.
        carries: Number of carries.
        scanned: Number of scanned tensors.
        length: Number of iterations.
        reverse: Whether the last element comes first. A collected value is still at the place of
            the element that it was computed from.
    """

    name: ClassVar[str] = "core.scan"
    body: Graph
    carries: int
    scanned: int
    length: int | Dim
    reverse: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the carries and of the collected values."""
        outputs = result_types(self.body)
        self._check_counts(len(operands), len(outputs))
        ends = self.carries + self.scanned
        elements = [self._element(i, t) for i, t in enumerate(operands[self.carries : ends])]
        self.check_inputs("body", self.body, (*operands[: self.carries], *elements,
                                              *operands[ends:]))  # fmt: skip
        carries = tuple(
            self.check_same(f"carry {i} after an iteration", outputs[i], operands[i])
            for i in range(self.carries)
        )
        return (*carries, *(self._stacked_type(t) for t in outputs[self.carries :]))

    def _check_counts(self, operands: int, results: int) -> None:
        """Raise ShapeError if a number among the attributes does not fit."""
        if min(self.carries, self.scanned) < 0 or self.carries + self.scanned > operands:
            raise self.refuse(
                f"{self.carries} carries and {self.scanned} tensors to take apart"
                f" are not to be had from {operands} operands"
            )
        if results < self.carries:
            raise self.refuse(f"body gives {results} values, fewer than the {self.carries} carries")
        if isinstance(self.length, int) and self.length < 0:
            raise self.refuse(f"length must not be negative, got {self.length}")

    def _element(self, index: int, type_: TensorType) -> TensorType:
        """Return the type of one element of a scanned tensor."""
        if type_.shape[:1] != (self.length,):
            raise self.refuse(
                f"tensor {index} to take apart must begin with a dimension of {self.length},"
                f" got {type_}"
            )
        if type_.quant is not None and type_.quant.axis is not None:
            raise self.refuse(f"tensor {index} to take apart has scales along an axis: {type_}")
        return type_.with_shape(type_.shape[1:])

    def _stacked_type(self, type_: TensorType) -> TensorType:
        """Return the type of a value collected from all iterations."""
        collected = type_.with_shape((self.length, *type_.shape))
        along_axis = type_.quant is not None and type_.quant.axis is not None
        return collected.with_quant(None) if along_axis else collected

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the carries after the last iteration, and the collected values."""
        return self._loop(lambda *values: call(self.body, values), operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return a function with the body prepared once for all iterations."""
        if symbols_of(self):
            return self.evaluate
        changing = self.carries + self.scanned
        body = prepare_graph(self.body, [*[None] * changing, *constants[changing:]])

        def run(*operands: Array) -> tuple[Array, ...]:
            return self._loop(body, operands)

        return run

    def _loop(self, body: _Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        """Return the carries after the last iteration, and the collected values."""
        ends = self.carries + self.scanned
        carries, captures = tuple(operands[: self.carries]), operands[ends:]
        scanned = operands[self.carries : ends]
        length = scanned[0].shape[0] if scanned else self.length
        assert isinstance(length, int)  # symbols were bound before
        collected: list[Array] = []
        for t in reversed(range(length)) if self.reverse else range(length):
            # With the dots, an element of a vector is an array too.
            results = body(*carries, *(x[t, ...] for x in scanned), *captures)
            carries, parts = tuple(results[: self.carries]), results[self.carries :]
            collected = collected or [np.empty((length, *p.shape), p.dtype) for p in parts]
            for whole, part in zip(collected, parts, strict=True):
                whole[t] = part
        return (*carries, *(collected or self._nothing()))

    def _nothing(self) -> list[Array]:
        """Return the empty collections of a loop without iterations."""
        types = result_types(self.body)[self.carries :]
        return [np.empty((0, *t.static_shape), t.dtype.numpy) for t in types]
