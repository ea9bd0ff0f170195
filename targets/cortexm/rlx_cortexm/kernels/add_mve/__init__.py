"""Sums and differences of codes with MVE."""
