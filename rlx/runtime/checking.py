"""Comparison of a compiled program with NumPy, before its first result is returned.

Compilers are not trusted with integers: a program of a backend that has a method ``compiler`` is
run on random inputs of its own shapes, and every output that consists of integers on the whole way,
from the inputs to the result, must be equal to the reference bit for bit. Floats are not compared:
sums may be added in another order.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import numpy as np

from rlx.ir import DType, Graph, GraphModule, Stage, State, copy_node
from rlx.ir.evaluate import IndexRangeError, evaluate_all
from rlx.ir.graph import Source
from rlx.ir.hash import structural_hash
from rlx.ir.regions import all_nodes
from rlx.ops import real
from rlx.ops.control import While
from rlx.ops.nn import NnOp
from rlx.ops.real.cast import integer_range
from rlx.runtime.disk_cache import disk_cache, entry_key
from rlx.support.errors import DifferenceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Node, TensorType, Value
    from rlx.runtime.backend import Backend, Program
    from rlx.runtime.options import CompileOptions

SEED: Final = 1
"""Seed of the random inputs: a program that is compiled twice is compared on the same ones."""

_MAX_WIDE: Final = 7
"""Largest random integer of more than 16 bits: these are indices and counts."""

_EXACT_ON_FLOATS: Final = (
    real.RealQuantize, real.RealDequantize, real.RealCast, real.RealBitcast, real.RealCompare,
    real.RealWhere, real.RealMaximum, real.RealMinimum, real.RealPad,
)  # fmt: skip
"""Ops on floats whose result does not depend on the way in which it is computed."""


@runtime_checkable
class Compiled(Protocol):
    """A backend whose programs are compared with NumPy before they are used."""

    def compiler(self) -> str:
        """Return name and version of the compiler, for messages."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A program whose code is the same in other processes."""

    @property
    def code_key(self) -> str:
        """Text of all that the code depends on but the graph, the processor included."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a program with NumPy.

    Attributes:
        outputs: Number of outputs that were compared; 0 if none consists of integers on the way.
        seconds: Time that it took, maybe in an earlier process.
    """

    outputs: int
    seconds: float


def checked(
    program: Program, backend: Backend, options: CompileOptions, params: Mapping[str, Array]
) -> Comparison:
    """Return the comparison of ``program``: an earlier one on disk, or ``compare_with_numpy``.

    One that was passed is kept beside the compiled code, for the same graph with the same
    constants, code, processor, and versions of rlx and NumPy. Other values of parameters are not
    compared again.

    Raises:
        DifferenceError: Some output differs; nothing is kept then.
    """
    graph = program.module.graph
    if not isinstance(program, Keyed) or exact_values(graph).isdisjoint(graph.outputs):
        return compare_with_numpy(program, backend, options, params)
    parts = {
        "graph": structural_hash(graph),
        "code": program.code_key,
        "options": repr(options),
        "NumPy": np.__version__,
        "seed": str(SEED),
    }
    key, cache = entry_key(f"comparison {backend.name}", parts), disk_cache()
    content = cache.get(key)
    if content is not None:
        outputs, seconds = content.split()
        return Comparison(int(outputs), float(seconds))
    comparison = compare_with_numpy(program, backend, options, params)
    cache.put(key, b"%d %r" % (comparison.outputs, comparison.seconds))
    return comparison


@dataclass(frozen=True, slots=True)
class _Sample:
    """Random values for everything that a program reads.

    Attributes:
        inputs: A value for each input that is not a state, by name.
        states: A value for each state, by name.
        params: Every parameter, by name.
    """

    inputs: dict[str, Array]
    states: dict[str, Array]
    params: Mapping[str, Array]

    def values(self, graph: Graph) -> dict[Value, Array]:
        """Return the reference's array of every value of ``graph``."""
        return evaluate_all(graph, self.inputs | self.states, self.params)

    def run(self, program: Program) -> Sequence[Array]:
        """Return copies of the program's outputs; its states are as before afterwards."""
        former_states = {name: program.read_state(name) for name in self.states}
        for name, value in self.states.items():
            program.write_state(name, value)
        try:
            return [np.array(output) for output in program.run(list(self.inputs.values()))]
        finally:
            for name, value in former_states.items():
                program.write_state(name, value)


def compare_with_numpy(
    program: Program, backend: Backend, options: CompileOptions, params: Mapping[str, Array]
) -> Comparison:
    """Run ``program`` on random inputs, and compare its integer outputs with the reference.

    Nothing is compared if the graph has a loop without a bound, which random inputs may not end, or
    indices that even inputs of zeros leave outside of their axis.

    Args:
        program: A program whose parameters were set; its states are as before afterwards.
        backend: Backend that compiled it.
        options: Options that it was compiled with.
        params: Values of all parameters.

    Raises:
        DifferenceError: Some output differs; it names the first node that does.
    """
    begin = time.perf_counter()
    graph = program.module.graph
    exact = exact_values(graph)
    indices = [i for i, v in enumerate(graph.outputs) if v in exact]
    drawn = _sample(graph, params) if indices else None
    if drawn is None:
        return Comparison(0, time.perf_counter() - begin)
    sample, values = drawn
    actual = sample.run(program)
    for index in indices:
        output = graph.outputs[index]
        if not _equal(actual[index], values[output]):
            search = _Search(graph, backend, options, sample, values)
            raise search.error(output, actual[index])
    return Comparison(len(indices), time.perf_counter() - begin)


