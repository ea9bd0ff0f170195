"""Simulates mapped netlists: what synthesis left of a design, in cells of the device."""

from __future__ import annotations
