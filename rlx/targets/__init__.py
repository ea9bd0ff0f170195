"""Interfaces of targets: the target itself, its verifier, its builder, and its estimates.

Installed targets are found by entry points; plug-ins implement these classes.

Level 5. Public modules: ``absent``, ``builder``, ``estimation``, ``milliseconds``, ``operands``,
``verifier``.
"""

from rlx.targets.target import (
    CONVERT,
    GROUP,
    OUTSIDE,
    PARTLY,
    QUANTIZE,
    Alternatives,
    Emission,
    Lowering,
    Sweep,
    Target,
    adopted,
    claim,
    load,
    load_all,
    names,
    needs_samples,
    options_of,
    quantize_hint,
)

__all__ = [
    "CONVERT",
    "GROUP",
    "OUTSIDE",
    "PARTLY",
    "QUANTIZE",
    "Alternatives",
    "Emission",
    "Lowering",
    "Sweep",
    "Target",
    "adopted",
    "claim",
    "load",
    "load_all",
    "names",
    "needs_samples",
    "options_of",
    "quantize_hint",
]
