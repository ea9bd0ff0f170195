"""Benchmarks of emitted C on an emulated Cortex-M4."""
