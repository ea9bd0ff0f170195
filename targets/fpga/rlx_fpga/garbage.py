"""Python's garbage collector, which is useless work while a netlist is built."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector.

    It would traverse the millions of objects of a netlist again and again, all of them in use, and
    take a third of the time. It is enabled again at the end if it was before, exceptions included.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
