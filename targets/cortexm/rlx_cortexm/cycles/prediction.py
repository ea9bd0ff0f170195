"""Cycles of a program's layers, predicted from their instructions and the rates of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.targets.milliseconds import CycleTiming
from rlx_cortexm.code_size import kernel_bytes
from rlx_cortexm.cycles.rates import CACHE_BYTES, LINE_BYTES, core_rates

if TYPE_CHECKING:
    from rlx_c.program import LayerStep
    from rlx_cortexm.cycles.rates import CoreRates, KernelRates
    from rlx_cortexm.parts import Flash


@dataclass(frozen=True, slots=True)
class CyclePrediction:
    """Predictor of cycles on a core.

    Attributes:
        rates: Rates of the core's kernels.
        flash: Memory with code and constants.
        clock_mhz: Clock of the core, if known.
    """

    rates: CoreRates
    flash: Flash
    clock_mhz: float | None = None

    @staticmethod
    def of(cpu: str, flash: Flash, clock_mhz: float | None = None) -> CyclePrediction | None:
        """Return the predictor of a core; None if it has no rates, or none of its waits."""
        rates = core_rates(cpu)
        if rates is None or (flash.wait_states and rates.wait_error is None):
            return None
        return CyclePrediction(rates, flash, clock_mhz)

    @property
    def error(self) -> float:
        """Maximum error measured, relative to modelled cycles of a network."""
        waits = self.rates.wait_error if self.flash.wait_states else None
        return self.rates.error if waits is None else waits

    def layer(self, step: LayerStep, constant_bytes: int) -> int:
        """Return the cycles of a layer.

        Args:
            step: The layer, with the kernel chosen for it.
            constant_bytes: Bytes of its constants.
        """
        kernel, instructions = step.layer.kernel, step.candidate.instructions
        if kernel is None or not instructions:
            return 0
        rates = self.rates.of(kernel.template)
        cycles = rates.cycles(instructions, step.layer.macs)
        if self.flash.wait_states:
            waits = self._code(rates, instructions, cycles / instructions, kernel_bytes(kernel))
            cycles += waits + self._constants(rates, instructions, constant_bytes)
        return round(cycles)

    def _code(self, rates: KernelRates, instructions: int, each: float, kernel_size: int) -> float:
        """Return the cycles for which code is waited for.

        Args:
            rates: Rates of the kernel.
            instructions: Instructions of the layer.
            each: Cycles of one of them.
            kernel_size: Bytes of the kernel's code.
        """
        flash, width = self.flash, LINE_BYTES.index(self.flash.line_bytes)
        states = flash.wait_states
        hidden = each * flash.line_bytes / rates.code_bytes if flash.prefetch else 0.0
        sequential = rates.sequential[width] * max(0.0, states - hidden)
        waits = instructions * (sequential + rates.jumps[width] * states)
        if flash.code_cache_bytes < CACHE_BYTES:
            return waits
        share = rates.uncached[width] if flash.code_cache_bytes == CACHE_BYTES else 0.0
        filled = min(kernel_size, flash.code_cache_bytes) / flash.line_bytes
        return min(waits, share * waits + filled * states)

    def _constants(self, rates: KernelRates, instructions: int, constant_bytes: int) -> float:
        """Return the cycles that reads of constants wait."""
        flash, width = self.flash, LINE_BYTES.index(self.flash.line_bytes)
        changes = rates.constants[width] * instructions
        if constant_bytes <= flash.data_cache_bytes:
            changes = min(changes, constant_bytes / flash.line_bytes)
        return changes * flash.wait_states

    def milliseconds(self, cycles: int) -> float | None:
        """Return the time of some cycles, to four digits; None without a clock."""
        return None if self.clock_mhz is None else float(f"{cycles / self.clock_mhz / 1e3:.4g}")

    def timing(self, cycles: int) -> CycleTiming:
        """Return the basis and time of the cycles of all layers."""
        return CycleTiming(
            kind="predicted",
            core=self.rates.core,
            memory=str(self.flash),
            error=self.error,
            clock_mhz=self.clock_mhz,
            milliseconds=self.milliseconds(cycles),
        )
