"""Quantized values of real numbers."""
