"""Style ``unrolled``: a whole frame in every cycle, products by constants as shifts and additions.

- ``program.py``: products with a constant matrix as additions, and their price; ``sharing.py``: the
  search for parts that results have in common; ``sums.py``: the cheapest program of a matrix;
- ``affine.py``: requantizers as one short multiplication by a constant;
- ``netlist.py``: integer steps with exact ranges, the form that layers are built in;
- ``lower.py`` and ``reduce.py``: a rule for each op; ``rules.py``: what they have in common;
- ``design.py``: the netlists as pipelines without stalls, and the stream ports around them;
- ``cost.py``: cells of layers.
"""

from rlx_fpga.unrolled import reduce
from rlx_fpga.unrolled.design import Unrolled
from rlx_fpga.unrolled.lower import refusal, unroll
from rlx_fpga.unrolled.report import report_of

__all__ = ["Unrolled", "reduce", "refusal", "report_of", "unroll"]
