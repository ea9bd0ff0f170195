"""From a graph and the user's options to a pipeline that fits the device and reaches the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rlx.errors import DoesNotFitError
from rlx_fpga.architectures.dataflow.pipeline import Pipeline, StagedGraph, staged_graph
from rlx_fpga.architectures.dataflow.prices import amount_of
from rlx_fpga.cells.multiply import PACKINGS
from rlx_fpga.cells.rom import STORES
from rlx_fpga.cost.costs import PORTS, Resources
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.devices import devices
from rlx_fpga.explore.folding import Folding
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import BUDGETS, FASTEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Graph
    from rlx_fpga.architectures.dataflow.lower import Layer
    from rlx_fpga.architectures.dataflow.pipeline import PipelineStage
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.explore.fold import Fold
    from rlx_fpga.options import FpgaOptions

    Choice = Callable[[Amount, int], Mapping[str, Fold] | None]

ROUNDS: Final = 8
"""How often limits are tightened when a whole design takes more than was predicted by layer."""

LATENCY_ROUNDS: Final = 4
"""How often the budget for shorter delays is halved until the design fits."""

FEW_PRODUCTS: Final = 2
"""Products of a layer that may always use LUT multipliers, to free DSP slices for other layers."""

UNLIMITED: Final = 1 << 30
"""LUT limit of a search that does not restrict them."""


@dataclass(frozen=True)
class StreamDesign:
    """A pipeline, and what it takes.

    Attributes:
        pipeline: The hardware.
        options: The user's options.
        resources: Cells by layer; those of no layer under :data:`rlx_fpga.cost.costs.PORTS`.
    """

    pipeline: Pipeline
    options: FpgaOptions
    resources: Mapping[str, Resources]

    @property
    def total(self) -> Resources:
        """Cells of the whole design."""
        return sum(self.resources.values(), Resources())


def design_of(graph: Graph, options: FpgaOptions) -> StreamDesign:
    """Return the design for ``graph`` that the options ask for.

    LUT multipliers are used if a LUT budget is given, if nothing else fits, or if they make the
    design faster (``FpgaOptions.default_lut``).

    Raises:
        UnsupportedOpError: An op cannot be built exactly.
        EmitError: Inputs, outputs or parameters cannot become streams.
        UsageError: A folding does not fit its layer.
        DoesNotFitError: The budget is too small, or too small for the rate.
    """
    program = staged_graph(graph)
    if options.lut is None:
        faster = _with_lut_multipliers(program, options)
        if faster is not None:
            return faster
        try:
            return _Search(program, options, logic=False).design()
        except DoesNotFitError:
            # It can only fit with LUT multipliers, if at all.
            pass
    return _Search(program, options, logic=True).design()


def _with_lut_multipliers(program: StagedGraph, options: FpgaOptions) -> StreamDesign | None:
    """Return the design that uses spare LUTs for LUT multipliers, if it is faster."""
    if options.default_lut is None:
        return None
    search = _Search(program, replace(options, lut=options.default_lut), logic=True)
    design = search.fastest()
    if design is None:
        return None
    device = options.chosen_device
    plain = folding_for(program, options, device, logic=False, few=FEW_PRODUCTS)
    folds = plain.fastest(options.budget)
    if folds is not None and search.pipeline(folds).interval <= design.pipeline.interval:
        return None
    return replace(design, options=options)


class _Search:
    """The search for foldings of one graph under the given options.

    Args:
        program: What to fold.
        options: The user's options.
        logic: LUT multipliers may be used.
    """

    def __init__(self, program: StagedGraph, options: FpgaOptions, *, logic: bool) -> None:
        self.program, self.options = program, options
        self.device = options.chosen_device
        self.folding = folding_for(program, options, self.device, logic=logic)
        self.multipliers_first = logic and options.aim in FASTEST
        if not logic and options.aim in FASTEST:
            self._free_multipliers()
        if self.multipliers_first:
            # DSP slices are free until they run out; only then do further products take LUTs.
            self.folding.weights = replace(self.folding.weights, dsp=0)
        self.budget = options.budget
        self._holds: dict[str, Fraction] = {}
        self._layers: dict[tuple[str, Fold], Layer] = {}
        self._smallest: Resources | None = None

    def _free_multipliers(self) -> None:
        """Take DSP slices from small layers if that makes the slowest one faster."""
        freed = folding_for(self.program, self.options, self.device, logic=False, few=FEW_PRODUCTS)
        after, before = (one.min_cycles(self.options.budget) for one in (freed, self.folding))
        if after is not None and before is not None and after < before:
            self.folding, self.multipliers_first = freed, True

    def design(self) -> StreamDesign:
        """Return the best design for the goal.

        Raises:
            DoesNotFitError: No design fits the budget, or none that does reaches the rate.
        """
        design, wanted = self.fastest(), self.options.max_cycles
        if design is None or (wanted is not None and design.pipeline.interval > wanted):
            return self._chosen_and_counted()
        return design

    def fastest(self) -> StreamDesign | None:
        """Return the fastest design that fits, where LUTs may be spent on speed.

        For every number of cycles there is one design, whatever the LUT budget, and the binary
        search over cycles depends only on which of them fit: a larger LUT budget never gives a
        slower design.

        None if nothing fits, or if LUTs are not to be spent.
        """
        if not self.multipliers_first:
            return None
        steps, best = self.folding.steps, None
        low, high = 0, len(steps) - 1
        while low <= high:
            middle = (low + high) // 2
            design = self._within(steps[middle])
            if design is None:
                low = middle + 1
            else:
                best, high = design, middle - 1
        if best is None:
            return None
        # A whole layer, or a port, can be slower than its folding predicts.
        cycles = best.pipeline.interval
        best = self._within(cycles, self.folding.cheapest) or self._within(cycles) or best
        return self._lower_latency(best) if self.options.aim == "latency" else best

    def _within(self, cycles: int, choose: Choice | None = None) -> StreamDesign | None:
        """Return the best design with no layer slower than ``cycles``, if it fits.

        Args:
            cycles: Maximum cycles of a layer.
            choose: Selects the foldings; by default those with the fewest LUTs.
        """
        choose = choose or self.folding.smallest
        limit = replace(self.budget, lut=UNLIMITED)
        for _ in range(ROUNDS):
            folds = choose(limit, cycles)
            if folds is None:
                return None
            design = self._counted(self.pipeline(folds))
            excess = self._excess(design)
            if excess == Amount():
                return design
            if excess.lut:
                return None
            # Queues take block RAMs too.
            limit = _tightened(limit, self.folding.amount(folds), excess, 0)
        return None

    def _lower_latency(self, fastest: StreamDesign) -> StreamDesign:
        """Return a design as fast as ``fastest`` that spends spare LUTs on shorter delays."""
        interval = fastest.pipeline.interval
        folds = {
            stage.name: layer.fold
            for stage, layer in zip(self.program.stages, fastest.pipeline.layers, strict=True)
        }
        slowest = max(fold.cycles for fold in folds.values())
        taken = self.folding.amount(folds).lut
        spare = self.budget.lut - fastest.total.lut
        for part in range(LATENCY_ROUNDS):
            limit = replace(self.budget, lut=taken + (spare >> part))
            quicker = self.folding.lowest_latency(limit, self._delay, slowest)
            if quicker is None:
                break
            design = self._counted(self.pipeline(quicker))
            if self._excess(design) == Amount() and design.pipeline.interval <= interval:
                return design
        return fastest

    def _chosen_and_counted(self) -> StreamDesign:
        """Choose, build and count; tighten the limits and choose again while it does not fit."""
        limit, cycles = self.budget, self.options.max_cycles
        for _ in range(ROUNDS):
            folds = self._chosen(limit, cycles)
            if folds is None:
                break
            pipeline = self.pipeline(folds)
            wanted = self.options.max_cycles
            if wanted is not None and pipeline.interval > wanted:
                # The cycles of a folding are a lower bound: the whole layer can be slower.
                slowest = max(fold.cycles for fold in folds.values())
                cycles = min(slowest, cycles or slowest) - 1
                continue
            design = self._counted(pipeline)
            self._smallest = design.total
            excess = self._excess(design)
            if excess == Amount():
                return design
            taken = self.folding.amount(folds)
            # Foldings predict only a part of the LUTs that were counted.
            counted = max(design.total.lut, self._logic_cells(design), 1)
            lut = -(-excess.lut * taken.lut // counted)
            limit = _tightened(limit, taken, excess, lut)
        raise self._refusal()

    def pipeline(self, folds: Mapping[str, Fold]) -> Pipeline:
        """Return the pipeline for a choice of foldings; a layer is built once for each folding."""
        return Pipeline(self.program, folds, self._built)

    def _built(self, stage: PipelineStage, fold: Fold) -> Layer:
        """Return a layer, the same object for the same folding."""
        key = stage.name, fold
        if key not in self._layers:
            self._layers[key] = stage.plan.build(fold)
        return self._layers[key]

    def _counted(self, pipeline: Pipeline) -> StreamDesign:
        resources = resources_by_layer(pipeline, self.device.family)
        return StreamDesign(pipeline, self.options, resources)

    def _excess(self, design: StreamDesign) -> Amount:
        excess = _excess(design.total, self.budget, self.device.family)
        return replace(excess, lut=max(excess.lut, self._logic_cells(design) - self.device.lut))

    def _logic_cells(self, design: StreamDesign) -> int:
        """Return the logic cells of a design; 0 if the device counts LUTs and flip-flops."""
        return design.total.logic_cells if self.device.joint_cells else 0

    def _chosen(self, limit: Amount, cycles: int | None) -> dict[str, Fold] | None:
        """Return the foldings for the goal."""
        match self.options.aim:
            case "throughput":
                found = self.folding.fastest(limit)
            case "latency":
                found = self.folding.lowest_latency(limit, self._delay)
            case "energy":
                found = self.folding.lowest_energy(limit, cycles)
            case _:
                found = self.folding.cheapest(limit, cycles)
        if found is None or cycles is None:
            return found
        return found if all(fold.cycles <= cycles for fold in found.values()) else None

    def _delay(self, name: str, fold: Fold) -> int:
        """Return the cycles by which a layer delays a frame."""
        if name not in self._holds:
            stage = next(stage for stage in self.program.stages if stage.name == name)
            layer = stage.plan.build(self.folding.allowed[name][0])
            self._holds[name] = min(layer.hold, Fraction(1))
        return int(self._holds[name] * fold.cycles)

    def _refusal(self) -> DoesNotFitError:
        minimum = self.folding.min_amount()
        if self._smallest is not None:
            # The last design built took more than was predicted, and there is no smaller one.
            minimum = _maximum(minimum, _excess(self._smallest, Amount(), self.device.family))
        short = {
            name: _count(getattr(minimum, name), name, self.device)
            for name in BUDGETS
            if getattr(minimum, name) > getattr(self.budget, name)
        }
        where = f"{self.device.name}"
        if short:
            problems = [
                f"at least {count} {BUDGETS[name]},"
                f" the budget is {_count(getattr(self.budget, name), name, self.device)}"
                f" (--{name})"
                for name, count in short.items()
            ]
            return DoesNotFitError(
                "the layers need " + "; ".join(problems), where=where, hint=self._suggestions(short)
            )
        fastest = self._fastest()
        if fastest is None or self.options.fps is None:
            return DoesNotFitError(
                "no folding fits all budgets at once", where=where, hint=self._suggestions({})
            )
        reached = self.options.clock_hz / fastest
        return DoesNotFitError(
            f"{self.options.fps:g} frames per second cannot be reached at"
            f" {self.options.clock_hz / 1e6:g} MHz: the maximum within the budget is {reached:.4g}"
            f" (initiation interval {fastest} cycles)",
            where=where,
            hint=self._suggestions({}, fastest),
        )

    def _fastest(self) -> int | None:
        """Return the minimum initiation interval within the budget; None if nothing fits."""
        if self.options.fps is None:
            return None
        free = replace(self.options, fps=None, optimize="throughput")
        try:
            return _Search(self.program, free, logic=True).design().pipeline.interval
        except DoesNotFitError:
            return None

    def _suggestions(self, short: Mapping[str, str], fastest: int | None = None) -> str:
        """Return options to try.

        Args:
            short: The amount needed of each resource that is short.
            fastest: The minimum initiation interval, if it is too long for the rate.
        """
        given = [name for name in short if getattr(self.options, name) is not None]
        found = [" ".join(f"--{name} {short[name]}" for name in given)] if given else []
        if fastest is not None and self.options.fps is not None:
            found += [
                f"--fps {int(self.options.clock_hz / fastest)}",
                f"--clock {-(-self.options.fps * fastest // 1e6):.0f}MHz",
            ]
        others = (d for d in devices().values() if d.name != self.device.name)
        other = None if given else next((d.name for d in others if self._fits_on(d)), None)
        if other is not None:
            found.append(f"--device {other}")
        return ", or ".join(found) or "make the model smaller"

    def _fits_on(self, other: FpgaDevice) -> bool:
        """Return whether the layers fit another device with a third of its LUTs to spare."""
        folding = folding_for(self.program, self.options, other, logic=True)
        whole = replace(self.options, device=other.name).budget
        limit = Amount(whole.dsp, whole.bram, whole.lut * 2 // 3)
        fps = self.options.fps
        hertz = self.options.clock or other.clock_mhz * 1e6
        return folding.cheapest(limit, None if fps is None else int(hertz / fps)) is not None


def folding_for(
    program: StagedGraph,
    options: FpgaOptions,
    device: FpgaDevice,
    *,
    logic: bool,
    few: int = 0,
) -> Folding:
    """Return the foldings of ``program``, priced for ``device``; see ``StagedGraph.choices``."""
    plans = {stage.name: stage.plan for stage in program.stages}
    return Folding(
        program.choices(
            logic=logic,
            few=few,
            packing=PACKINGS[device.family],
            store=STORES[device.family],
        ),
        {name: (pe, simd) for name, pe, simd in options.fold},
        lambda name, fold: amount_of(plans[name], fold, device.family),
        _weights(device),
    )


def _weights(device: FpgaDevice) -> Amount:
    """Return costs by scarcity: all DSP slices cost as much as all block RAMs, or all LUTs."""
    whole = _all_of(device)
    return Amount(*(10**7 // max(count, 1) for count in (whole.dsp, whole.bram, whole.lut)))


def resources_by_layer(pipeline: Pipeline, family: str) -> dict[str, Resources]:
    """Return the cells of each layer, with its queues and registers, and of the ``PORTS``."""
    names = [stage.name for stage in pipeline.program.stages]
    found = dict.fromkeys([*names, PORTS], Resources())
    for part, cell in pipeline.parts().items():
        owner = next((n for n in names if part == n or part.startswith(f"{n}_")), PORTS)
        found[owner] += cell.cost(family)
    return found


def _all_of(device: FpgaDevice) -> Amount:
    return Amount(device.dsp, device.bram * LIBRARIES[device.family].parts, device.lut)


def _count(number: int, name: str, device: FpgaDevice) -> str:
    """Return a number of parts in the unit that users count."""
    parts = LIBRARIES[device.family].parts if name == "bram" else 1
    return f"{number / parts:g}"


def _maximum(one: Amount, other: Amount) -> Amount:
    """Return the maximum of each resource."""
    return Amount(max(one.dsp, other.dsp), max(one.bram, other.bram), max(one.lut, other.lut))


def _tightened(limit: Amount, taken: Amount, excess: Amount, lut: int) -> Amount:
    """Return limits for the next choice after one that exceeded the budget.

    Args:
        limit: Limits of the last choice.
        taken: What it was predicted to take.
        excess: By how much the design built from it exceeds the budget.
        lut: By how many predicted LUTs to reduce the limit.
    """
    return Amount(
        taken.dsp - excess.dsp if excess.dsp else limit.dsp,
        taken.bram - excess.bram if excess.bram else limit.bram,
        taken.lut - lut if excess.lut else limit.lut,
    )


def _excess(total: Resources, budget: Amount, family: str) -> Amount:
    """Return by how much a design exceeds the budget."""
    parts = int(total.bram * LIBRARIES[family].parts)
    return Amount(
        max(total.dsp - budget.dsp, 0),
        max(parts - budget.bram, 0),
        max(total.lut - budget.lut, 0),
    )
