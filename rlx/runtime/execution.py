"""Execution of a compiled graph: its programs, parameters and states, one call at a time.

Tests: tests/unit/runtime/test_session.py
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.ir.binding import match_shapes
from rlx.passes.transforms.bind import symbols
from rlx.runtime.arguments import Arguments, list_types
from rlx.runtime.batching import Batches
from rlx.runtime.buckets import Padding
from rlx.runtime.extent import Extent
from rlx.runtime.held import HeldInputs
from rlx.runtime.loaded import LoadedProgram
from rlx.runtime.states import States
from rlx.support.config import current

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Graph, TensorType
    from rlx.runtime.backend import Backend
    from rlx.runtime.device import Device
    from rlx.runtime.options import CompileOptions

Sizes: TypeAlias = tuple[tuple[str, int], ...]


class Execution:
    """A graph with a program for each set of sizes that came up; ``CompiledGraph`` is its face.

    Attributes:
        graph: The given graph.
        device: Device that it runs on.
    """

    def __init__(
        self, graph: Graph, backend: Backend, options: CompileOptions, device: Device
    ) -> None:
        self.graph = graph
        self.device = device
        self._backend = backend
        self._options = options
        self._states = States(state for state, _ in graph.states)
        states = self._states.types
        self._inputs = {v.name: v.type for v in graph.inputs if v.name not in states}
        self._held = HeldInputs(self._inputs)
        self._arguments = Arguments(self._inputs)
        self._param_types = {v.name: v.type for v in graph.params}
        self._symbols = symbols(graph)
        self._padding = None if options.buckets is None else Padding(graph, options.buckets)
        self._shapes = None if self._symbols else [t.shape for t in self._inputs.values()]
        self._params: dict[str, Array] = {}
        self._programs: OrderedDict[Sizes, LoadedProgram] = (
            OrderedDict()
        )  # least recently used first
        self._most_programs = current().programs
        self._extent: Extent | None = None
        self._extents: OrderedDict[tuple[int, int], Extent] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def backend(self) -> str:
        """Name of the backend of the program used last; before the first run of the chosen one.

        They differ where compiled code differed from NumPy (``rlx.runtime.checking``).
        """
        with self._lock:
            loaded = next(reversed(self._programs.values()), None)
            return self._backend.name if loaded is None else loaded.backend.name

    def _place(self) -> str:
        """Return device and backend for reports, with what the program says of its code."""
        with self._lock:
            loaded = next(reversed(self._programs.values()), None)
        summary = getattr(loaded and loaded.program, "summary", "")
        return f"on {self.device} by {self.backend}" + (f" ({summary})" if summary else "")

    @property
    def check_seconds(self) -> float | None:
        """Seconds of the comparison of the program used last with NumPy; None without one."""
        with self._lock:
            loaded = next(reversed(self._programs.values()), None)
            comparison = None if loaded is None else loaded.comparison
            return None if comparison is None else comparison.seconds

    def _state_types(self) -> dict[str, TensorType]:
        """Return the type of each state, then of each input that is bound as one."""
        return self._states.types | {name: self._inputs[name] for name in self._held.names}

    def _check_state(self, name: str) -> None:
        """Raise ValueError if no state is called ``name``."""
        if name not in self._state_types():
            known = list_types(self._state_types())
            raise ValueError(f"no state is called {name!r}; there are: {known}")

    def _check_input(self, name: str) -> None:
        """Raise ValueError unless ``name`` is an input that can be bound as a state."""
        if name in self._states.types:
            raise ValueError(f"{name!r} is a state of the graph, not an input")
        if name not in self._inputs:
            known = list_types(self._inputs)
            raise ValueError(f"no input is called {name!r}; there are: {known}")

    def _outputs(
        self,
        arguments: Arguments,
        arrays: Sequence[Array],
        indices: Sequence[int] | None = None,
        *,
        batches: bool = False,
    ) -> list[Array]:
        """Return outputs as arrays of their own; as ``_execute`` otherwise.

        Args:
            arguments: Inputs that the arrays are for.
            arrays: An array for each of them.
            indices: Places of the outputs to return; None for all.
            batches: Whether the arrays may hold several samples.
        """
        if indices is None:
            indices = range(len(self.graph.outputs))
        with self._lock:
            if batches and not self._fits(arrays) and self._is_batch(arguments, arrays):
                self._check_params()
                return self._batches.run(arrays, self._params, indices, self._most_programs)
            results = self._execute(arguments, arrays)
            return [results[place].copy() for place in indices]

    def _fits(self, arrays: Sequence[Array]) -> bool:
        """Whether all inputs are there, with their shapes, and these are integers."""
        return [array.shape for array in arrays] == self._shapes

    def _is_batch(self, arguments: Arguments, arrays: Sequence[Array]) -> bool:
        """Whether arrays hold several samples of a graph that is written for one."""
        types = arguments.types.values()
        if len(types) < len(self._inputs) or all(
            a.shape == t.shape for a, t in zip(arrays, types, strict=True)
        ):
            return False
        return self._batches.count(arrays) is not None

    @cached_property
    def _batches(self) -> Batches:
        """Programs that run several samples."""
        single = None if self._symbols else self._program(())
        return Batches(self.graph, self._backend, self._options, single)

    def _params_changed(self) -> None:
        """Let the next runs recompute the values that depend on parameters."""
        for program in self._programs.values():
            program.params_changed()
        for extent in self._extents.values():
            extent.loaded.params_changed()
        if "_batches" in self.__dict__:
            self._batches.params_changed()

    def _extent_of(self, actual: int, upper: int) -> Extent | None:
        """Return the program for the first rows; None if that is all of them.

        Raises:
            ValueError: The number is out of range, or no op is row-wise.
        """
        if self._symbols:
            raise ValueError(
                f"dimensions have the symbols {', '.join(self._symbols)}: give inputs of fewer rows"
            )
        whole = all(isinstance(rows, int) for rows in (actual, upper))
        if not whole or not 0 < actual <= upper:
            raise ValueError(f"{actual!r} of {upper!r} rows cannot be computed")
        if actual == upper:
            return None
        key = (actual, upper)
        if key not in self._extents:
            self._extents[key] = Extent(self.graph, self._backend, self._options, actual, upper)
            while len(self._extents) > self._most_programs:
                self._extents.popitem(last=False)
        self._extents.move_to_end(key)
        return self._extents[key]

    def _check_params(self) -> None:
        """Raise ValueError if a parameter has no value."""
        if len(self._params) < len(self._param_types):
            unset = next(n for n in self._param_types if n not in self._params)
            raise ValueError(f"parameter {unset!r} has no value; set it with set_param()")

    def _execute(self, arguments: Arguments, arrays: Sequence[Array]) -> Sequence[Array]:
        """Return the raw outputs for arrays of the declared element types.

        Args:
            arguments: Inputs that the arrays are for: another thread may have bound some since.
            arrays: An array for each of them.
        """
        loaded, every, sizes = self._ready(arguments, arrays)
        results = loaded.run(every, self._params)
        if self._padding is not None:
            results = self._padding.cut(results, sizes)
        if self._extent is not None:
            results = self._extent.expanded(results)
        self._held.refresh(results)
        return results

    def _ready(
        self, arguments: Arguments, arrays: Sequence[Array]
    ) -> tuple[LoadedProgram, Sequence[Array], Sizes]:
        """Return the program for these arrays, with its states in place, and all its inputs.

        The sizes of symbols are those of the arrays; the program and its inputs may be larger.
        """
        self._check_params()
        # Another thread may have bound inputs since the arguments were checked.
        if len(arguments.types) < len(self._inputs) or arguments is not self._arguments:
            arrays = self._held.filled(arguments.types, arrays)
        sizes = self._sizes(arrays)
        loaded = self._extent.loaded if self._extent else self._program(self._rounded(sizes))
        if self._padding is not None:
            arrays = self._padding.padded(arrays, self._rounded(sizes))
        loaded.load(self._params)  # another backend may take the place of the program
        self._states.move_to(loaded.program)
        return loaded, arrays, sizes

    def _rounded(self, sizes: Sizes) -> Sizes:
        """Return the sizes that are compiled for."""
        return sizes if self._padding is None else self._padding.rounded(sizes)

    def _sizes(self, arrays: Sequence[Array]) -> Sizes:
        """Return the size of each symbol.

        Raises:
            ValueError: An array has another shape than declared.
        """
        if self._fits(arrays):
            return ()
        known = [(f"input {n!r}", t) for n, t in self._inputs.items()]
        known += [(f"parameter {n!r}", t) for n, t in self._param_types.items()]
        given = [*arrays, *(self._params[n] for n in self._param_types)]
        return tuple(sorted(match_shapes(known, given).items()))

    def _program(self, sizes: Sizes) -> LoadedProgram:
        """Return the program for these sizes of symbols."""
        if sizes in self._programs:
            self._programs.move_to_end(sizes)
            return self._programs[sizes]
        loaded = LoadedProgram(self.graph, self._backend, self._options, sizes)
        self._programs[sizes] = loaded
        while len(self._programs) > self._most_programs:
            self._programs.popitem(last=False)
        return loaded

    def _places(self, selection: Sequence[str | int] | None) -> Sequence[int]:
        """Return the places of the outputs asked for."""
        names = self.graph.output_names
        if selection is None:
            return range(len(names))
        if isinstance(selection, str | int):
            raise TypeError(f"outputs are chosen by a list of names or places, got {selection!r}")
        for key in selection:
            is_index = isinstance(key, int | np.integer) and 0 <= key < len(names)
            if key not in names and not is_index:
                raise ValueError(f"no output is called {key!r}; there are: {', '.join(names)}")
        return [names.index(k) if isinstance(k, str) else k for k in selection]
