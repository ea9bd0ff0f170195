"""Gated pairs: two halves of a product, one of them as the gate of the other.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.fused.activation import Activation
from rlx.ops.fused.base import Fused
from rlx.ops.fused.product import Epilogue, epilogue_of
from rlx.ops.fused.reading import Readers, activation_from, partner

if TYPE_CHECKING:
    from rlx.ir import Node, Value


@dataclass(frozen=True, slots=True)
class GatedMatch:
    """A gated pair in ``real.*`` ops: ``activation(p[..., :n]) * p[..., n:]`` with ``p = x w + b``.

    Attributes:
        product: The product ``p``, with its bias.
        gate: The slice that is the activation's operand.
        up: The other slice.
        activation: The nodes of the activation; empty where the gate is used unchanged.
        last: The multiplication.
        gate_first: Whether the gate is the first half.
    """

    product: Epilogue
    gate: Node
    up: Node
    activation: tuple[Node, ...]
    last: Node
    gate_first: bool

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the pattern."""
        return (*self.product.nodes, self.gate, self.up, *self.activation, self.last)


def gated_from(product: Node, readers: Readers) -> GatedMatch | None:
    """Return the gated pair that begins with a product, None if none does."""
    epilogue = epilogue_of(product, readers)
    if epilogue.activation or epilogue.reshape is not None or epilogue.added is not None:
        return None
    slices = dict.fromkeys(readers.users[epilogue.result])
    if len(slices) != 2 or epilogue.result in readers.outputs:
        return None
    first, second = slices
    halves = [_half(s, epilogue.result) for s in slices]
    if halves == [1, 0]:
        first, second, halves = second, first, [0, 1]
    if halves != [0, 1]:
        return None
    for gate, up in ((first, second), (second, first)):
        match = _gate(epilogue, gate, up, readers)
        if match is not None:
            return match
    return None


def _half(node: Node, value: Value) -> int | None:
    """Return the half of the last axis of ``value`` that a node reads, None if it reads neither."""
    op, width = node.op, value.type.shape[-1]
    if not isinstance(op, real.RealSlice) or not isinstance(width, int) or width % 2:
        return None
    *before, taken = node.types[0].shape
    if tuple(before) != value.type.shape[:-1] or taken != width // 2 or op.step[-1] != 1:
        return None
    return {0: 0, width // 2: 1}.get(op.start[-1]) if isinstance(op.start[-1], int) else None


def _gate(epilogue: Epilogue, gate: Node, up: Node, readers: Readers) -> GatedMatch | None:
    """Return the gated pair with a given gate, None if its function does not end so."""
    activation = activation_from(gate.results[0], readers)
    value = activation[-1].results[0] if activation else gate.results[0]
    last = readers.only(value)
    if last is None or not isinstance(last.op, real.RealMul):
        return None
    if partner(last, value) != up.results[0] or readers.only(up.results[0]) is not last:
        return None
    first = gate.op.start[-1] == 0 if isinstance(gate.op, real.RealSlice) else False
    return GatedMatch(epilogue, gate, up, activation, last, first)


@dataclass(frozen=True, slots=True)
class GatedForm:
    """Parameters of a kernel of ``fused.gated``.

    Attributes:
        x: Place of the left factor among the operands.
        w: Place of the joined weights [..., K, 2 N].
        bias: Place of the joined bias of 2 N elements, None for none.
        transpose_x: Whether the last two axes of ``x`` are swapped before the product.
        transpose_w: The same for ``w``.
        width: N.
        gate_first: Whether the gate is the first half of the product, and not the second.
        activation: The function of the gate, None for none.
    """

    x: int
    w: int
    bias: int | None
    transpose_x: bool
    transpose_w: bool
    width: int
    gate_first: bool
    activation: Activation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGated(Fused):
    """``y = activation(p[..., :n]) * p[..., n:]`` with ``p = x w + bias``, or with halves swapped.

    Operands: ``x``, the joined weights, and maybe the joined bias. Result: [..., n].

    Attributes:
        body: The product, its bias, the halves, the activation of one of them, their product.
    """

    name: ClassVar[str] = "fused.gated"

    @property
    def form(self) -> GatedForm:
        """Parameters of a kernel."""
        form: GatedForm = self.read()
        return form

    def find_form(self) -> GatedForm:
        """Return the parameters of a kernel for the body."""
        products = [n for n in self.body.op_nodes if isinstance(n.op, real.RealMatmul)]
        match = gated_from(products[0], Readers(self.body)) if len(products) == 1 else None
        if match is None or set(match.nodes) != set(self.body.op_nodes):
            raise self.misfit()
        if self.body.outputs != match.last.results:
            raise self.misfit()
        input_index = {value: i for i, value in enumerate(self.body.inputs)}
        product = match.product
        reads = [*product.operands, *([] if product.bias is None else [product.bias])]
        if any(value not in input_index for value in reads):
            raise self.misfit()
        width = match.last.types[0].shape[-1]
        assert isinstance(width, int)  # a half of a number
        return GatedForm(
            x=input_index[product.operands[0]],
            w=input_index[product.operands[1]],
            bias=None if product.bias is None else input_index[product.bias],
            transpose_x=product.transposes[0] is not None,
            transpose_w=product.transposes[1] is not None,
            width=width,
            gate_first=match.gate_first,
            activation=Activation.of(match.activation, match.gate.results[0]),
        )
