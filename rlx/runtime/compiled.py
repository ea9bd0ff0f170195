"""Compiled graphs: parameters in, inputs in, outputs out.

Tests: tests/unit/runtime/test_session.py
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import supplied
from rlx.ir.binding import match_shapes
from rlx.ir.manifest import BindingManifest
from rlx.ir.printer import summarize_graph
from rlx.ops.numbers import sample_reals
from rlx.passes.transforms.bind import bind
from rlx.runtime.arguments import Arguments, converted, list_types
from rlx.runtime.backend import fit_to_backend
from rlx.runtime.execution import Execution
from rlx.runtime.observation.memory import estimate_memory
from rlx.runtime.observation.profile import profile_of
from rlx.runtime.observation.roofline import roofline
from rlx.runtime.submission import Submissions
from rlx.support.calls import checked_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, TensorType
    from rlx.passes.fusion import FusionReport
    from rlx.passes.precision import PrecisionReport
    from rlx.runtime.backend import Backend
    from rlx.runtime.batching import Batching
    from rlx.runtime.device import Device
    from rlx.runtime.observation.machine import Machine
    from rlx.runtime.observation.memory import MemoryEstimate
    from rlx.runtime.observation.profile import Profile
    from rlx.runtime.options import CompileOptions
    from rlx.runtime.submission import Pending


class CompiledGraph(Execution):
    """A graph on a device. Made by ``Session.compile``.

    A graph with symbolic dimensions is compiled for the sizes that the inputs of a run have, and
    kept for the next run of the same sizes.

    Each program has an arena: all values are computed there, and a run allocates nothing but the
    copies of the outputs that ``run`` returns; ``run_slots`` and ``run_raw`` return views of the
    arena. Several threads may call one object: it runs one call at a time. Views that were returned
    to a thread are overwritten by the next run of any thread, so threads that use them take a
    ``clone`` each.

    Attributes:
        graph: The given graph.
        device: Device that it runs on.
        dispatch: Report of the backend on each op.
    """

    def __init__(
        self,
        graph: Graph,
        device: Device,
        backend: Backend,
        options: CompileOptions,
        params: Mapping[str, Array],
    ) -> None:
        super().__init__(graph, backend, options, device)
        if self._symbols:
            self.dispatch = fit_to_backend(graph, backend, options.policies).report
            self.dispatch.require_ready()
        else:
            self.dispatch = self._program(()).lowered.dispatch
        self._submissions = Submissions()
        for name, value in params.items():
            self.set_param(name, value)

    def __repr__(self) -> str:
        return f"<CompiledGraph {summarize_graph(self.graph)}; {self._place()}>"

    def _repr_html_(self) -> str | None:
        """Return the drawing and the table of layers that notebooks show."""
        return supplied.graph_html(self.graph, self._place())

    @property
    def input_types(self) -> dict[str, TensorType]:
        """Type of each input of a run by name, in order; states are not among them."""
        return dict(self._arguments.types)

    @property
    def param_types(self) -> dict[str, TensorType]:
        """Type of each parameter by name, in order."""
        return dict(self._param_types)

    @property
    def state_types(self) -> dict[str, TensorType]:
        """Type of each state by name, in order; inputs that are bound as states come last."""
        return self._state_types()

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order; inputs that are bound as states come last."""
        return (*self._states.types, *self._held.names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in order; the next values of states are among them."""
        return self.graph.output_names

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """Types of the outputs, in order."""
        return tuple(o.type for o in self.graph.outputs)

    @property
    def precision(self) -> PrecisionReport | None:
        """Report of the precision policy on the program used last; None without a policy."""
        with self._lock:
            loaded = next(reversed(self._programs.values()), None)
            return None if loaded is None else loaded.lowered.precision

    @property
    def fusion(self) -> FusionReport | None:
        """Report of fusion and its refusals in the program used last; None without a program."""
        with self._lock:
            loaded = next(reversed(self._programs.values()), None)
            return None if loaded is None else loaded.lowered.fusion

    def manifest(self, sizes: Mapping[str, int] | None = None) -> BindingManifest:
        """Return names, types, bytes and places of the arrays bound to the graph.

        Args:
            sizes: A size for each symbol of the dimensions; none if there are none.

        Raises:
            ValueError: A symbol has no size, or a size is not positive.
        """
        bindings = dict(sizes or {})
        unbound = [name for name in self._symbols if name not in bindings]
        if unbound:
            raise ValueError(
                f"a manifest needs a size for {', '.join(map(repr, unbound))};"
                f" the graph takes: {list_types(self._inputs)}"
            )
        source = bind(self.graph, bindings)
        with self._lock:
            loaded = self._program(tuple(sorted(bindings.items())))
            return BindingManifest.of(loaded.lowered.module, source)

    def clone(self) -> CompiledGraph:
        """Return the same graph with parameters, states and arenas of its own.

        The arrays of parameters are shared until they are set again; states are copied.
        """
        with self._lock:
            copy = CompiledGraph(
                self.graph, self.device, self._backend, self._options, self._params
            )
            for name in self.state_names:
                state = self._held.read(name) if name in self._held else self._states.value(name)
                if state is not None:
                    copy.bind_state(name, state)
            for name, output_index in self._held.feeds.items():
                copy.feed(output_index, name)
            if self._extent is not None:
                copy.set_active_extent(*self._extent.rows)
            return copy

    def __copy__(self) -> CompiledGraph:
        return self.clone()

    def __deepcopy__(self, memo: object) -> CompiledGraph:
        return self.clone()

    def __reduce__(self) -> str:
        raise TypeError("a compiled graph cannot be pickled; keep its graph (rlx.save), compile it")

    def set_param(self, name: str, value: npt.ArrayLike) -> None:
        """Set a parameter; values are converted to its element type, and copied.

        Raises:
            TypeError: The values do not fit the element type.
            ValueError: There is no such parameter, or it has another shape.
        """
        if name not in self._param_types:
            known = list_types(self._param_types)
            raise ValueError(f"no parameter is called {name!r}; there are: {known}")
        what, type_ = f"parameter {name!r}", self._param_types[name]
        array = converted(what, type_, value)
        match_shapes([(what, type_)], [array])
        if array.flags.writeable or not isinstance(value, np.ndarray):
            array = array.copy()
            array.flags.writeable = False
        with self._lock:
            self._params[name] = array
            self._params_changed()

    def set_params(self, params: Mapping[str, npt.ArrayLike], *, strict: bool = True) -> None:
        """Set several parameters by name, for example from a ``WeightStore``.

        Args:
            params: A value for each, as for ``set_param``.
            strict: Whether a name without a parameter is refused; else it is ignored.

        Raises:
            TypeError: The values do not fit an element type.
            ValueError: There is no such parameter, or it has another shape.
        """
        for name in params if strict else [n for n in self._param_types if n in params]:
            self.set_param(name, params[name])

    def bind_state(self, name: str, value: npt.ArrayLike) -> None:
        """Set the value that a state has before the next run; it is copied.

        ``reset_state`` returns to it. An input may be bound too: then it is a state, which runs are
        not passed any more, and which keeps its value unless ``feed`` sets the next one.

        Raises:
            TypeError: The values do not fit the element type.
            ValueError: There is no such state or input, or it has another shape.
        """
        with self._lock:
            type_ = self._states.types.get(name) or self._inputs.get(name)
            if type_ is None:
                known = list_types(self._states.types | self._inputs)
                raise ValueError(f"no state or input is called {name!r}; there are: {known}")
            array = converted(f"state {name!r}", type_, value)
            match_shapes([(f"state {name!r}", type_)], [array])
            if name in self._states.types:
                self._states.bind(name, array)
            else:
                self._held.bind(name, array)
                self._arguments = Arguments(self._held.free)

    def unbind_state(self, name: str) -> None:
        """Let an input that was bound as a state come with each run again.

        Raises:
            ValueError: It is not an input, or not bound.
        """
        with self._lock:
            self._check_input(name)
            self._held.unbind(name)
            self._arguments = Arguments(self._held.free)

    def feed(self, output: str | int, name: str) -> None:
        """Let an output be the next value of an input that is bound as a state, after each run.

        ::

            compiled.bind_state("cache", zeros)
            compiled.feed("grown_cache", "cache")

        A graph whose states are declared (``graph.state``) needs no such calls, and may compute
        the next value in the place of the last one, where this copies it.

        Args:
            output: Name or place of the output.
            name: Name of the input.

        Raises:
            ValueError: There is no such output or input, the input is not bound, or the types
                differ.
        """
        (place,) = self._places([output])
        with self._lock:
            self._check_input(name)
            self._held.feed(name, place, self.output_names[place], self.output_types[place])

    def read_state(self, name: str) -> Array:
        """Return a copy of the value that a state has now.

        Raises:
            ValueError: There is no such state, or its size is not known before the next run.
        """
        with self._lock:
            self._check_state(name)
            return self._held.read(name) if name in self._held else self._states.read(name)

    def reset_state(self, name: str | None = None) -> None:
        """Give a state, or all of them, the value that was bound last; else the initial one.

        Raises:
            ValueError: There is no such state.
        """
        with self._lock:
            if name is not None:
                self._check_state(name)
            for each in self.state_names if name is None else (name,):
                (self._held if each in self._held else self._states).reset(each)

    @property
    def batching(self) -> Batching:
        """Way in which ``run`` processes several samples."""
        with self._lock:
            return self._batches.how

    def run(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        *,
        outputs: Sequence[str | int] | None = None,
        dequantized: bool = False,
    ) -> list[Array]:
        """Return the outputs, as arrays of their own.

        Where every input has a leading dimension of 1, the arrays may have any other number there:
        the number of samples, which the outputs then hold too. ``batching`` says how they are
        computed.

        Args:
            inputs: A value for each input by name; values are converted to its element type. Floats
                for a quantized input are quantized by its scale.
            outputs: Names or places of the requested outputs; all in order by default.
            dequantized: Whether quantized outputs are returned as real values, as float64.

        Raises:
            TypeError: The values do not fit an input's element type.
            ValueError: An input or parameter is missing, unknown or has another shape; inputs hold
                different numbers of samples; NaN or infinity is passed to a quantized input.
        """
        arguments = self._arguments
        arrays = arguments.converted({} if inputs is None else inputs)
        indices = self._places(outputs)
        results = self._outputs(arguments, arrays, indices, batches=True)
        if not dequantized:
            return results
        types = [self.output_types[place] for place in indices]
        return [sample_reals(array, type_) for array, type_ in zip(results, types, strict=True)]

    def run_named(
        self, inputs: Mapping[str, npt.ArrayLike] | None = None, *, dequantized: bool = False
    ) -> dict[str, Array]:
        """Return the outputs by name; as ``run`` otherwise."""
        results = self.run(inputs, dequantized=dequantized)
        return dict(zip(self.output_names, results, strict=True))

    def run_typed(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Return the outputs, as ``run``, but accept only arrays of exactly the declared types."""
        arguments = self._arguments
        return self._outputs(arguments, arguments.typed(inputs))

    def run_raw(self, inputs: Mapping[str, Array]) -> Sequence[Array]:
        """Return read-only views of the outputs, which the next run overwrites.

        Takes only arrays of exactly the declared types, and allocates nothing.
        """
        arguments = self._arguments
        arrays = arguments.typed(inputs)
        with self._lock:
            return self._execute(arguments, arrays)

    def run_slots(self, *inputs: Array) -> Sequence[Array]:
        """Return the outputs of ``run_raw`` for inputs in the order of their declaration."""
        arguments = self._arguments
        arrays = arguments.exact(inputs)
        with self._lock:
            return self._execute(arguments, arrays)

    def set_active_extent(self, actual: int, upper: int) -> None:
        """Let runs compute the first ``actual`` of ``upper`` rows, until it is called again.

        The rows of an output are the indices of its first axis of size ``upper``. The first ones
        are those of a whole run, the others are zeros. Ops whose rows depend on one another, such
        as attention, and all that these read, are computed whole; so are states, and batches of
        several samples. ``upper`` of ``upper`` is a whole run. It holds for all threads.

        Args:
            actual: Number of rows that matter.
            upper: Number of rows that outputs have.

        Raises:
            ValueError: ``actual`` is not in [1, ``upper``], the graph has symbols in its
                dimensions, or no op is row-wise.
        """
        with self._lock:
            self._extent = self._extent_of(actual, upper)

    @contextmanager
    def active_extent(self, actual: int, upper: int) -> Iterator[None]:
        """Let runs compute the first rows, as ``set_active_extent`` does, in a ``with`` block."""
        before = self._extent
        self.set_active_extent(actual, upper)
        try:
            yield
        finally:
            with self._lock:
                self._extent = before

    def submit(self, inputs: Mapping[str, npt.ArrayLike] | None = None) -> Pending:
        """Begin a run on a thread of this object, and return before it ends.

        Runs that were submitted are done in order. Other calls do not wait for them: a run, or a
        state that is read, may come before any of them unless ``sync`` is called first. The inputs
        are copied, so they may be written at once.

        Args:
            inputs: As for ``run``.

        Returns:
            An object whose ``wait`` returns the result of ``run``, or raises its exception.

        Raises:
            TypeError: The values do not fit an input's element type.
            ValueError: An input is missing or unknown.
        """
        arguments = self._arguments
        arrays = [array.copy() for array in arguments.converted({} if inputs is None else inputs)]
        return self._submissions.submit(lambda: self._outputs(arguments, arrays, batches=True))

    def sync(self) -> None:
        """Wait until every submitted run has ended.

        Raises:
            Exception: Error of the first run that failed while nobody waited for its outputs.
        """
        self._submissions.sync()

    def run_pipelined(self, sets: Iterable[Mapping[str, npt.ArrayLike]]) -> list[list[Array]]:
        """Return the outputs for each of several sets of inputs, as ``run`` does for one.

        The runs are done in order, in the calling thread: on one processor, handing each of them to
        another thread costs more than it gains. ``submit`` does that.

        Args:
            sets: Inputs of each run, as for ``run``; each is read after the run before it.

        Raises:
            Exception: Error of the first run that failed; those after it are not begun.
        """
        return [self.run(inputs) for inputs in sets]

    def __call__(self, *inputs: npt.ArrayLike) -> list[Array]:
        """Return the outputs for inputs in the order of their declaration; else as ``run``."""
        arguments = self._arguments
        arguments.check_count(inputs)
        return self.run(dict(zip(arguments.types, inputs, strict=True)))

    @checked_call
    def profile(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        *,
        runs: int = 20,
        warm_up: int = 3,
        machine: Machine | None = None,
    ) -> Profile:
        """Run several times and return the time of each node; states are as before then.

        Args:
            inputs: As for ``run``.
            runs: Number of runs that are measured.
            warm_up: Number of runs before them.
            machine: Limits of the machine, with which times are compared.

        Raises:
            TypeError: The values do not fit an input's element type.
            ValueError: An input or parameter is missing, unknown or has another shape, or the
                number of runs is 0.
        """
        if runs < 1 or warm_up < 0:
            raise ValueError(f"cannot measure {runs} runs after {warm_up}; one at least is needed")
        arguments = self._arguments
        arrays = arguments.converted({} if inputs is None else inputs)
        with self._lock:
            loaded, every, _ = self._ready(arguments, arrays)
            states = {name: self._states.read(name) for name in self._states.types}
            try:
                timed = [loaded.profile(every, self._params) for _ in range(warm_up + runs)]
            finally:
                for name, value in states.items():
                    loaded.program.write_state(name, value)
        module = loaded.lowered.module
        return profile_of(
            self.graph.name,
            self._place(),
            timed[warm_up:],
            process=os.getpid(),
            thread=(threading.get_native_id(), threading.current_thread().name),
            bounds=None if machine is None else roofline(module, machine),
        )

    def memory(self) -> MemoryEstimate:
        """Return the bytes of the program that ran last; each byte is in one part.

        Raises:
            ValueError: The sizes of symbols are not known before the first run.
        """
        if not self._programs:
            raise ValueError("sizes are not known; run the graph first")
        loaded = next(reversed(self._programs.values()))
        lowered, workspace = loaded.lowered, loaded.program.workspace_bytes
        return estimate_memory(lowered.module, prologue=lowered.prologue, workspace=workspace)
