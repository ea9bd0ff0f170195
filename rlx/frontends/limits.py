"""The limits of every reader, under the name that callers of readers look for."""

from __future__ import annotations

from rlx.limits import DEFAULT_LIMITS, GIB, KIB, MIB, Limits, parse_limits, raise_hint

__all__ = ["DEFAULT_LIMITS", "GIB", "KIB", "MIB", "Limits", "parse_limits", "raise_hint"]
