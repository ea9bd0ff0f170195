"""Rows of codes times weights, four output channels at a time."""
