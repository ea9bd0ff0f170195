"""Python's search for reference cycles, which compilation does without."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the cycle collector in the block; reference counting still frees objects.

    Compilation makes some hundred thousand objects that last: to search among them again and
    again takes a fifth of its time or more. Several threads may be in such blocks: the search is
    on again when the one that switched it off is through.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
