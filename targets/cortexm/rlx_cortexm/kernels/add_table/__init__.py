"""Sums and differences of codes, operands scaled by look-ups."""
