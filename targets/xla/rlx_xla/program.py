"""A graph that XLA has compiled, with what it keeps on its device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import jax
import jax.numpy as jnp
import numpy as np

from rlx.ir import DType, State
from rlx.ir.evaluate import IndexRangeError, evaluate_all
from rlx.runtime.observation.finite import check_values
from rlx_xla.buffers import Packing
from rlx_xla.platforms import wide_types
from rlx_xla.rules import PREPARED
from rlx_xla.trace import Trace, held, held_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from rlx.ir import Array, Graph, GraphModule, Node, Value
    from rlx_xla.placement import Placement
    from rlx_xla.rules import Traced

    _Key: TypeAlias = tuple[Node, str]
    _Form: TypeAlias = tuple[tuple[int, ...], np.dtype[np.generic]]

MAX_INLINE: Final = 64
"""Elements of a constant that is written into the compiled program."""


class Outputs(Sequence[np.ndarray[Any, Any]]):
    """Outputs of a run, brought to the host one by one when they are asked for."""

    def __init__(self, arrays: Sequence[Any], dtypes: Sequence[DType]) -> None:
        self._arrays = arrays
        self._dtypes = dtypes

    def __len__(self) -> int:
        return len(self._arrays)

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | Sequence[Array]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        dtype = self._dtypes[index]
        array: Array = np.asarray(self._arrays[index])
        if array.dtype == dtype.numpy:
            return array
        narrow = array.astype(dtype.numpy)
        narrow.flags.writeable = False
        return narrow


class XlaCode:
    """A graph at stage LIR, compiled. Programs that are made of it share it.

    Attributes:
        module: The graph.
        placement: Devices of its values.
        workspace_bytes: Bytes that XLA takes for a run besides arguments and results.
        states: States of the graph, in order.
        following: Names of the states that have a next value, in order of these values.
        inputs: Inputs that are not states, in order.
        params: Places of the parameters in buffers.
        constants: Buffers of constants, on the device.
    """

    def __init__(self, module: GraphModule, placement: Placement) -> None:
        self.module = module
        self.placement = placement
        self.workspace_bytes = 0
        graph = module.graph
        self.states = [n.result for n in graph.nodes if isinstance(n.op, State)]
        following = {s.name for s, _ in graph.states}
        self.following = [v.name for v in self.states if v.name in following]
        self.inputs = [v for v in graph.inputs if v not in set(self.states)]
        placement.check([*self.inputs, *self.states, *graph.params])
        constants = _kept_constants(graph, as_floats=placement.prefers_floats)
        self._packing: Packing[_Key] = Packing.of(
            {key: (a.shape, a.dtype) for key, a in constants.items()}
        )
        self._split_params = [v for v in graph.params if placement.is_split(v)]
        self.params: Packing[Value] = Packing.of(
            {v: _held_form(v) for v in graph.params if not placement.is_split(v)}
        )
        self.constants = [
            placement.put(a, placement.replicated) for a in self._packing.pack(constants)
        ]
        self._readers: list[Node] = []
        self.call = self._compile()

    def param_buffers(self, values: Mapping[str, Array]) -> list[Any]:
        """Return the arguments for parameters, on the device."""
        arrays = {v: held(np.asarray(values[v.name])) for v in self.module.graph.params}
        put, sharding = self.placement.put, self.placement.sharding
        packed = [put(array, self.placement.replicated) for array in self.params.pack(arrays)]
        return [*packed, *(put(arrays[v], sharding(v)) for v in self._split_params)]

    def raise_failure(self, failures: Any) -> None:  # noqa: ANN401 - an array of JAX, or None
        """Raise the error of the first node that read outside of its axis, if one did."""
        if failures is None:
            return
        failed = np.flatnonzero(np.asarray(failures))
        if failed.size:
            node = self._readers[failed[0]]
            origin = f" from {node.origin}" if str(node.origin) else ""
            raise IndexRangeError(
                "an index is outside its axis", where=f"{node.op.name} {node.label}{origin}"
            )

    def _compile(self) -> Callable[..., Any]:
        """Return the compiled function."""
        placement = self.placement
        outputs = None
        if not placement.is_single:
            states = {v.name: placement.sharding(v) for v in self.states}
            outputs = (placement.replicated, [states[name] for name in self.following],
                       placement.replicated)  # fmt: skip
        with wide_types():
            lowered = jax.jit(self._trace, donate_argnums=0, out_shardings=outputs).lower(
                [self._spec(v) for v in self.states],
                [self._buffer_spec(b) for b in _specs(self._packing)],
                [
                    *(self._buffer_spec(b) for b in _specs(self.params)),
                    *(self._spec(v) for v in self._split_params),
                ],
                [self._spec(v) for v in self.inputs],
            )
            compiled = lowered.compile(compiler_options=dict(placement.options))
        memory = compiled.memory_analysis()
        self.workspace_bytes = int(getattr(memory, "temp_size_in_bytes", 0) or 0)
        call: Callable[..., Any] = compiled
        return call

    def _trace(
        self,
        states: Sequence[Traced],
        constants: Sequence[Traced],
        params: Sequence[Traced],
        inputs: Sequence[Traced],
    ) -> tuple[list[Traced], list[Traced], Traced]:
        """Return the outputs apart from states, next values of states, and failures of indices."""
        graph = self.module.graph
        count = len(self.params.sizes)
        values: dict[Value, Traced] = dict(zip(self.inputs, inputs, strict=True))
        values.update(zip(self.states, states, strict=True))
        values.update(self.params.unpack(params[:count]))
        values.update(zip(self._split_params, params[count:], strict=True))
        prepared: dict[Node, dict[str, Traced]] = {}
        for (node, name), array in self._packing.unpack(constants).items():
            if name:
                prepared.setdefault(node, {})[name] = array
            else:
                values[node.result] = array
        trace = Trace(prepared)
        named = dict(zip(graph.output_names, trace.run(graph, values), strict=True))
        following = [named[name] for name in self.following]
        kept_names = {v.name for v in self.states}
        plain = [named[name] for name in graph.output_names if name not in kept_names]
        self._readers = [node for node, _ in trace.failures]
        failures = jnp.stack([f for _, f in trace.failures]) if trace.failures else None
        return plain, following, failures

    def _spec(self, value: Value) -> Any:  # noqa: ANN401 - a type of JAX
        """Return the type of an argument."""
        shape, dtype = _held_form(value)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.placement.sharding(value))

    def _buffer_spec(self, form: _Form) -> Any:  # noqa: ANN401 - a type of JAX
        return jax.ShapeDtypeStruct(*form, sharding=self.placement.replicated)


class XlaProgram:
    """Compiled code with parameters and states of its own. It runs one call at a time.

    Attributes:
        module: The graph.
    """

    def __init__(self, code: XlaCode, *, check_finite: bool) -> None:
        self.module = code.module
        self._code = code
        self._check_finite = check_finite
        self._params: Mapping[str, Array] = {}
        self._param_buffers: list[Any] = []
        self._states: dict[str, Any] = {}
        self._dtypes = {v.name: v.type.dtype for v in code.states}
        for value in code.states:
            self.write_state(value.name, np.zeros(*_held_form(value)))

    @property
    def workspace_bytes(self) -> int:
        """Bytes that XLA takes for a run besides arguments and results."""
        return self._code.workspace_bytes

    def set_params(self, values: Mapping[str, Array]) -> None:
        """Set all parameters of the module; they are copied to the device."""
        self._params = values if self._check_finite else {}
        self._param_buffers = self._code.param_buffers(values)

    def run(self, inputs: Sequence[Array]) -> Outputs:
        """Return the outputs in order, read-only.

        Raises:
            IndexRangeError: An index is outside its axis.
            FloatingPointError: With ``check_finite``, a node made NaN or infinity of other values.
        """
        if self._check_finite:
            self._check(inputs)
        code, placement = self._code, self._code.placement
        arrays: list[Any] = [held(array) for array in inputs]
        if not placement.is_single:
            pairs = zip(arrays, code.inputs, strict=True)
            arrays = [placement.put(array, placement.sharding(v)) for array, v in pairs]
        with wide_types():
            outputs, following, failures = code.call(
                list(self._states.values()), code.constants, self._param_buffers, arrays
            )
        self._states.update(zip(code.following, following, strict=True))
        code.raise_failure(failures)
        graph = self.module.graph
        plain_outputs = iter(outputs)
        results = [
            self._states[name] if name in self._states else next(plain_outputs)
            for name in graph.output_names
        ]
        return Outputs(results, [v.type.dtype for v in graph.outputs])

    def read_state(self, name: str) -> Array:
        """Return a copy of the value of a state."""
        return np.array(self._states[name]).astype(self._dtypes[name].numpy)

    def write_state(self, name: str, value: Array) -> None:
        """Set the value of a state, of its exact type."""
        state = next(v for v in self._code.states if v.name == name)
        placement = self._code.placement
        self._states[name] = placement.put(held(value.copy()), placement.sharding(state))

    def profile(self, inputs: Sequence[Array]) -> list[tuple[Node, int, int]]:
        """Run once; return one time for all, on the node of the first output.

        XLA fuses nodes and reorders them, so that they have no times of their own.
        """
        begin = time.perf_counter_ns()
        list(self.run(inputs))
        end = time.perf_counter_ns()
        return [(self.module.graph.outputs[0].node, begin, end)]

    def _check(self, inputs: Sequence[Array]) -> None:
        """Raise FloatingPointError for the first node that makes NaN or infinity of others."""
        graph = self.module.graph
        arrays = {v.name: a for v, a in zip(self._code.inputs, inputs, strict=True)}
        arrays |= {name: self.read_state(name) for name in self._states}
        with np.errstate(all="ignore"):
            check_values(graph, evaluate_all(graph, arrays, self._params))


def _held_form(value: Value) -> _Form:
    """Return shape and element type in which a value is held on the device."""
    return value.type.static_shape, held_type(value.type.dtype)


def _specs(packing: Packing[Any]) -> list[_Form]:
    """Return shape and element type of each buffer."""
    return [((n,), t) for n, t in zip(packing.sizes, packing.dtypes, strict=True)]


def _kept_constants(graph: Graph, *, as_floats: bool) -> dict[_Key, Array]:
    """Return the arrays that are kept on the device, by node and name.

    A constant has the empty name; rearranged ones have those of their reader.
    """
    constants: dict[_Key, Array] = {}
    operands = set(graph.outputs)
    for node in graph.op_nodes:
        prepare = PREPARED.get(type(node.op))
        arrays = {} if prepare is None else prepare(node, as_floats=as_floats)
        constants.update({(node, name): array for name, array in arrays.items()})
        operands.update(node.operands[:1] if arrays else node.operands)
    for node in graph.nodes:
        array = node.results[0].constant
        if array is not None and array.size > MAX_INLINE and node.results[0] in operands:
            constants[node, ""] = held(array)
    return constants
