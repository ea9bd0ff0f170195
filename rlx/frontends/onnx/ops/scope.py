"""The graph that ONNX nodes are added to: values with arithmetic, constants computed at once.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rlx.frontends.refusal import OverLimitError
from rlx.ir import Origin
from rlx.ops.expression import Expression, scalar
from rlx.ops.real import RealDequantize
from rlx.support.limits import DEFAULT_LIMITS, Limits, raise_hint
from rlx.tracing.layers import Layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.file import Model
    from rlx.frontends.onnx.ops.call import Call
    from rlx.ir import Array, Graph, Op, QuantParams, TensorType, Value

# A constant is computed while reading if that needs no more steps than this, for one op and for
# all of a file; else the op stays in the graph.
_MAX_FOLDED_STEPS = 1 << 22
_MAX_FOLDED_STEPS_PER_FILE = 1 << 25


class Real(Layers):
    """A value of the graph, with the arithmetic of traced tensors.

    An op on constants is computed at once. ``real.dequantize`` is not: the scale
    is needed later.

    Attributes:
        scope: Scope that it belongs to.
        call: The node that makes it, whose name the appended nodes get.
    """

    __slots__ = ("call", "scope")

    def __init__(self, scope: Scope, value: Value, call: Call | None) -> None:
        Expression.__init__(self, scope.graph, value)
        self.scope = scope
        self.call = call

    def wrap(self, value: Value) -> Self:
        """Return another value of the same graph."""
        return type(self)(self.scope, value, self.call)

    @property
    def array(self) -> Array | None:
        """Its elements where they are known, else None."""
        return self.value.constant

    def apply_all(self, op: Op, *operands: Expression) -> tuple[Self, ...]:
        """Return every result of ``op`` on this value and others."""
        values = self.scope.append(self.call, op, self.value, *(o.value for o in operands))
        return tuple(self.wrap(v) for v in values)

    def lift(self, other: Any) -> Self:  # noqa: ANN401 - a number, an array or an expression
        """Return ``other`` as a value; numbers and arrays become constants."""
        if isinstance(other, Expression):
            return self.wrap(other.value)
        array = other if isinstance(other, np.ndarray) else scalar(other, self.type)
        return self.wrap(self.scope.constant(array, self.call))


Symbolic: TypeAlias = "npt.NDArray[np.object_]"
"""Integers that are known but for symbols: an array of ``int`` and ``Dim``."""

Result: TypeAlias = "Real | npt.NDArray[Any]"
Results: TypeAlias = "Result | Sequence[Result | None]"
"""Results of an importer: a value or known elements for each output that is read."""


@dataclass(slots=True)
class Scope:
    """State shared by the nodes of one graph, or of one function that is inlined.

    Attributes:
        model: The file.
        graph: Graph that is made of it.
        versions: Version of each domain's operators.
        values: Each value by its name: in the graph, or known elements.
        caller: The node that calls the function, for messages; empty for the graph itself.
        limits: Limits on the work.
        folded: Steps of constants so far, in a list that all scopes share.
        bounds: Minimum and maximum of integers with a smaller range than their element type, by
            name.
    """

    model: Model
    graph: Graph
    versions: Mapping[str, int]
    values: dict[str, Real | npt.NDArray[Any]] = field(default_factory=dict)
    caller: str = ""
    limits: Limits = DEFAULT_LIMITS
    folded: list[int] = field(default_factory=lambda: [0])
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)

    def constant(
        self, array: Array, call: Call | None = None, quant: QuantParams | None = None,
        name: str = "",
    ) -> Value:  # fmt: skip
        """Append a constant."""
        origin = call.origin if call else Origin(self.model.source, "tensor")
        name = name or (call.result_name if call else "")
        return self.graph.constant(array, name=name, quant=quant, origin=origin)

    def append(self, call: Call | None, op: Op, *operands: Value) -> tuple[Value, ...]:
        """Append an op, or compute it if its operands are constants."""
        name, origin = (call.result_name, call.origin) if call else ("", Origin())
        arrays = [o.constant for o in operands]
        if any(a is None for a in arrays) or isinstance(op, RealDequantize):
            return self.graph.append(op, *operands, name=name, origin=origin).results
        types = op.infer_checked(*(o.type for o in operands))
        self._check_sizes(types)
        steps = _steps(op, types, operands)
        is_open = not all(type_.is_static for type_ in types)
        if (
            is_open
            or steps > _MAX_FOLDED_STEPS
            or self.folded[0] + steps > _MAX_FOLDED_STEPS_PER_FILE
        ):
            return self.graph.append(op, *operands, name=name, origin=origin).results
        self.folded[0] += steps
        results = op.evaluate(*(a for a in arrays if a is not None))
        return tuple(
            self.constant(np.asarray(r), call, t.quant) for r, t in zip(results, types, strict=True)
        )

    def _check_sizes(self, types: Sequence[TensorType]) -> None:
        """Refuse results that are too large to be made."""
        for type_ in types:
            if type_.is_static and type_.size > self.limits.elements:
                raise OverLimitError(
                    f"a constant has {type_.size} elements; the limit is {self.limits.elements}",
                    hint=raise_hint("elements", type_.size),
                )


def _steps(op: Op, types: Sequence[TensorType], operands: Sequence[Value]) -> int:
    """Return the approximate number of steps of an op on constants."""
    window: Any = getattr(op, "window", None)
    taps = int(np.prod(window.kernel)) if hasattr(window, "kernel") else 1
    sizes = [t.size for t in (*types, *(o.type for o in operands)) if t.is_static]
    if op.name in ("real.matmul", "real.conv", "nn.conv", "nn.linear", "nn.dot", "nn.attention"):
        taps *= max((int(d) for d in operands[0].type.static_shape), default=1)
    return max(sizes, default=0) * taps
