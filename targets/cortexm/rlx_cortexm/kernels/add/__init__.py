"""Sums and differences of codes, both operands scaled."""
