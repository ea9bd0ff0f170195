"""The memory that a planned graph needs, before it is loaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rlx.ir.graph import Constant
from rlx.ir.module import Region
from rlx.ir.payload import to_buffer
from rlx.ir.regions import all_nodes
from rlx.ops.work import host_bytes
from rlx.support.calls import checked_call
from rlx.support.errors import DoesNotFitError
from rlx.support.text.notebook import report_html
from rlx.support.text.tables import Figures, ReportFigure, figure_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rlx.ir import Array, Graph, GraphModule, TensorType
    from rlx.ir.module import MemoryPlan


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryEstimate:
    """Bytes that a graph needs on the host; each byte is in one of the parts.

    Memory of Python and NumPy themselves is not included, nor other forms of the weights that
    kernels make for themselves.

    Attributes:
        name: Name of the graph.
        arena: Values that are neither constant nor kept from run to run; inputs and outputs too,
            where the plan places them there.
        inputs: Inputs outside the arena.
        outputs: Outputs outside the arena.
        states: Values that are kept from run to run.
        weights: Constants, equal ones once.
        params: Parameters, and values that are computed from them when they are set.
        workspace: Scratch memory of single steps, which run one after the other in the same bytes;
            None if it is not known.
    """

    name: str
    arena: int
    inputs: int
    outputs: int
    states: int
    weights: int
    params: int
    workspace: int | None = None

    @property
    def total(self) -> int:
        """All parts that are known."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, int]:
        """Return the bytes of each part that is known, by name."""
        return {k: v for k, v in asdict(self).items() if isinstance(v, int)}

    @checked_call
    def fits(self, limit_bytes: int) -> bool:
        """Whether all parts together fit in a limit.

        Args:
            limit_bytes: Bytes of memory.
        """
        return self.total <= limit_bytes

    @checked_call
    def require(self, limit_bytes: int) -> MemoryEstimate:
        """Return the estimate if it fits.

        Args:
            limit_bytes: Bytes of memory.

        Raises:
            DoesNotFitError: It does not.
        """
        if self.fits(limit_bytes):
            return self
        most, nbytes = max(self.parts().items(), key=lambda part: part[1])
        raise DoesNotFitError(
            f"it needs {self.total:,} bytes, {limit_bytes:,} are given",
            where=f"graph {self.name!r}",
            hint=f"most is {most}: {nbytes:,} bytes; take smaller batches or fewer weights",
        )

    def as_json(self) -> dict[str, Any]:
        """Return name, parts and total."""
        return {**asdict(self), "total": self.total}

    def figures(self) -> Figures:
        """Return the parts and the total, as the command line shows them."""
        parts = self.parts().items()
        rows = [ReportFigure(name, nbytes, "B", _NOTES[name]) for name, nbytes in parts if nbytes]
        return Figures(f"memory of {self.name}", (*rows, ReportFigure("total", self.total, "B")))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {nbytes:,}" for name, nbytes in self.parts().items())
        return f"<MemoryEstimate of {self.name!r}: {self.total:,} bytes: {parts}>"

    def __str__(self) -> str:
        figures = self.figures()
        return "\n".join([figures.title, *figure_lines(figures)])

    def _repr_html_(self) -> str:
        return report_html(f"memory of {self.name}, bytes", {**self.parts(), "total": self.total})


_NOTES = {
    "arena": "values of one run, in the same bytes one after the other",
    "inputs": "outside the arena",
    "outputs": "outside the arena",
    "states": "kept from run to run",
    "weights": "constants, equal ones once",
    "params": "parameters, and what is computed of them when they are set",
    "workspace": "of single steps, one after the other",
}


def estimate_memory(
    module: GraphModule, *, prologue: Graph | None = None, workspace: int | None = None
) -> MemoryEstimate:
    """Return the memory that a graph at stage LIR needs, without running it.

    Args:
        module: The graph with its plan.
        prologue: Computes parameters of the module from those that the caller sets.
        workspace: Bytes that its steps share, if they are known.

    Raises:
        ValueError: The module has no plan.
    """
    plan, graph = module.plan, module.graph
    if plan is None:
        raise ValueError(f"graph {graph.name!r} has no memory plan; it is at {module.stage.value}")
    states = {value for value, _ in graph.states}
    params = {v.name: host_bytes(v.type) for v in graph.params}
    if prologue is not None:
        params |= {v.name: host_bytes(v.type) for v in prologue.params}
    return MemoryEstimate(
        name=graph.name,
        arena=plan.arena_bytes + _unpacked_bytes(plan),
        inputs=_outside(plan, Region.INPUT),
        outputs=_outside(plan, Region.OUTPUT),
        states=sum(host_bytes(v.type) for v in states),
        weights=constant_bytes([graph] if prologue is None else [graph, prologue]),
        params=sum(params.values()),
        workspace=workspace,
    )


def _outside(plan: MemoryPlan, region: Region) -> int:
    """Return the bytes of the buffers in a region; values that share one count once."""
    own = [p for p in plan.placements if p.region is region and p.alias_of is None]
    return sum(host_bytes(p.value.type) for p in own)


def _unpacked_bytes(plan: MemoryPlan) -> int:
    """Return the bytes of values below 8 bits, which NumPy does not pack as the plan does."""
    sizes = [(host_bytes(p.value.type), p.nbytes) for p in plan.placements]
    return sum(found for found, planned in sizes if found > planned)


def constant_bytes(graphs: Iterable[Graph]) -> int:
    """Return the bytes of all constants, those with the same contents once.

    Constants that are in the same memory, such as parts of one file, count their bytes once.
    """
    alike: dict[TensorType, dict[int, Array]] = {}
    for node in (n for graph in graphs for n in all_nodes(graph)):
        if isinstance(node.op, Constant):
            array = node.op.value
            begin = array.__array_interface__["data"][0]
            alike.setdefault(node.types[0].with_quant(None), {})[begin] = array
    total, end = 0, 0
    extents = [place for arrays in alike.values() for place in _distinct(arrays)]
    # Union of the ranges: parts of one array may overlap.
    for first, last in sorted(extents):
        total += max(0, last - max(first, end))
        end = max(end, last)
    return total


def _distinct(arrays: Mapping[int, Array]) -> Iterator[tuple[int, int]]:
    """Yield the range of each array of one type, by where it begins; equal ones once."""
    digests: set[bytes] = set()
    for begin, array in arrays.items():
        if len(arrays) > 1:
            contents = sha256(to_buffer(array)).digest()
            if contents in digests:
                continue
            digests.add(contents)
        yield begin, begin + array.nbytes
