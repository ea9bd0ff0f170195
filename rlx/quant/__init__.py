"""Quantization: from graphs of reals to graphs of exact integers."""
