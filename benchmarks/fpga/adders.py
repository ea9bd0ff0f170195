"""Constant matrix products of the parallel architecture: additions, and bits that need a carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.fpga.points import RESULTS, load
from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.sums import shift_add

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

STORED = RESULTS / "fpga_adders.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = ("product",)
COSTS = ("adders", "adder_bits", "depth")
"""Entries of a row that must not grow."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each matrix."""
    for name, matrix in matrices().items():
        program, netlist = shift_add(matrix), Netlist()
        program.build(netlist, [netlist.input(index) for index in range(matrix.shape[1])])
        yield {
            "product": name,
            "weights": int(np.count_nonzero(matrix)),
            "adders": netlist.adders,
            "adder_bits": netlist.adder_bits,
            "depth": program.depth,
        }


def matrices() -> dict[str, npt.NDArray[np.int64]]:
    """Return weights by name, [outputs, terms]."""
    nodes = {node.name: node for node in load("TinyConv").graph.op_nodes}
    weights_by_name = {}
    for name in ("conv1", "conv2"):
        weights = nodes[name].operands[1].constant
        assert weights is not None
        weights_by_name[f"TinyConv {name}"] = weights.reshape(len(weights), -1).astype(np.int64)
    weights_by_name["random 72x16"] = np.random.default_rng(0).integers(-128, 128, (16, 72))
    return weights_by_name
