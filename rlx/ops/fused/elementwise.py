"""Elementwise ops as one.

Tests: tests/unit/ops/test_fused.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.fused.base import Fused
from rlx.ops.fused.reading import is_elementwise

if TYPE_CHECKING:
    from rlx.ir import Node


@dataclass(frozen=True, slots=True)
class ElementwiseForm:
    """The steps of a ``fused.elementwise``.

    Attributes:
        steps: The ops in order. The result of each has the shape of the result of the last;
            element types may change on the way.
    """

    steps: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedElementwise(Fused):
    """A chain or a net of elementwise ops on reals with one result.

    Each element of the result depends on the corresponding elements of the operands alone, so that
    a kernel may compute it in blocks of any size. For passes it is not elementwise like the others:
    its body is made for one shape.

    Operands: tensors that broadcast to the result. Result: the output of the body; every step has
    its shape.

    Attributes:
        body: The steps.
    """

    name: ClassVar[str] = "fused.elementwise"

    @property
    def form(self) -> ElementwiseForm:
        """Parameters of a kernel."""
        form: ElementwiseForm = self.read()
        return form

    def find_form(self) -> ElementwiseForm:
        """Return the steps of the body."""
        steps = tuple(self.body.op_nodes)
        results = self.body.outputs
        if not steps or len(results) != 1 or results[0].node is not steps[-1]:
            raise self.misfit()
        shape = results[0].type.shape
        if any(not is_elementwise(n) or n.types[0].shape != shape for n in steps):
            raise self.misfit()
        return ElementwiseForm(steps)
