"""Sums and differences of values with MVE."""
