"""Options of compilation."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlx.passes import Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Options of ``Session.compile``.

    Attributes:
        backend: Name of the backend, or None for the best one installed for the device.
        simplify: Whether constants are folded, and unused and repeated nodes removed, first.
        check_finite: Whether a run stops with a FloatingPointError at the first NaN or infinity
            that a node makes from finite numbers; slow.
        policies: Which ops are decomposed although the backend has them, or never.
    """

    backend: str | None = None
    simplify: bool = True
    check_finite: bool = False
    policies: Policies = field(default_factory=Policies)
