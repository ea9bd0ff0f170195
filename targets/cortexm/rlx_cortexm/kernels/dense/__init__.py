"""Rows of inputs times weights, four output channels at a time."""
