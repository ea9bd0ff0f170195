"""Weights by name, from files that are mapped into memory or from arrays."""

from rlx.frontends.weights.store import Pin, WeightEntry, WeightStore

__all__ = ["Pin", "WeightEntry", "WeightStore"]
