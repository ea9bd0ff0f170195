"""Style ``unrolled``: a whole frame in every cycle, products by constants as shifts and additions.

- ``sums.py``: products with a constant matrix as few additions, common parts shared;
- ``affine.py``: requantizers as one short multiplication by a constant;
- ``netlist.py``: integer steps with exact ranges, the form that layers are built in;
- ``lower.py``: a rule for each op;
- ``design.py``: the netlists as pipelines without stalls, and the stream ports around them.
"""

from rlx_fpga.unrolled.design import Unrolled
from rlx_fpga.unrolled.lower import unroll
from rlx_fpga.unrolled.report import report_of

__all__ = ["Unrolled", "report_of", "unroll"]
