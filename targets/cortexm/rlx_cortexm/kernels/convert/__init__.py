"""Quantized values in another element type."""
