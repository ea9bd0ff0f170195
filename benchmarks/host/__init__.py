"""Benchmarks of the host runtime."""
