"""Rows of inputs times weights of -1, 0 and 1, as lists."""
