"""Backend ``native``: graphs as C, compiled on this machine for its vector instructions.

Level 11.
"""

from rlx_host.backend import BACKEND, NativeBackend

__all__ = ["BACKEND", "NativeBackend"]
