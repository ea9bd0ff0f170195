"""Architectures of hardware: generators of a core from a graph, with a common interface.

- ``interface.py``: the protocol of an architecture, and the core that it makes;
- ``dataflow/``, ``engine/``, ``parallel/``: the architectures;
- ``choice.py``: the core for a model and options, or a refusal with advice;
- ``tables.py``, ``extremes.py``: ops whose rules for all architectures are in one module;
- ``refusals.py``: reasons for refusing nodes, shared by all rules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rlx_fpga.architectures.interface import Architecture

ARCHITECTURES: Final = {
    "dataflow": "a folded unit for each layer, all working at the same time",
    "engine": "time-multiplexed: one array runs all layers in turn; for small devices",
    "parallel": "fully parallel: a frame in every cycle, no multipliers; for tiny networks",
}
"""Names of the architectures, each with a description."""

DEFAULT: Final = "dataflow"
"""Default of ``--architecture``."""


def architecture(name: str) -> Architecture:
    """Return the architecture called ``name``, importing it on first use."""
    found: Architecture = import_module(f"{__name__}.{name}.architecture").ARCHITECTURE
    return found
