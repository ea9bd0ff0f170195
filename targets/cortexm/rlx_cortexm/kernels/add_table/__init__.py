"""Sums and differences of values, operands scaled by look-ups."""
