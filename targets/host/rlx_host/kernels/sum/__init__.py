"""Sums and differences of two scaled int8 operands."""
