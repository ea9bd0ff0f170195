"""Predicted cycles of layers, from rates of kernels that were measured by the cycle models."""

from rlx_cortexm.cycles.prediction import CyclePrediction
from rlx_cortexm.cycles.rates import KernelRates, core_rates

__all__ = ["CyclePrediction", "KernelRates", "core_rates"]
