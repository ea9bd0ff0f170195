"""Quantized values of floats."""
