"""Simulates mapped netlists: a design after synthesis, in cells of the device."""

from __future__ import annotations
