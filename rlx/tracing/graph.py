"""Graphs built by hand."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType, Origin, State, TensorType
from rlx.ir import Graph as IrGraph
from rlx.ir.module import GraphModule, Stage
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.support.errors import ShapeError
from rlx.support.text.units import counted
from rlx.tracing.arrays import as_dtype, as_shape
from rlx.tracing.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Node, Op, QuantParams
    from rlx.ops.expression import Operand
    from rlx.tracing.arrays import DTypeLike, ShapeLike


_TRACED: ContextVar[Graph | None] = ContextVar("traced", default=None)
"""The innermost region that is being traced."""


class Graph:
    """A graph under construction: declare inputs and parameters, compute, declare outputs.

    ::

        graph = Graph("hello")
        x = graph.input("x", (4, 8))
        w = graph.param("w", (8, 2))
        graph.output((x @ w).relu(), names=["y"])

    Every node records the file and line of the caller as its origin.

    Attributes:
        graph: The graph itself, as passes, targets and files require it.
        parameters: Values of the parameters that have one.
        parent: For a region that is being traced, the graph of the op that it belongs to.
    """

    def __init__(self, name: str, parent: Graph | None = None) -> None:
        self.graph = IrGraph(name)
        self.parent = parent
        self.parameters: dict[str, Array] = {}
        self._scopes: list[str] = []
        self._closed = ""

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.graph.name

    @property
    def module(self) -> GraphModule:
        """The graph at its first stage."""
        return GraphModule(self.graph, Stage.HIR)

    def __repr__(self) -> str:
        return f"<graph {self.name!r}: {counted(len(self.graph.nodes), 'node')}>"

    def __str__(self) -> str:
        return str(self.graph)

    def _repr_html_(self) -> str | None:
        """Return the drawing and the table of layers that notebooks show."""
        return self.graph._repr_html_()

    def input(
        self, name: str, shape: ShapeLike | TensorType, dtype: DTypeLike = DType.F32
    ) -> Tensor:
        """Declare an input, whose value comes with each run.

        Args:
            name: Name by which its value is passed.
            shape: Dimensions, integers or names of symbols that are bound later; or a whole type.
            dtype: Element type.

        Raises:
            ValueError: The name is in use.
        """
        type_ = _type_of(shape, dtype)
        value = self.graph.input(self._new_name(name), type_, origin=self.origin())
        return Tensor(self, value)

    def state(
        self,
        name: str,
        shape: ShapeLike | TensorType,
        dtype: DTypeLike = DType.F32,
        *,
        initial: int = 0,
    ) -> Tensor:
        """Declare a state, whose value is kept from run to run; ``set_state`` says how it changes.

        ::

            total = graph.state("total", (8,))
            graph.set_state(total, total + x)

        Args:
            name: Name by which its value is bound and read.
            shape: Dimensions, or a whole type.
            dtype: Element type.
            initial: Every element before the first run.

        Raises:
            ValueError: The name is in use.
            ShapeError: The element type cannot hold the initial value.
        """
        type_, origin = _type_of(shape, dtype), self.origin()
        value = self.graph.state(self._new_name(name), type_, initial=initial, origin=origin)
        return Tensor(self, value)

    def set_state(self, state: Tensor, value: Tensor) -> None:
        """Declare the value that a state has in the next run: an output of the state's name.

        Raises:
            ShapeError: The value is of another type than the state.
            ValueError: ``state`` is not a state, or has a next value already.
        """
        self._check_open()
        self.check_owned(state)
        self.check_owned(value)
        name = state.value.name
        if state.value.node.op.name != State.name:
            raise ValueError(f"expected a state, got {state!r}; declare one with state()")
        if name in self.graph.output_names:
            raise ValueError(f"state {name!r} has a next value already")
        if value.value.type != state.value.type:
            raise ShapeError(
                f"the next value must be {state.value.type}, got {value.value.type}",
                where=f"{self.origin()}: state {name!r}",
            )
        self.graph.output(value.value, names=[name])

    def param(
        self,
        name: str,
        shape: ShapeLike | TensorType | None = None,
        dtype: DTypeLike = DType.F32,
        *,
        value: npt.ArrayLike | None = None,
    ) -> Tensor:
        """Declare a parameter, whose value is set once: here, or on the compiled graph.

        Args:
            name: Name by which its value is set.
            shape: Dimensions or a whole type; may be left out with a ``value``.
            dtype: Element type, by default that of ``value``.
            value: Its value.

        Raises:
            ValueError: The name is in use, or the value has another type.
        """
        array = None if value is None else np.array(value)
        if shape is None:
            if array is None:
                raise ValueError(f"parameter {name!r} needs a shape or a value")
            shape, dtype = array.shape, array.dtype
        type_ = _type_of(shape, dtype)
        if array is not None and (array.shape != type_.shape or array.dtype != type_.dtype.numpy):
            raise ValueError(
                f"parameter {name!r} must be {type_}, got {array.dtype}{list(array.shape)}"
            )
        full_name = self._new_name(name)
        if array is not None:
            self.parameters[full_name] = array
        return Tensor(self, self.graph.param(full_name, type_, origin=self.origin()))

    def constant(
        self,
        value: npt.ArrayLike,
        dtype: DTypeLike | None = None,
        *,
        name: str = "",
        quant: QuantParams | None = None,
    ) -> Tensor:
        """Declare a constant tensor."""
        self._check_open()
        array = np.asarray(value, None if dtype is None else as_dtype(dtype).numpy)
        constant = self.graph.constant(array, name=name, quant=quant, origin=self.origin())
        return Tensor(self, constant)

    def output(self, *tensors: Tensor, names: Sequence[str] = (), **named: Tensor) -> None:
        """Declare outputs: in order, with names, or by keyword."""
        self._check_open()
        for tensor in (*tensors, *named.values()):
            self.check_owned(tensor)
        if names and len(names) != len(tensors):
            raise ValueError(f"{len(tensors)} outputs but {len(names)} names")
        self.graph.output(*(t.value for t in tensors), names=names)
        self.graph.output(*(t.value for t in named.values()), names=tuple(named))

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefix the names of everything declared inside with ``name.``."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def apply(self, op: Op, *tensors: Tensor) -> Any:  # noqa: ANN401 - one tensor or several
        """Append any op; return its result, or a tuple of them if it has several."""
        builder = self.innermost
        results = tuple(Tensor(builder, v) for v in builder.append(op, *tensors).results)
        return results[0] if len(results) == 1 else results

    def append(self, op: Op, *operands: Expression) -> Node:
        """Append an op and return its node.

        Raises:
            ShapeError: The operands do not fit; ``where`` names op and line.
            ValueError: An operand belongs to another graph, or the trace is over.
        """
        self._check_open()
        values = [self.taken(operand).value for operand in operands]
        origin = self.origin()
        try:
            return self.graph.append(op, *values, name=".".join(self._scopes), origin=origin)
        except ShapeError as e:
            where = f"{origin}: {e.where}" if str(origin) else e.where
            raise ShapeError(e.message, where=where, hint=e.hint) from None

    @property
    def innermost(self) -> Graph:
        """The graph to which ops on tensors of this one are added: a region while it is traced.

        It is this graph itself outside of the functions that ``scan`` and the like trace.
        """
        traced = _TRACED.get()
        around = traced
        while around is not None and around is not self:
            around = around.parent
        return self if traced is None or around is None else traced

    def taken(self, tensor: Expression) -> Tensor:
        """Return ``tensor`` as one of this graph.

        Raises:
            ValueError: It belongs to another graph.
        """
        self.check_owned(tensor)
        return tensor if isinstance(tensor, Tensor) else Tensor(self, tensor.value)

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Send the ops on tensors of the graphs around this one to this one."""
        token = _TRACED.set(self)
        try:
            yield
        finally:
            _TRACED.reset(token)

    def check_owned(self, tensor: Expression) -> None:
        """Raise unless ``tensor`` is a tensor of this graph.

        Raises:
            TypeError: It is not a tensor.
            ValueError: It belongs to another graph.
        """
        if not isinstance(tensor, Expression):
            kind = type(tensor).__name__
            raise TypeError(f"a tensor is needed, got {kind}; x.builder.constant() makes one")
        if tensor.graph is not self.graph:
            raise ValueError(
                f"{tensor!r} belongs to graph {tensor.graph.name!r}, not to {self.name!r}"
            )

    def close(self, reason: str) -> None:
        """Refuse further ops, for this reason."""
        self._closed = reason

    def matmul(self, x: Tensor, y: Operand) -> Tensor:
        """Return the matrix product over the last two axes."""
        return x @ y

    def relu(self, x: Tensor) -> Tensor:
        """Return max(x, 0)."""
        return x.relu()

    def gelu(self, x: Tensor) -> Tensor:
        """Return the Gaussian error linear unit."""
        return x.gelu()

    def silu(self, x: Tensor) -> Tensor:
        """Return ``x * sigmoid(x)``."""
        return x.silu()

    def softmax(self, x: Tensor, axis: int = -1) -> Tensor:
        """Return the softmax along ``axis``."""
        return x.softmax(axis)

    def layer_norm(
        self, x: Tensor, gamma: Operand, beta: Operand | None = None, epsilon: float = 1e-5
    ) -> Tensor:
        """Return x normalized over the axes that ``gamma`` has, scaled and shifted."""
        return x.layer_norm(gamma, beta, epsilon)

    def gather(self, table: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
        """Return slices of ``table`` by their index along ``axis``."""
        return table.gather(indices, axis)

    def where(self, condition: Tensor, x: Operand, y: Operand) -> Tensor:
        """Return ``x`` where ``condition`` holds, ``y`` elsewhere; one of them is a tensor."""
        if isinstance(x, Tensor):
            return x.where(condition, y)
        if not isinstance(y, Tensor):
            raise TypeError(f"one choice must be a tensor, got {x!r} and {y!r}")
        return y.lift(x).where(condition, y)

    def concat(self, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Return ``tensors`` joined along ``axis``."""
        first, *rest = tensors
        return first.concat(*rest, axis=axis)

    def stack(self, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Return ``tensors`` side by side along a new axis."""
        return self.concat([t.expand_dims(axis) for t in tensors], axis)

    def quantize(self, x: Tensor, quant: QuantParams, dtype: DTypeLike = DType.I8) -> Tensor:
        """Return floats as quantized values."""
        return x.apply(real.RealQuantize(quant=quant, dtype=as_dtype(dtype)))

    def dequantize(self, x: Tensor, quant: QuantParams | None = None) -> Tensor:
        """Return quantized values as floats, by their own parameters or by given ones."""
        params = quant or x.type.quant
        if params is None:
            raise ValueError(f"{x!r} carries no quantization parameters; give them")
        return x.apply(real.RealDequantize(quant=params))

    def _new_name(self, name: str) -> str:
        """Return ``name`` in its scope; raise ValueError if an input or parameter has it."""
        self._check_open()
        full = ".".join([*self._scopes, name])
        used_names = (v.name for v in (*self.graph.inputs, *self.graph.params))
        if not name:
            raise ValueError("an input or parameter needs a name")
        if full in used_names:
            raise ValueError(f"graph {self.name!r} has an input or parameter {full!r} already")
        return full

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"graph {self.name!r} takes no more ops: {self._closed}")

    def origin(self) -> Origin:
        """Return file and line of the nearest caller outside of rlx."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("rlx."):
            back = frame.f_back
            if back is None:
                return Origin()
            frame = back
        source = PurePath(frame.f_code.co_filename).name
        return Origin(source, f"line {frame.f_lineno}")


def _type_of(shape: ShapeLike | TensorType, dtype: DTypeLike) -> TensorType:
    """Return a type from a whole type or its parts."""
    if isinstance(shape, TensorType):
        return shape
    return TensorType(as_shape(shape), as_dtype(dtype))
