"""From a graph and the user's wishes to a pipeline that fits the device and keeps the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rlx.errors import DoesNotFitError
from rlx_fpga.cells.multiply import PAIRINGS, blocks_of
from rlx_fpga.cells.rom import STORES
from rlx_fpga.costs import Resources, resources_by_layer
from rlx_fpga.devices import devices
from rlx_fpga.folding import Folding
from rlx_fpga.laws import structure_by_law
from rlx_fpga.memories import LIBRARIES
from rlx_fpga.options import BUDGETS, FASTEST
from rlx_fpga.pipeline import Pipeline, Program, program_of
from rlx_fpga.prices import amount_of
from rlx_fpga.solver import Amount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Graph
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.devices import Device
    from rlx_fpga.lower import Fold, Layer
    from rlx_fpga.options import FpgaOptions
    from rlx_fpga.pipeline import Stage
    from rlx_fpga.structure import Structure

    Choice = Callable[[Amount, int], Mapping[str, Fold] | None]

ROUNDS: Final = 8
"""How often limits are drawn in where a whole design takes more than its layers told."""

QUICKEST_ROUNDS: Final = 4
"""How often less of what is left over is spent on shorter delays until it fits."""

FEW_PRODUCTS: Final = 2
"""Products of a layer that may be made of lookup tables in any design, for want of multipliers."""

PLENTY: Final = 1 << 30
"""Lookup tables where there is no limit to them."""


@dataclass(frozen=True)
class Design:
    """A pipeline, and what it takes.

    Attributes:
        pipeline: The hardware.
        options: What the user wished.
        resources: Cells by layer; those of no layer under :data:`rlx_fpga.costs.PORTS`.
    """

    pipeline: Pipeline
    options: FpgaOptions
    resources: Mapping[str, Resources]

    @property
    def total(self) -> Resources:
        """Cells of the whole design."""
        return sum(self.resources.values(), Resources())


def design_of(graph: Graph, options: FpgaOptions) -> Design:
    """Return the design for ``graph`` that the options ask for.

    Products are made of lookup tables if a budget of them is given, or where nothing else will do,
    or where that makes the design faster (``FpgaOptions.spare_lut``).

    Raises:
        UnsupportedOpError: An op cannot be built exactly.
        EmitError: Inputs, outputs or parameters cannot become streams.
        UsageError: A folding does not fit its layer.
        DoesNotFitError: The budget is too small, or too small for the rate.
    """
    program = program_of(graph)
    if options.lut is None:
        faster = _with_spare_tables(program, options)
        if faster is not None:
            return faster
        try:
            return _Search(program, options, logic=False).design()
        except DoesNotFitError:
            # Only with products made of lookup tables, if at all.
            pass
    return _Search(program, options, logic=True).design()


def _with_spare_tables(program: Program, options: FpgaOptions) -> Design | None:
    """Return the design with products made of lookup tables to spare, if it is faster."""
    if options.spare_lut is None:
        return None
    search = _Search(program, replace(options, lut=options.spare_lut), logic=True)
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
    """The foldings of one program under the wishes of one user.

    Args:
        program: What to fold.
        options: What the user wishes.
        logic: Products may be made of lookup tables.
    """

    def __init__(self, program: Program, options: FpgaOptions, *, logic: bool) -> None:
        self.program, self.options = program, options
        self.device = options.chosen_device
        self.folding = folding_for(program, options, self.device, logic=logic)
        self.multipliers_first = logic and options.aim in FASTEST
        if not logic and options.aim in FASTEST:
            self._free_multipliers()
        if self.multipliers_first:
            # They are there: what becomes faster takes lookup tables only for what is beyond them.
            self.folding.weights = replace(self.folding.weights, dsp=0)
        self.budget = options.budget
        self._holds: dict[str, Fraction] = {}
        self._layers: dict[tuple[str, Fold], Layer] = {}
        self._structures: dict[int, Structure] = {}
        self._smallest: Resources | None = None

    def _free_multipliers(self) -> None:
        """Let small layers do without multipliers, if that makes the slowest one faster."""
        freed = folding_for(self.program, self.options, self.device, logic=False, few=FEW_PRODUCTS)
        least, before = (one.least_cycles(self.options.budget) for one in (freed, self.folding))
        if least is not None and before is not None and least < before:
            self.folding, self.multipliers_first = freed, True

    def design(self) -> Design:
        """Return what the user wants most.

        Raises:
            DoesNotFitError: No design keeps the budget, or the rate within it.
        """
        design, wanted = self.fastest(), self.options.most_cycles
        if design is None or (wanted is not None and design.pipeline.interval > wanted):
            return self._chosen_and_counted()
        return design

    def fastest(self) -> Design | None:
        """Return the fastest design that fits, where lookup tables may be spent on speed.

        For every number of cycles there is one design, whatever the budget of lookup tables. Which
        of them are counted depends on which fit alone, and it is searched by halves: so more lookup
        tables never make a slower design.

        None if nothing fits, or if they are not to be spent.
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
        # A whole layer, or a port, can be slower than its folding promises.
        cycles = best.pipeline.interval
        best = self._within(cycles, self.folding.cheapest) or self._within(cycles) or best
        return self._quickest(best) if self.options.aim == "latency" else best

    def _within(self, cycles: int, choose: Choice | None = None) -> Design | None:
        """Return the design that is as fast as that, if it fits.

        Args:
            cycles: Of the slowest layer.
            choose: What is to be least; lookup tables if not given.
        """
        choose = choose or self.folding.smallest
        limit = replace(self.budget, lut=PLENTY)
        for _ in range(ROUNDS):
            folds = choose(limit, cycles)
            if folds is None:
                return None
            design = self._counted(self.pipeline(folds))
            beyond = self._beyond(design)
            if beyond == Amount():
                return design
            if beyond.lut:
                return None
            # Queues take block memories too.
            limit = _drawn_in(limit, self.folding.amount(folds), beyond, 0)
        return None

    def _quickest(self, fastest: Design) -> Design:
        """Return a design as fast as ``fastest`` that spends what is left on shorter delays."""
        interval = fastest.pipeline.interval
        folds = {
            stage.name: layer.fold
            for stage, layer in zip(self.program.stages, fastest.pipeline.layers, strict=True)
        }
        slowest = max(fold.cycles for fold in folds.values())
        taken = self.folding.amount(folds).lut
        spare = self.budget.lut - fastest.total.lut
        for part in range(QUICKEST_ROUNDS):
            limit = replace(self.budget, lut=taken + (spare >> part))
            quicker = self.folding.quickest(limit, self._delay, slowest)
            if quicker is None:
                break
            design = self._counted(self.pipeline(quicker))
            if self._beyond(design) == Amount() and design.pipeline.interval <= interval:
                return design
        return fastest

    def _chosen_and_counted(self) -> Design:
        """Choose, build and count; draw the limits in and choose again if it is too much."""
        limit, cycles = self.budget, self.options.most_cycles
        for _ in range(ROUNDS):
            folds = self._chosen(limit, cycles)
            if folds is None:
                break
            pipeline = self.pipeline(folds)
            wanted = self.options.most_cycles
            if wanted is not None and pipeline.interval > wanted:
                # A folding promises no more than it keeps, a whole layer may.
                slowest = max(fold.cycles for fold in folds.values())
                cycles = min(slowest, cycles or slowest) - 1
                continue
            design = self._counted(pipeline)
            self._smallest = design.total
            beyond = self._beyond(design)
            if beyond == Amount():
                return design
            taken = self.folding.amount(folds)
            # Layers tell only a part of the lookup tables that were counted.
            counted = max(design.total.lut, self._logic_cells(design), 1)
            lut = -(-beyond.lut * taken.lut // counted)
            limit = _drawn_in(limit, taken, beyond, lut)
        raise self._refusal()

    def pipeline(self, folds: Mapping[str, Fold]) -> Pipeline:
        """Return what the foldings make; layers of equal foldings are built once."""
        return Pipeline(self.program, folds, self._built)

    def _built(self, stage: Stage, fold: Fold) -> Layer:
        """Return a layer; the same one for the same folding."""
        key = stage.name, fold
        if key not in self._layers:
            self._layers[key] = stage.plan.build(fold)
        return self._layers[key]

    def _counted(self, pipeline: Pipeline) -> Design:
        names = (stage.name for stage in self.program.stages)
        cells = [layer.cell for layer in pipeline.layers]
        multipliers = {
            name: _blocks(cell, self.device.family) for name, cell in zip(names, cells, strict=True)
        }
        for cell in cells:
            # Layers are kept, so that their places in memory tell them apart.
            if id(cell) not in self._structures:
                self._structures[id(cell)] = structure_by_law(cell)
        structures = {
            name: self._structures.get(id(cell)) or structure_by_law(cell)
            for name, cell in pipeline.parts().items()
        }
        resources = resources_by_layer(structures, multipliers, self.device.family)
        return Design(pipeline, self.options, resources)

    def _beyond(self, design: Design) -> Amount:
        beyond = _beyond(design.total, self.budget, self.device.family)
        return replace(beyond, lut=max(beyond.lut, self._logic_cells(design) - self.device.lut))

    def _logic_cells(self, design: Design) -> int:
        """Return the logic cells of a design, 0 where they are not what there is."""
        return design.total.logic_cells if self.device.joint_cells else 0

    def _chosen(self, limit: Amount, cycles: int | None) -> dict[str, Fold] | None:
        """Return the foldings for what the user wants most."""
        match self.options.aim:
            case "throughput":
                found = self.folding.fastest(limit)
            case "latency":
                found = self.folding.quickest(limit, self._delay)
            case "energy":
                found = self.folding.thriftiest(limit, cycles)
            case _:
                found = self.folding.cheapest(limit, cycles)
        if found is None or cycles is None:
            return found
        return found if all(fold.cycles <= cycles for fold in found.values()) else None

    def _delay(self, name: str, fold: Fold) -> int:
        """Return the cycles for which a layer holds a frame back, from its first to its last."""
        if name not in self._holds:
            stage = next(stage for stage in self.program.stages if stage.name == name)
            layer = stage.plan.build(self.folding.allowed[name][0])
            self._holds[name] = min(layer.hold, Fraction(1))
        return int(self._holds[name] * fold.cycles)

    def _refusal(self) -> DoesNotFitError:
        least = self.folding.least_amount()
        if self._smallest is not None:
            # What was built last took more than its layers told, and there is nothing smaller.
            least = _larger(least, _beyond(self._smallest, Amount(), self.device.family))
        short = {
            name: _count(getattr(least, name), name, self.device)
            for name in BUDGETS
            if getattr(least, name) > getattr(self.budget, name)
        }
        where = f"{self.device.name}"
        if short:
            problems = [
                f"{count} {BUDGETS[name]} at least,"
                f" {_count(getattr(self.budget, name), name, self.device)} given (--{name})"
                for name, count in short.items()
            ]
            return DoesNotFitError(
                "the layers need " + "; ".join(problems), where=where, hint=self._remedies(short)
            )
        fastest = self._fastest()
        if fastest is None or self.options.fps is None:
            return DoesNotFitError(
                "no folding keeps all budgets at once", where=where, hint=self._remedies({})
            )
        reached = self.options.clock_hz / fastest
        return DoesNotFitError(
            f"{self.options.fps:g} frames a second wanted at {self.options.clock_hz / 1e6:g} MHz,"
            f" {reached:.4g} reached within the budget ({fastest} cycles a frame)",
            where=where,
            hint=self._remedies({}, fastest),
        )

    def _fastest(self) -> int | None:
        """Return the least cycles between frames that a design within the budget has, if any."""
        if self.options.fps is None:
            return None
        free = replace(self.options, fps=None, optimize="throughput")
        try:
            return _Search(self.program, free, logic=True).design().pipeline.interval
        except DoesNotFitError:
            return None

    def _remedies(self, short: Mapping[str, str], fastest: int | None = None) -> str:
        """Return the options that would do.

        Args:
            short: What is needed of the resources of which there are too few.
            fastest: Cycles that can be reached, if they are too many.
        """
        given = [name for name in short if getattr(self.options, name) is not None]
        found = [" ".join(f"--{name} {short[name]}" for name in given)] if given else []
        if fastest is not None and self.options.fps is not None:
            found += [
                f"--fps {int(self.options.clock_hz / fastest)}",
                f"--clock {-(-self.options.fps * fastest // 1e6):.0f}MHz",
            ]
        others = (d for d in devices().values() if d.name != self.device.name)
        other = None if given else next((d.name for d in others if self._would_do(d)), None)
        if other is not None:
            found.append(f"--device {other}")
        return ", or ".join(found) or "make the model smaller"

    def _would_do(self, other: Device) -> bool:
        """Return whether the layers would fit another device with some room to spare."""
        folding = folding_for(self.program, self.options, other, logic=True)
        whole = replace(self.options, device=other.name).budget
        limit = Amount(whole.dsp, whole.bram, whole.lut * 2 // 3)
        fps = self.options.fps
        hertz = self.options.clock or other.clock_mhz * 1e6
        return folding.cheapest(limit, None if fps is None else int(hertz / fps)) is not None


def folding_for(
    program: Program,
    options: FpgaOptions,
    device: Device,
    *,
    logic: bool,
    few: int = 0,
) -> Folding:
    """Return the foldings of ``program``, priced for ``device``; see ``Program.choices``."""
    plans = {stage.name: stage.plan for stage in program.stages}
    return Folding(
        program.choices(
            logic=logic,
            few=few,
            pairing=PAIRINGS[device.family],
            store=STORES[device.family],
        ),
        {name: (pe, simd) for name, pe, simd in options.fold},
        lambda name, fold: amount_of(plans[name], fold, device.family),
        _weights(device),
    )


def _weights(device: Device) -> Amount:
    """Return costs by scarcity: all multipliers cost as much as all memories, or all tables."""
    whole = _all_of(device)
    return Amount(*(10**7 // max(count, 1) for count in (whole.dsp, whole.bram, whole.lut)))


def _blocks(cell: Cell, family: str) -> int:
    """Return the multiplier blocks of a cell on a family whose blocks may be narrower."""
    return cell.multipliers + sum(blocks_of(*bits, family) - 1 for bits in cell.wide_products)


def _all_of(device: Device) -> Amount:
    return Amount(device.dsp, device.bram * LIBRARIES[device.family].parts, device.lut)


def _count(number: int, name: str, device: Device) -> str:
    """Return a number of parts as a number of what users count."""
    parts = LIBRARIES[device.family].parts if name == "bram" else 1
    return f"{number / parts:g}"


def _larger(one: Amount, other: Amount) -> Amount:
    """Return the greater of each."""
    return Amount(max(one.dsp, other.dsp), max(one.bram, other.bram), max(one.lut, other.lut))


def _drawn_in(limit: Amount, taken: Amount, beyond: Amount, lut: int) -> Amount:
    """Return limits for the next choice after one that took ``beyond`` too much, ``lut`` tables."""
    return Amount(
        taken.dsp - beyond.dsp if beyond.dsp else limit.dsp,
        taken.bram - beyond.bram if beyond.bram else limit.bram,
        taken.lut - lut if beyond.lut else limit.lut,
    )


def _beyond(total: Resources, budget: Amount, family: str) -> Amount:
    """Return by how much a design exceeds the budget."""
    parts = int(total.bram * LIBRARIES[family].parts)
    return Amount(
        max(total.dsp - budget.dsp, 0),
        max(parts - budget.bram, 0),
        max(total.lut - budget.lut, 0),
    )
