"""Sums and differences of values, both operands scaled."""
