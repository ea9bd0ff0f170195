"""Prices of the foldings of a graph on a device, for a search: the costs of their cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rlx_fpga.cells.multiply import PACKINGS
from rlx_fpga.cells.rom import STORES
from rlx_fpga.cost.costs import lut_of_product
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.explore.folding import Folding
from rlx_fpga.explore.solver import Amount, Option

if TYPE_CHECKING:
    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.explore.fold import Fold
    from rlx_fpga.options import FpgaOptions

DEVICE_COST: Final = 10**7
"""Cost of all of a device's DSP slices, of all its block RAMs, and so on."""

MAX_LAYER_SPEEDUP: Final = 4
"""Factor by which a layer may be faster than its slowest permitted folding.

A faster one costs less only where its memories need fewer block RAMs because they are wide.
"""


def folding_for(
    program: StagedGraph,
    options: FpgaOptions,
    device: FpgaDevice,
    *,
    logic: bool,
    few: int = 0,
    free_dsp: bool = False,
) -> Folding:
    """Return the foldings of ``program``, priced for ``device``.

    Args:
        program: Graph to fold.
        options: The user's options.
        device: The device.
        logic: As of ``StagedGraph.choices``, like ``few``.
        few: See there.
        free_dsp: DSP slices are free.
    """
    plans = {stage.name: stage.plan for stage in program.stages}
    weights = _weights(device)
    if free_dsp:
        weights = replace(weights, dsp=0)

    def price(name: str, fold: Fold) -> Option:
        cells = plans[name].cost(fold, device.family)
        amount = amount_of(cells, device)
        cost = amount.dsp * weights.dsp + amount.bram * weights.bram + amount.lut * weights.lut
        return Option(amount, cost + cells.ff * weights.ff)

    multiplier, adder = lut_of_product(device.family)

    def guess(name: str, fold: Fold) -> Amount:
        del name
        lut = multiplier * fold.weight_bits * fold.logic + adder * fold.pe * fold.simd
        return Amount(fold.multipliers, 0, int(lut))

    choices = program.choices(
        logic=logic, few=few, packing=PACKINGS[device.family], store=STORES[device.family]
    )
    # Delays are shorter the faster a layer is.
    margin = None if options.aim == "latency" else MAX_LAYER_SPEEDUP
    instances = {stage.layer_name: stage.name for stage in program.stages}
    fixed_folds = {instances.get(name, name): (pe, simd) for name, pe, simd in options.fold}
    labels = {stage.name: stage.layer_name for stage in program.stages}
    return Folding(choices, fixed_folds, price, guess, margin, labels)


def amount_of(cells: Resources, device: FpgaDevice) -> Amount:
    """Return the resources of cells; LUTs are logic cells where those hold a flip-flop too."""
    parts = int(cells.bram * LIBRARIES[device.family].parts)
    return Amount(cells.dsp, parts, cells.logic_cells if device.joint_cells else cells.lut)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Costs of a DSP slice, of a part of a block RAM, of a LUT or logic cell, of a flip-flop."""

    dsp: int
    bram: int
    lut: int
    ff: int


def _weights(device: FpgaDevice) -> _Weights:
    """Return costs by scarcity: all DSP slices cost as much as all block RAMs, or all LUTs."""
    parts = device.bram * LIBRARIES[device.family].parts
    dsp, bram, lut, ff = (
        DEVICE_COST // max(count, 1) for count in (device.dsp, parts, device.lut, device.ff)
    )
    return _Weights(dsp, bram, lut, 0 if device.joint_cells else ff)
