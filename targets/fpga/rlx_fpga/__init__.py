"""Streaming dataflow hardware: Amaranth components to Verilog with AXI4-Stream ports.

Level 11. Public modules: ``devices``, ``packaging.bench``, ``packaging.netlist``,
``packaging.render``, ``packaging.synthesis``.
"""

from rlx_fpga.architectures import extremes as extremes
from rlx_fpga.architectures import tables as tables
from rlx_fpga.options import FpgaOptions
from rlx_fpga.target import TARGET, Fpga

__all__ = ["TARGET", "Fpga", "FpgaOptions"]
