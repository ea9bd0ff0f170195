"""Floats of quantized values."""
