"""What a search pays for the foldings of a graph on a device: what their cells say they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx_fpga.cells.multiply import PACKINGS
from rlx_fpga.cells.rom import STORES
from rlx_fpga.cost.memories import LIBRARIES
from rlx_fpga.explore.folding import Folding
from rlx_fpga.explore.solver import Amount

if TYPE_CHECKING:
    from rlx_fpga.architectures.dataflow.pipeline import StagedGraph
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.options import FpgaOptions


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
        lambda name, fold: amount_of(plans[name].cost(fold, device.family), device),
        _weights(device),
    )


def amount_of(cells: Resources, device: FpgaDevice) -> Amount:
    """Return what cells take of a device; LUTs are logic cells where those hold a flip-flop too."""
    parts = int(cells.bram * LIBRARIES[device.family].parts)
    return Amount(cells.dsp, parts, cells.logic_cells if device.joint_cells else cells.lut)


def _weights(device: FpgaDevice) -> Amount:
    """Return costs by scarcity: all DSP slices cost as much as all block RAMs, or all LUTs."""
    whole = Amount(device.dsp, device.bram * LIBRARIES[device.family].parts, device.lut)
    return Amount(*(10**7 // max(count, 1) for count in (whole.dsp, whole.bram, whole.lut)))
