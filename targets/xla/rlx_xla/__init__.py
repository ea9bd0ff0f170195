"""Backend ``xla``: networks on GPUs and TPUs, by way of JAX.

JAX is imported when a network is compiled for it, not before.

Level 11.
"""

from rlx_xla.backend import BACKEND

__all__ = ["BACKEND"]
