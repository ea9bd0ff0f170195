"""Simulators of emitted hardware: Verilator, Icarus Verilog, cocotb, and of mapped netlists."""
