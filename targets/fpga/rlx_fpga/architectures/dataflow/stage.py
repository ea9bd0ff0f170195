"""A stage of the pipeline in hardware: a layer with the cells before and after it.

Tests: tests/targets/fpga/architectures/dataflow/test_staged.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx_fpga.cells.chain import Chain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.cells.fifo import SkidBuffer
    from rlx_fpga.cells.streams import Cell

_LAYER = "layer"
"""Name of a layer that is one cell."""

_REGISTER = "output_register"
"""Name of the register after a layer."""


class Stage(Chain):
    """A layer, with the queues and width converters before it and the register after it.

    Members:
        i (or i0, i1, ...): In, operands of the layer.
        o: Out, its result.

    Latency ``latency``, after the queues and converters. Cycles per frame: see the comment at its
    instance in the core.

    Attributes:
        kind: Computation, for the name of its module.

    Args:
        kind: See the attribute.
        layer: The layer's cell.
        before: For each operand's port, the cells before it by name, in order.
        register: Register after the layer; None if its result is unused.
    """

    def __init__(
        self,
        kind: str,
        layer: Cell,
        before: Mapping[str, Mapping[str, Cell]],
        register: SkidBuffer | None,
    ) -> None:
        self.kind = kind
        inner = layer.cells if isinstance(layer, Chain) else {_LAYER: layer}
        fronts = layer.before if isinstance(layer, Chain) else {}
        ports = fronts.keys() | before.keys()
        super().__init__(
            {**inner, **({} if register is None else {_REGISTER: register})},
            {port: {**before.get(port, {}), **fronts.get(port, {})} for port in sorted(ports)},
        )
