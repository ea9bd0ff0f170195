"""Benchmarks of the accuracy that quantization loses."""
