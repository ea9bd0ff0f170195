"""Compiled graphs: parameters in, inputs in, outputs out."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.drawing.notebook import graph_html
from rlx.ir.binding import match_shapes
from rlx.ir.printer import summarize_graph
from rlx.passes.base import UntilStable
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.dead_code import DeadCode
from rlx.passes.fold_constants import FoldConstants
from rlx.runtime.backend import fit_to_backend
from rlx.tracing.arrays import converted_to
from rlx.transforms.bind import bind, symbols

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, TensorType
    from rlx.passes import DispatchReport
    from rlx.runtime.backend import Backend, Program
    from rlx.runtime.device import Device
    from rlx.runtime.options import CompileOptions

Sizes: TypeAlias = tuple[tuple[str, int], ...]

# Programs kept for different sizes of symbols, least recently used first out.
_MOST_PROGRAMS = 8

_SIMPLIFY = UntilStable(passes=(FoldConstants(), CommonSubexpressions(), DeadCode()))


class CompiledGraph:
    """A graph on a device. Made by ``Session.compile``.

    A graph with symbolic dimensions is compiled for the sizes that the inputs of a run have, and
    kept for the next run of the same sizes.

    Attributes:
        graph: The graph as it was given.
        device: Where it runs.
        dispatch: What the backend does with each op.
    """

    def __init__(
        self,
        graph: Graph,
        device: Device,
        backend: Backend,
        options: CompileOptions,
        dispatch: DispatchReport,
        params: Mapping[str, Array],
    ) -> None:
        self.graph = graph
        self.device = device
        self.dispatch = dispatch
        self._backend = backend
        self._options = options
        self._inputs = {v.name: v.type for v in graph.inputs}
        self._param_types = {v.name: v.type for v in graph.params}
        self._symbols = symbols(graph)
        self._params: dict[str, Array] = {}
        self._programs: OrderedDict[Sizes, Program] = OrderedDict()
        for name, value in params.items():
            self.set_param(name, value)
        if not self._symbols:
            self._program(())

    def __repr__(self) -> str:
        where = f"on {self.device} by {self._backend.name}"
        return f"<CompiledGraph {summarize_graph(self.graph)}; {where}>"

    def _repr_html_(self) -> str:
        """Return the drawing and the table of layers that notebooks show."""
        return graph_html(self.graph, f"on {self.device} by {self._backend.name}")

    @property
    def input_types(self) -> dict[str, TensorType]:
        """Type of each input by name, in order."""
        return dict(self._inputs)

    @property
    def param_types(self) -> dict[str, TensorType]:
        """Type of each parameter by name, in order."""
        return dict(self._param_types)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        return self.graph.output_names

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """Types of the outputs, in order."""
        return tuple(o.type for o in self.graph.outputs)

    def clone(self) -> CompiledGraph:
        """Return the same graph with parameters of its own."""
        return CompiledGraph(
            self.graph, self.device, self._backend, self._options, self.dispatch, self._params
        )

    def set_param(self, name: str, value: npt.ArrayLike) -> None:
        """Set a parameter; numbers are converted to its element type, and copied.

        Raises:
            TypeError: The numbers do not fit the element type.
            ValueError: There is no such parameter, or it has another shape.
        """
        if name not in self._param_types:
            known = _names(self._param_types)
            raise ValueError(f"no parameter is called {name!r}; there are: {known}")
        type_ = self._param_types[name]
        array = _convert(f"parameter {name!r}", type_, value).copy()
        match_shapes([(f"parameter {name!r}", type_)], [array])
        array.flags.writeable = False
        self._params[name] = array
        for program in self._programs.values():
            program.set_param(name, array)

    def set_params(self, params: Mapping[str, npt.ArrayLike]) -> None:
        """Set several parameters by name."""
        for name, value in params.items():
            self.set_param(name, value)

    def run(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        *,
        outputs: Sequence[str | int] | None = None,
    ) -> list[Array]:
        """Return the outputs, as arrays of their own.

        Args:
            inputs: A value for each input by name; numbers are converted to its element type.
            outputs: Names or places of the outputs wanted; all in order by default.

        Raises:
            TypeError: The numbers do not fit an input's element type.
            ValueError: An input or parameter is missing, unknown or has another shape.
        """
        given = self._named(inputs or {})
        arrays = {n: _convert(f"input {n!r}", t, given[n]) for n, t in self._inputs.items()}
        return _own(self._select(self._execute(arrays), outputs), arrays.values())

    def run_named(self, inputs: Mapping[str, npt.ArrayLike] | None = None) -> dict[str, Array]:
        """Return the outputs by name; as ``run`` otherwise."""
        return dict(zip(self.output_names, self.run(inputs), strict=True))

    def run_typed(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Return the outputs, as ``run``, but take only arrays of exactly the declared types."""
        arrays = self._typed(inputs)
        return _own(self._execute(arrays), arrays.values())

    def run_slots(self, *inputs: Array) -> list[Array]:
        """Return the outputs for inputs in the order of their declaration, of exact types."""
        if len(inputs) != len(self._inputs):
            raise ValueError(f"takes {len(self._inputs)} inputs, not {len(inputs)}")
        return self.run_typed(dict(zip(self._inputs, inputs, strict=True)))

    def run_raw(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Return read-only outputs without copying: they may show inputs and parameters.

        Takes only arrays of exactly the declared types.
        """
        views = [a.view() for a in self._execute(self._typed(inputs))]
        for view in views:
            view.flags.writeable = False
        return views

    def __call__(self, *inputs: npt.ArrayLike) -> list[Array]:
        """Return the outputs for inputs in the order of their declaration; else as ``run``."""
        if len(inputs) != len(self._inputs):
            raise ValueError(f"takes {len(self._inputs)} inputs, not {len(inputs)}")
        return self.run(dict(zip(self._inputs, inputs, strict=True)))

    def _named(self, inputs: Mapping[str, npt.ArrayLike]) -> Mapping[str, npt.ArrayLike]:
        """Return ``inputs`` after checking their names."""
        missing = [n for n in self._inputs if n not in inputs]
        unknown = [n for n in inputs if n not in self._inputs]
        if missing or unknown:
            what = f"input {(missing or unknown)[0]!r} {'is missing' if missing else 'is unknown'}"
            raise ValueError(f"{what}; the graph takes: {_names(self._inputs)}")
        return inputs

    def _typed(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return ``inputs`` after checking their names and exact element types."""
        given = self._named(inputs)
        for name, type_ in self._inputs.items():
            value = given[name]
            if not isinstance(value, np.ndarray):
                kind = type(value).__name__
                raise TypeError(f"input {name!r} must be an array of {type_}, not {kind}")
            if value.dtype != type_.dtype.numpy:
                found = f"{value.dtype}{list(value.shape)}"
                raise TypeError(f"input {name!r} must be {type_}, not {found}")
        return {n: np.asarray(given[n]) for n in self._inputs}

    def _execute(self, arrays: Mapping[str, Array]) -> list[Array]:
        """Return the raw outputs for arrays of the declared element types."""
        if len(self._params) < len(self._param_types):
            unset = next(n for n in self._param_types if n not in self._params)
            raise ValueError(f"parameter {unset!r} has no value; set it with set_param()")
        if all(arrays[n].shape == t.shape for n, t in self._inputs.items()) and not self._symbols:
            return self._program(()).run(arrays)
        known = {
            **{f"input {n!r}": (t, arrays[n]) for n, t in self._inputs.items()},
            **{f"parameter {n!r}": (t, self._params[n]) for n, t in self._param_types.items()},
        }
        sizes = match_shapes(
            [(what, t) for what, (t, _) in known.items()], [a for _, a in known.values()]
        )
        return self._program(tuple(sorted(sizes.items()))).run(arrays)

    def _program(self, sizes: Sizes) -> Program:
        """Return the program for these sizes of symbols."""
        if sizes in self._programs:
            self._programs.move_to_end(sizes)
            return self._programs[sizes]
        fitted = fit_to_backend(
            bind(self.graph, dict(sizes)), self._backend, self._options.policies
        )
        fitted.report.require_ready()
        graph = fitted.graph
        if self._options.simplify:
            graph = _SIMPLIFY.apply(graph)
        program = self._backend.compile(graph, self._options)
        for name, value in self._params.items():
            program.set_param(name, value)
        self._programs[sizes] = program
        if len(self._programs) > _MOST_PROGRAMS:
            self._programs.popitem(last=False)
        return program

    def _select(self, results: list[Array], wanted: Sequence[str | int] | None) -> list[Array]:
        """Return the outputs asked for."""
        if wanted is None:
            return results
        names = self.output_names
        for key in wanted:
            if key not in names and key not in range(len(names)):
                raise ValueError(f"no output is called {key!r}; there are: {', '.join(names)}")
        return [results[names.index(k) if isinstance(k, str) else k] for k in wanted]


def _names(types: Mapping[str, TensorType]) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in types.items()) or "none"


def _convert(what: str, type_: TensorType, value: npt.ArrayLike) -> Array:
    """Return ``value`` in the type's element type, or raise TypeError if it does not fit."""
    array = np.asarray(value)
    if array.dtype == type_.dtype.numpy:
        return array
    converted = converted_to(array, type_.dtype)
    if converted is None:
        raise TypeError(f"{what} must be {type_}, not {array.dtype}{list(array.shape)}")
    return converted


def _own(results: Iterable[Array], held: Iterable[Array]) -> list[Array]:
    """Return ``results`` with those copied that share memory with something else."""
    taken = {id(a) for a in held}
    own = []
    for array in results:
        # Parameters and what was computed once are read-only; views do not own their memory.
        shared = id(array) in taken or not (array.flags.owndata and array.flags.writeable)
        own.append(array.copy() if shared else array)
        taken.add(id(array))
    return own
