"""The cells that the tests prove, small and odd ones, and the proof of each."""

import numpy as np

from rlx_fpga.cells.arith import Product
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp, Offset
from rlx_fpga.cells.width import Gather, Scatter, WidthConverter
from rlx_fpga.formal.table import DIAMOND, PROOFS

# Entries of a table of 20 bits.
ENTRIES = np.random.default_rng(5).integers(-(1 << 19), 1 << 19, 256).tolist()
CELLS = [
    SkidBuffer(3),
    Fifo(1, 2),
    Fifo(2, 7),
    Fifo(1, 33),
    ResultQueue(1, 8, 1),
    ResultQueue(2, 8, 3, 2),
    ResultQueue(2, 8, 7, 3),
    Fork(1, 2),
    Fork(1, 3),
    Gather(1, 2),
    Gather(2, 6),
    Scatter(2, 1),
    Scatter(6, 2),
    WidthConverter(2, 2, 2),
    WidthConverter(1, 4, 4),
    WidthConverter(2, 3, 6),
    WidthConverter(6, 4, 24),
    Repeat(1, 1, 1),
    Repeat(1, 1, 3),
    Repeat(1, 3, 1),
    Repeat(2, 3, 4),
    Constant(np.zeros(1, np.int8), 1),
    Constant(np.zeros(12, np.int8), 2),
    Concat(1, (1, 1)),
    Concat(1, (2, 1, 5), leading=1),
    Product(1, 0, 0),
    Pad(1, (1,), (0,), (0,), 0),
    Pad(1, (1,), (1,), (1,), 7),
    Pad(1, (2, 3), (1, 0), (0, 1), 5),
    Pad(2, (5, 1, 2), (0, 2, 0), (1, 1, 1), -128),
    Pad(8, (32, 32, 3), (1, 1, 0), (1, 1, 0), -3),
    Slice(1, (1,), (0,), (1,), (1,)),
    Slice(1, (3, 4), (1, 0), (3, 4), (1, 3)),
    Slice(1, (40, 7, 3), (2, 6, 0), (39, 7, 2), (5, 1, 1)),
    Clamp(1, -128, 127),
    Clamp(3, -5, 100),
    Clamp(1, 7, 7),
    Offset(1, 2, -1),
    Offset(2, 20, 128),
    Offset(1, 8, -(1 << 20)),
    Table(1, range(-128, 128)),
    Table(2, ENTRIES, 20),
]
EVERY = {proof.name: proof for proof in (*(PROOFS[type(c)](c) for c in CELLS), DIAMOND)}
