"""Benchmarks of what quantization loses."""
