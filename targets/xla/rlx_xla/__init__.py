"""Backend ``xla``: networks on GPUs and TPUs, through JAX.

JAX is imported when a network is compiled for it, not before.

Level 9. Public modules: ``collectives``, ``parallel``.
"""

from rlx_xla.backend import BACKEND

__all__ = ["BACKEND"]