def exact_values(graph: Graph) -> frozenset[Value]:
    """Return the computed values that every correct program has bit for bit.

    These are the integers and booleans, and the floats that were only moved, quantized or
    dequantized, that do not depend on any other op on floats.
    """
    sources = {v for n in graph.nodes if isinstance(n.op, Source) for v in n.results}
    known = set(sources)
    for node in graph.op_nodes:
        if known.issuperset(node.operands) and _is_exact(node):
            known.update(node.results)
    return frozenset(known - sources)


def _is_exact(node: Node) -> bool:
    """Whether the results of a node follow bit for bit from its operands."""
    if isinstance(node.op, _EXACT_ON_FLOATS) or node.op.traits.moves_only:
        return True
    if isinstance(node.op, While) and node.op.max_iterations is None:
        return False
    types = [*(o.type for o in node.operands), *node.types]
    types += [t for _, region in node.op.regions() for n in all_nodes(region) for t in n.types]
    return not any(t.dtype.is_float for t in types)


def _sample(graph: Graph, params: Mapping[str, Array]) -> tuple[_Sample, dict[Value, Array]] | None:
    """Return random values with those of the reference; None if it cannot compute them."""
    loops = (n.op for n in all_nodes(graph) if isinstance(n.op, While))
    if any(loop.max_iterations is None for loop in loops):
        return None
    states = {v for n in graph.nodes if isinstance(n.op, State) for v in n.results}
    for largest in (_MAX_WIDE, 0):
        random = np.random.default_rng(SEED)
        samples = {v: random_value(v.type, random, largest) for v in graph.inputs}
        sample = _Sample(
            {v.name: a for v, a in samples.items() if v not in states},
            {v.name: a for v, a in samples.items() if v in states},
            params,
        )
        try:
            with np.errstate(all="ignore"):
                return sample, sample.values(graph)
        except IndexRangeError:
            continue
    return None


def random_value(type_: TensorType, random: np.random.Generator, largest: int) -> Array:
    """Return random elements of a type: any integer of up to 16 bits, small ones of more.

    Args:
        type_: A static type.
        random: Source of them.
        largest: Maximum of the integers of more than 16 bits.
    """
    shape, dtype = type_.static_shape, type_.dtype
    if dtype is DType.BOOL:
        return np.asarray(random.integers(0, 2, shape), np.bool_)
    if not dtype.is_integer:
        spread = np.float32(4.0) ** random.integers(-2, 3, shape)
        return np.asarray(random.standard_normal(shape) * spread, dtype.numpy)
    low, high = integer_range(dtype) if dtype.bits <= 16 else (0, largest)
    return np.asarray(random.integers(low, high, shape, endpoint=True)).astype(dtype.numpy)


def _equal(actual: Array, expected: Array) -> bool:
    """Whether arrays hold the same numbers; NaN equals NaN."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind == "f":
        return np.array_equal(actual, expected, equal_nan=True)
    return np.array_equal(actual, expected)


class _Search:
    """Search for the first node of a graph that a backend computes differently."""

    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        options: CompileOptions,
        sample: _Sample,
        values: Mapping[Value, Array],
    ) -> None:
        self._graph = graph
        self._backend = backend
        self._options = options
        self._sample = sample
        self._values = values

    def error(self, output: Value, actual: Array) -> DifferenceError:
        """Return the error for an output that differs."""
        value, array = self._first() or (output, actual)
        expected = self._values[value]
        node = value.node
        wrong = np.count_nonzero(np.asarray(array != expected))
        compiler = self._backend.compiler() if isinstance(self._backend, Compiled) else ""
        operands = ", ".join(str(o.type) for o in node.operands)
        return DifferenceError(
            f"backend {self._backend.name} ({compiler}) computes {wrong:,} of {expected.size:,}"
            f" elements of {value.type} otherwise than NumPy {np.__version__}, from {operands}",
            where=f"{node.op.name} {node.label}",
            hint="report it to the maker of the compiler; run the network by another backend",
        )

    def _first(self) -> tuple[Value, Array] | None:
        """Return the first value that differs where every value is an output, if one does."""
        graph, values = _with_all_outputs(self._graph)
        stage = Stage.HIR if any(isinstance(n.op, NnOp) for n in graph.nodes) else Stage.MIR
        planned = self._backend.plan(GraphModule(graph, stage), self._options)
        program = self._backend.compile(planned, self._options)
        if self._sample.params:
            program.set_params(self._sample.params)
        actual = self._sample.run(program)
        pairs = list(zip(values, actual, strict=True))
        for value, array in pairs[len(self._graph.outputs) :]:
            if not _equal(array, self._values[value]):
                return value, array
        return None


def _with_all_outputs(graph: Graph) -> tuple[Graph, list[Value]]:
    """Return a copy of ``graph`` with every exact value as an output, and what it returns."""
    copy = Graph(graph.name)
    new: dict[Value, Value] = {}
    for node in graph.nodes:
        node_copy = copy_node(copy, node, tuple(new[o] for o in node.operands))
        new.update(zip(node.results, node_copy.results, strict=True))
    exact = exact_values(graph)
    inner = [v for n in graph.op_nodes for v in n.results if v in exact]
    copy.output(*(new[v] for v in graph.outputs), names=graph.output_names)
    copy.output(*(new[v] for v in inner), names=[f"value {i}" for i in range(len(inner))])
    return copy, [*graph.outputs, *inner]
