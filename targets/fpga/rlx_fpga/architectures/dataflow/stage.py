"""A stage of the pipeline as it is built: a layer with what stands in front of it and behind it."""

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
"""Name of the register behind a layer."""


class Stage(Chain):
    """A layer, with the queues and width converters in front of it and the register behind it.

    Members:
        i (or i0, i1, ...): In, operands of the layer.
        o: Out, its result.

    Latency ``latency``, behind the queues and converters in front. Initiation interval: the cycles
    a frame that the comment of its instance in the core has.

    Attributes:
        kind: Computation, for the name of its module.

    Args:
        kind: See the attribute.
        layer: The layer's cell.
        before: For each operand's port, the cells in front of it by name, in order.
        register: Behind the layer; None if nobody reads its result.
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
