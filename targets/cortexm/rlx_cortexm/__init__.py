"""Target for Arm Cortex-M: C99 that computes the reference's bits.

Level 11. Public modules: ``parts``.
"""

from rlx_cortexm.options import CortexMOptions
from rlx_cortexm.target import TARGET, CortexM

__all__ = ["TARGET", "CortexM", "CortexMOptions"]
