"""Target for Arm Cortex-M: C99 that computes the reference's bits."""

from rlx_cortexm.target import TARGET, CortexM, CortexMOptions

__all__ = ["TARGET", "CortexM", "CortexMOptions"]
