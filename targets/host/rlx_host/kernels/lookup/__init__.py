"""Functions of one 8-bit value, looked up in tables."""
