"""From a graph and the user's options to a pipeline that fits the device and reaches the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.price import amount_of, folding_for
from rlx_fpga.architectures.dataflow.refusal import too_large, too_slow
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cost.costs import JOINT_SHARE, PORTS, Resources
from rlx_fpga.explore.folding import first_step
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import FASTEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Graph
    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.explore.fold import Fold
    from rlx_fpga.explore.folding import Folding
    from rlx_fpga.options import FpgaOptions

    Choice = Callable[[Amount, int | None], Mapping[str, Fold] | None]

MAX_REFOLDINGS: Final = 8
"""Maximum rounds of folding layers again after reserving resources for queues between them."""

MAX_FREED_PRODUCTS: Final = 2
"""Products of a layer that may always use LUT multipliers, to free DSP slices for other layers."""


@dataclass(frozen=True)
class StreamDesign:
    """A pipeline and its resources.

    Attributes:
        pipeline: The hardware.
        options: The user's options.
        resources: Cells by layer; those of no layer under :data:`rlx_fpga.cost.costs.PORTS`.
    """

    pipeline: Pipeline
    options: FpgaOptions
    resources: Mapping[str, Resources]

    @cached_property
    def total(self) -> Resources:
        """Cells of the whole design."""
        return sum(self.resources.values(), Resources())


def design_of(graph: Graph, options: FpgaOptions) -> StreamDesign:
    """Return the design for ``graph`` under the options.

    LUT multipliers are used with a LUT budget; within ``FpgaOptions.default_lut``, if they
    make the design faster, or no other reaches the rate; and if no other design fits.

    Raises:
        UnsupportedOpError: An op cannot be built exactly.
        EmitError: Inputs, outputs or parameters cannot become streams.
        UsageError: A folding does not fit its layer.
        DoesNotFitError: The budget is too small, or too small for the rate.
    """
    program = staged_graph(graph)
    whole = _with_all_luts(options)
    cells_of = partial(_cells, program)
    for budget_options in (options, whole) if options.lut is None else (options,):
        design, smallest = _within_budget(program, budget_options)
        if design is not None:
            return replace(design, options=options)
        if options.fps is not None:
            free = replace(budget_options, fps=None, optimize="throughput")
            fastest, _ = _within_budget(program, free)
            if fastest is not None:
                if fastest.pipeline.interval <= (options.max_cycles or 0):
                    # Close to the limits, reserving space may miss the cheapest design.
                    return replace(fastest, options=options)
                more = budget_options is not whole and _within_budget(program, whole)[0] is not None
                lut = whole.lut if more and options.lut is None else None
                raise too_slow(program, options, fastest.pipeline.interval, lut, cells_of)
    raise too_large(program, options, smallest, cells_of)


def _cells(program: StagedGraph, options: FpgaOptions) -> Resources | None:
    """Return the cells of the design that ``design_of`` finds; None if there is none.

    With a rate and no LUT budget, only designs within the default budget are tried: each takes
    two searches more.
    """
    design, _ = _within_budget(program, options)
    if design is None and options.lut is None and options.fps is None:
        design, _ = _within_budget(program, _with_all_luts(options))
    return None if design is None else design.total


def _with_all_luts(options: FpgaOptions) -> FpgaOptions:
    return replace(options, lut=options.chosen_device.lut)


def _within_budget(
    program: StagedGraph, options: FpgaOptions
) -> tuple[StreamDesign | None, Resources | None]:
    """Return the best design, or else the cells of a small one that does not fit."""
    if options.lut is not None:
        search = _Search(program, options, logic=True)
        return search.best(), search.smallest
    plain = _Search(program, options, logic=False)
    if options.default_lut is None:
        return plain.best(), plain.smallest
    share = _Search(program, replace(options, lut=options.default_lut), logic=True)
    if options.aim not in FASTEST:
        return plain.best() or share.best(), plain.smallest
    shared_design = share.best()
    if shared_design is not None and not plain.may_reach(shared_design.pipeline.interval):
        return shared_design, plain.smallest
    designs = [design for design in (plain.best(), shared_design) if design is not None]
    return min(designs, key=lambda design: design.pipeline.interval, default=None), plain.smallest


class _Search:
    """The search for foldings of one graph under the user's options.

    Foldings are chosen by the resources of the layers. Those of the queues and registers between
    layers depend on all foldings: they are counted afterwards, and reserved if the sum does not
    fit.

    Args:
        program: Graph to fold.
        options: The user's options.
        logic: LUT multipliers may be used.

    Attributes:
        smallest: Cells of the last design that did not fit, or None.
    """

    def __init__(self, program: StagedGraph, options: FpgaOptions, *, logic: bool) -> None:
        self.program, self.options, self.logic = program, options, logic
        self.device = options.chosen_device
        self.limit = options.budget
        if self.device.joint_cells:
            whole = (options.lut or 0) >= self.device.lut
            cells = self.device.lut if whole else int(JOINT_SHARE * self.device.lut)
            self.limit = replace(self.limit, lut=cells)
        self.smallest: Resources | None = None
        self._holds: dict[str, Fraction] = {}
        self._found: dict[int | None, StreamDesign | None] = {}

    @cached_property
    def folding(self) -> Folding:
        """The foldings to choose from.

        Where speed is the goal and LUT multipliers are allowed, DSP slices are free until they
        run out; only then do further products use LUTs. Small layers use LUTs instead of their DSP
        slices if that makes the slowest layer faster, and speed or a rate is the goal.
        """
        speed, max_cycles = self.options.aim in FASTEST, self.options.max_cycles
        folding = self._folding(free_dsp=speed and self.logic)
        if self.logic or not (speed or max_cycles):
            return folding
        before = folding.min_cycles(self.limit)
        if before is not None and not speed and max_cycles is not None and before <= max_cycles:
            return folding
        few = self._folding(few=MAX_FREED_PRODUCTS, free_dsp=speed)
        after = few.min_cycles(self.limit)
        return few if after is not None and (before is None or after < before) else folding

    def _folding(self, *, few: int = 0, free_dsp: bool = False) -> Folding:
        return folding_for(
            self.program, self.options, self.device, logic=self.logic, few=few, free_dsp=free_dsp
        )

    def may_reach(self, cycles: int) -> bool:
        """Return whether all layers fit within ``cycles``, without the cells between them."""
        return self._folding(few=MAX_FREED_PRODUCTS).cheapest(self.limit, cycles) is not None

    def best(self) -> StreamDesign | None:
        """Return the best design for the goal; None if none fits and reaches the rate."""
        max_cycles = self.options.max_cycles
        match self.options.aim:
            case "size":
                return self._cheapest(max_cycles)
            case "energy":
                return self._fit(self.folding.lowest_energy, max_cycles)
        design = self.fastest()
        if design is None or design.pipeline.interval > (max_cycles or design.pipeline.interval):
            return None
        interval = design.pipeline.interval
        if self.options.aim == "latency":
            return self._fit(self._lowest_latency, interval) or design
        return self._cheapest(interval) or design

    def fastest(self) -> StreamDesign | None:
        """Return a design with the minimum initiation interval; None if no design fits."""
        folding = self.folding
        if not folding.steps:
            # No layer can be folded: there is one design.
            return self._cheapest(None)
        # No design is faster than the layers permit.
        minimum = folding.min_cycles(self.limit)
        if minimum is None:
            return None
        design = first_step(folding.steps, self._cheapest, minimum) or self._cheapest(None)
        # Whole layers, and ports, can be slower than foldings predict: an interval need not be one
        # of their cycles.
        while design is not None and design.pipeline.interval > minimum:
            faster = self._cheapest(design.pipeline.interval - 1)
            if faster is None:
                break
            design = faster
        return design

    def _cheapest(self, cycles: int | None) -> StreamDesign | None:
        """Return the cheapest design that is fast enough, or the smallest if that does not fit."""
        if cycles not in self._found:
            self._found[cycles] = self._fit(self.folding.cheapest, cycles) or self._fit(
                self.folding.smallest, cycles
            )
        return self._found[cycles]

    def _fit(self, choose: Choice, cycles: int | None) -> StreamDesign | None:
        """Return the design of the best choice that fits as a whole.

        Args:
            choose: Selects foldings within a limit, of at most the given cycles.
            cycles: Maximum initiation interval, or None.
        """
        limit, slowest = self.limit, cycles
        for _ in range(MAX_REFOLDINGS):
            folds = choose(limit, slowest)
            if folds is None:
                return None
            design = self._count(folds)
            if cycles is not None and design.pipeline.interval > cycles:
                if not folds:
                    return None
                # The cycles of a folding are a lower bound: the whole layer can be slower.
                slowest = max(fold.cycles for fold in folds.values()) - 1
                continue
            excess = self._excess(design)
            if excess == Amount():
                return design
            self.smallest = design.total
            limit = _reserve(limit, self.folding.amount(folds), excess)
        return None

    def _count(self, folds: Mapping[str, Fold]) -> StreamDesign:
        """Return the design for a choice of foldings."""
        pipeline = Pipeline(self.program, folds)
        resources = resources_by_layer(pipeline, self.device.family)
        return StreamDesign(pipeline, self.options, resources)

    def _excess(self, design: StreamDesign) -> Amount:
        """Return the excess of a design over the budget."""
        taken, total = amount_of(design.total, self.device), design.total
        return Amount(
            max(taken.dsp - self.limit.dsp, 0),
            max(taken.bram - self.limit.bram, 0),
            max(taken.lut - self.limit.lut, total.lut - self.options.budget.lut, 0),
        )

    def _lowest_latency(self, limit: Amount, cycles: int | None) -> Mapping[str, Fold] | None:
        return self.folding.lowest_latency(limit, self._delay, cycles)

    def _delay(self, name: str, fold: Fold) -> int:
        """Return the cycles by which a layer delays a frame."""
        if name not in self._holds:
            stage = next(stage for stage in self.program.stages if stage.name == name)
            layer = stage.layer(self.folding.allowed[name][0])
            self._holds[name] = min(layer.hold, Fraction(1))
        return int(self._holds[name] * fold.cycles)


def _reserve(limit: Amount, used: Amount, excess: Amount) -> Amount:
    """Return the limit for layers that leaves space for the queues between them.

    Args:
        limit: The last limit.
        used: Resources of the foldings chosen within it.
        excess: Excess of the whole design over the budget.
    """
    return Amount(
        used.dsp - excess.dsp if excess.dsp else limit.dsp,
        used.bram - excess.bram if excess.bram else limit.bram,
        used.lut - excess.lut if excess.lut else limit.lut,
    )


def resources_by_layer(pipeline: Pipeline, family: str) -> dict[str, Resources]:
    """Return the cells of each layer, with its queues and registers, and of the ``PORTS``."""
    found = {PORTS: Resources()}
    for stage, layer in zip(pipeline.program.stages, pipeline.layers, strict=True):
        found[stage.name] = stage.plan.cost(layer.fold, family)
    for owner, cells in pipeline.between().items():
        for cell in cells:
            found[owner] += cell.cost(family)
    return found
