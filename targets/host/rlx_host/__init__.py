"""Graphs as C for the vector instructions of computers.

The backend ``native`` compiles them on this machine and runs them in the process; the target
``host`` (``rlx_host.emission``) writes them as a library.

Level 11. Public modules: ``compiler``, ``emission``, ``instruction_set``.
"""

from rlx_host.backend import BACKEND, NativeBackend

__all__ = ["BACKEND", "NativeBackend"]
