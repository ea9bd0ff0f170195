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
from rlx_xla.platforms import PLATFORMS, devices_of, wide_types
from rlx_xla.rules import PREPARED
from rlx_xla.trace import Trace, held, held_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from rlx.ir import Array, Graph, GraphModule, Node, Value
    from rlx.runtime import CompileOptions, Device
    from rlx_xla.rules import Traced

    _Key: TypeAlias = tuple[Node, str]

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


class XlaProgram:
    """A graph at stage LIR, compiled for one device. It runs one call at a time.

    Attributes:
        module: The graph.
        workspace_bytes: Bytes that XLA takes for a run besides arguments and results.
    """

    def __init__(self, module: GraphModule, device: Device, options: CompileOptions) -> None:
        self.module = module
        self.workspace_bytes = 0
        self._check_finite = options.check_finite
        self._params: Mapping[str, Array] = {}
        self._platform = PLATFORMS[device]
        self._sharding = jax.sharding.SingleDeviceSharding(devices_of(device)[0])
        graph = module.graph
        self._constants = _kept_constants(graph)
        arrays = {key: (a.shape, a.dtype) for key, a in self._constants.items()}
        params = {v: (v.type.static_shape, held_type(v.type.dtype)) for v in graph.params}
        self._constant_packing: Packing[_Key] = Packing.of(arrays)
        self._param_packing: Packing[Value] = Packing.of(params)
        self._state_nodes = [n for n in graph.nodes if isinstance(n.op, State)]
        self._states = {n.result.name: self._zeros(n.result) for n in self._state_nodes}
        following = {s.name for s, _ in graph.states}
        self._following = [n.result.name for n in self._state_nodes if n.result.name in following]
        states = {n.result for n in self._state_nodes}
        self._inputs = [v for v in graph.inputs if v not in states]
        self._readers: list[Node] = []
        self._constant_buffers = self._put(self._constant_packing.pack(self._constants))
        self._param_buffers: list[Any] = []
        self._call = self._compile()

    def set_params(self, values: Mapping[str, Array]) -> None:
        """Set all parameters of the module; they are copied to the device."""
        self._params = values if self._check_finite else {}
        arrays = {v: held(np.asarray(values[v.name])) for v in self.module.graph.params}
        self._param_buffers = self._put(self._param_packing.pack(arrays))

    def run(self, inputs: Sequence[Array]) -> Outputs:
        """Return the outputs in order, read-only.

        Raises:
            IndexRangeError: An index is outside its axis.
            FloatingPointError: With ``check_finite``, a node made NaN or infinity of other values.
        """
        if self._check_finite:
            self._check(inputs)
        states = [self._states[n.result.name] for n in self._state_nodes]
        with wide_types():
            outputs, following, failures = self._call(
                states,
                self._constant_buffers,
                self._param_buffers,
                [held(array) for array in inputs],
            )
        self._states.update(zip(self._following, following, strict=True))
        self._raise_failure(failures)
        graph = self.module.graph
        plain_outputs = iter(outputs)
        arrays = [
            self._states[name] if name in self._states else next(plain_outputs)
            for name in graph.output_names
        ]
        return Outputs(arrays, [v.type.dtype for v in graph.outputs])

    def read_state(self, name: str) -> Array:
        """Return a copy of the value of a state."""
        dtype = next(n.result.type.dtype for n in self._state_nodes if n.result.name == name)
        return np.array(self._states[name]).astype(dtype.numpy)

    def write_state(self, name: str, value: Array) -> None:
        """Set the value of a state, of its exact type."""
        (self._states[name],) = self._put([held(value.copy())])

    def profile(self, inputs: Sequence[Array]) -> list[tuple[Node, int, int]]:
        """Run once; return one time for all, on the node of the first output.

        XLA fuses nodes and reorders them, so that they have no times of their own.
        """
        begin = time.perf_counter_ns()
        list(self.run(inputs))
        end = time.perf_counter_ns()
        return [(self.module.graph.outputs[0].node, begin, end)]

    def _compile(self) -> Callable[..., Any]:
        """Return the compiled program."""
        with wide_types():
            lowered = jax.jit(self._trace, donate_argnums=0).lower(
                [self._spec(n.result) for n in self._state_nodes],
                [self._buffer_spec(b) for b in _specs(self._constant_packing)],
                [self._buffer_spec(b) for b in _specs(self._param_packing)],
                [self._spec(v) for v in self._inputs],
            )
            compiled = lowered.compile(compiler_options=dict(self._platform.options))
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
        values: dict[Value, Traced] = dict(zip(self._inputs, inputs, strict=True))
        values.update(zip((n.result for n in self._state_nodes), states, strict=True))
        values.update(self._param_packing.unpack(params))
        prepared: dict[Node, dict[str, Traced]] = {}
        for (node, name), array in self._constant_packing.unpack(constants).items():
            if name:
                prepared.setdefault(node, {})[name] = array
            else:
                values[node.result] = array
        trace = Trace(prepared)
        outputs = trace.run(graph, values)
        named = dict(zip(graph.output_names, outputs, strict=True))
        following = [named[name] for name in self._following]
        plain = [named[name] for name in graph.output_names if name not in self._states]
        self._readers = [node for node, _ in trace.failures]
        failures = jnp.stack([f for _, f in trace.failures]) if trace.failures else None
        return plain, following, failures

    def _raise_failure(self, failures: Any) -> None:  # noqa: ANN401 - an array of JAX, or None
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

    def _check(self, inputs: Sequence[Array]) -> None:
        """Raise FloatingPointError for the first node that makes NaN or infinity of others."""
        graph = self.module.graph
        given = {v.name: a for v, a in zip(self._inputs, inputs, strict=True)}
        given |= {name: self.read_state(name) for name in self._states}
        with np.errstate(all="ignore"):
            check_values(graph, evaluate_all(graph, given, self._params))

    def _zeros(self, state: Value) -> Any:  # noqa: ANN401 - an array of JAX
        """Return the first value of a state."""
        zeros = np.zeros(state.type.static_shape, held_type(state.type.dtype))
        return self._put([zeros])[0]

    def _put(self, arrays: Sequence[Array]) -> list[Any]:
        """Return arrays on the device."""
        with wide_types():
            return [jax.device_put(array, self._sharding) for array in arrays]

    def _spec(self, value: Value) -> Any:  # noqa: ANN401 - a type of JAX
        """Return the type of an argument."""
        type_ = value.type
        return self._buffer_spec((type_.static_shape, held_type(type_.dtype)))

    def _buffer_spec(self, spec: tuple[tuple[int, ...], np.dtype[np.generic]]) -> Any:  # noqa: ANN401
        return jax.ShapeDtypeStruct(*spec, sharding=self._sharding)


def _specs(packing: Packing[Any]) -> list[tuple[tuple[int, ...], np.dtype[np.generic]]]:
    """Return shape and element type of each buffer."""
    return [((n,), t) for n, t in zip(packing.sizes, packing.dtypes, strict=True)]


def _kept_constants(graph: Graph) -> dict[_Key, Array]:
    """Return the arrays that are kept on the device, by node and name.

    A constant has the empty name; rearranged ones have those of their reader.
    """
    constants: dict[_Key, Array] = {}
    operands = set(graph.outputs)
    for node in graph.op_nodes:
        prepare = PREPARED.get(type(node.op))
        arrays = {} if prepare is None else prepare(node)
        constants.update({(node, name): array for name, array in arrays.items()})
        operands.update(node.operands[:1] if arrays else node.operands)
    for node in graph.nodes:
        array = node.results[0].constant
        if array is not None and array.size > MAX_INLINE and node.results[0] in operands:
            constants[node, ""] = held(array)
    return constants
