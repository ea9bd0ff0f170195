"""Style ``folded``: a time-multiplexed engine that runs all layers in turn, for small devices.

- ``program.py``: instructions of the engine, and their constants;
- ``lower.py``: a rule for each op, and the program of a graph;
- ``moves.py``: the rules of ops that only move values;
- ``sequencer.py``: loops and addresses of an instruction;
- ``array.py``: products, sums, maxima and tables;
- ``scale.py``: the exact requantizer of all results;
- ``timing.py``: cycles if the array must pause while results are written;
- ``loader.py``: weights that are loaded over a stream;
- ``choice.py``: the engine for a device and the given options;
- ``design.py``: memories, and the stream ports around them.
"""

from rlx_fpga.folded import moves as moves
from rlx_fpga.folded.choice import machine_of
from rlx_fpga.folded.design import Folded
from rlx_fpga.folded.lower import fold, refusal
from rlx_fpga.folded.report import report_of

__all__ = ["Folded", "fold", "machine_of", "refusal", "report_of"]
