"""Python's garbage collector, which a netlist of millions of objects keeps busy for nothing."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Keep the garbage collector from looking through a netlist again and again while it is made.

    That takes a third of the time, for all of what is made is in use. What was collected before is
    collected again afterwards, whatever happens within.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
