"""Tracing of a graph by JAX.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from rlx.ir import Constant, DType
from rlx.ir.graph import Source
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph, Node, Value
    from rlx_xla.rules import Traced

NARROW = (DType.I4, DType.I2)
"""Element types that are held as int8."""


def held(array: Array) -> Array:
    """Return an array of the host in the element type that it is held in on the device."""
    return array.astype(np.int8) if DType.of(array) in NARROW else array


def held_type(dtype: DType) -> np.dtype[np.generic]:
    """Return the element type in which values of ``dtype`` are held on the device."""
    return np.dtype(np.int8) if dtype in NARROW else dtype.numpy


class Trace:
    """The trace of one graph.

    Attributes:
        failures: For each node that reads by index, whether an index is outside its axis.
    """

    def __init__(self, prepared: Mapping[Node, Mapping[str, Traced]]) -> None:
        self.failures: list[tuple[Node, Traced]] = []
        self._prepared = prepared

    def prepared(self, node: Node) -> Mapping[str, Traced] | None:
        """Return the rearranged constants of a node; None if its operands are not constant."""
        return self._prepared.get(node)

    def run(self, graph: Graph, values: dict[Value, Traced]) -> list[Traced]:
        """Return the outputs of ``graph``.

        Args:
            graph: The graph.
            values: Traced inputs, parameters and large constants, by value; others are added.
        """
        for node in graph.nodes:
            if isinstance(node.op, Constant):
                if node.result not in values:
                    values[node.result] = jnp.asarray(held(node.op.value))
            elif not isinstance(node.op, Source):
                # Constants that a node has in another form need not be here.
                operands = [values.get(o) for o in node.operands]
                results = RULES[type(node.op)](node, self, *operands)
                results = results if isinstance(results, tuple) else (results,)
                values.update(zip(node.results, results, strict=True))
        return [values[v] for v in graph.outputs]

    def region(self, graph: Graph, operands: Sequence[Traced]) -> tuple[list[Traced], Traced]:
        """Return the outputs of a region, and whether an index in it is outside its axis."""
        inner = Trace({})
        outputs = inner.run(graph, dict(zip(graph.inputs, operands, strict=True)))
        failed = jnp.asarray(False)
        for _, one in inner.failures:
            failed = failed | one
        return outputs, failed

    def fail(self, node: Node, failed: Traced) -> None:
        """Let the run raise an error that names ``node`` if ``failed``."""
        self.failures.append((node, failed))
