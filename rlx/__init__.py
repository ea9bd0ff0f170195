"""rlx: compile trained networks to C for Cortex-M, SystemVerilog for FPGAs and a host program."""

__version__ = "0.1.0"
