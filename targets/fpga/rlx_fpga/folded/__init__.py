"""Style ``folded``: one shared array, layers one after the other, for devices too small for more.

- ``program.py``: what the machine executes: instructions and the constants that they use;
- ``lower.py``: a rule for each op, and the program of a graph;
- ``moves.py``: the rules of ops that only move codes;
- ``sequencer.py``: loops and addresses of an instruction;
- ``array.py``: products, sums, maxima and tables;
- ``scale.py``: the exact requantizer that all results go through;
- ``timing.py``: cycles where the array must rest while results are written;
- ``loader.py``: weights that come by a stream;
- ``choice.py``: what a device and the user's wishes make of it;
- ``design.py``: memories, and the stream ports around them.
"""

from rlx_fpga.folded import moves as moves
from rlx_fpga.folded.choice import machine_of
from rlx_fpga.folded.design import Folded
from rlx_fpga.folded.lower import fold, refusal
from rlx_fpga.folded.report import report_of

__all__ = ["Folded", "fold", "machine_of", "refusal", "report_of"]
