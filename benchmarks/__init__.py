"""Measurements, printed as JSON lines: counts and ratios first, seconds for information only."""
