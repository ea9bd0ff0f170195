"""One batch run through a graph, and run again from a changed value on.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir.program import prepare_graph
from rlx.metrics.runner import batchable, observed
from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import with_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Value


class CalibrationReplay:
    """All values of a graph for one batch.

    Only values that depend on a changed value are computed again.

    Attributes:
        values: Array of each watched value, ``[n, ...]``.
    """

    def __init__(self, graph: Graph, watched: Sequence[Value], inputs: Mapping[str, Array]) -> None:
        """Run ``graph`` on inputs ``[n, *shape of a sample]``; it must be batchable or n be 1."""
        count = len(next(iter(inputs.values())))
        lowered = DeadCode().apply(decompose(observed(graph, watched)))
        if count > 1:
            if not batchable(lowered):
                raise ValueError("the graph takes one sample at a time")
            lowered = with_batch(lowered, count)
        self._program = prepare_graph(lowered)
        inputs_by_slot = [inputs[v.name].reshape(v.type.static_shape) for v in lowered.inputs]
        self._arrays = self._run(inputs_by_slot)
        self._slot = dict(zip(watched, self._program.outputs, strict=True))
        self.values = {v: self._array(slot) for v, slot in self._slot.items()}

    def _array(self, slot: int) -> npt.NDArray[Any]:
        array = self._arrays[slot]
        assert array is not None
        return array

    def _run(self, arrays_by_input: Sequence[Array]) -> list[Array | None]:
        """Return the array of every slot; none is freed."""
        arrays = list(self._program.known)
        for slot, array in zip(self._program.inputs, arrays_by_input, strict=True):
            arrays[slot] = array
        with np.errstate(all="ignore"):
            for step in self._program.steps:
                results = step.compute(*(arrays[i] for i in step.reads))
                for slot, array in zip(step.writes, results, strict=True):
                    arrays[slot] = array
        return arrays

    def values_with(
        self, value: Value, array: npt.NDArray[Any], results: Sequence[Value]
    ) -> list[npt.NDArray[Any]]:
        """Return the values of ``results``, all of them watched, if ``value`` were ``array``."""
        slot = self._slot[value]
        changed: dict[int, Array] = {slot: array.reshape(self.values[value].shape)}
        with np.errstate(all="ignore"):
            for step in self._program.steps:
                if slot in step.writes or changed.keys().isdisjoint(step.reads):
                    continue
                operands = (changed.get(i, self._arrays[i]) for i in step.reads)
                changed.update(zip(step.writes, step.compute(*operands), strict=True))
        slots = (self._slot[v] for v in results)
        return [np.asarray(changed.get(i, self._arrays[i])) for i in slots]
