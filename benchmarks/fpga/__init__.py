"""Benchmarks of hardware: predicted and simulated cycles, cells by Yosys, clock by nextpnr."""
