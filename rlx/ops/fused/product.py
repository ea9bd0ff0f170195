"""Matrix products and convolutions with their epilogues.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.fused.activation import Activation
from rlx.ops.fused.base import Fused
from rlx.ops.fused.reading import Readers, activation_from, is_vector, partner, swaps_last

if TYPE_CHECKING:
    from rlx.ir import Node, TensorType, Value


@dataclass(slots=True)
class Epilogue:
    """A matrix product or convolution, and the ops after it that a kernel computes with it.

    Attributes:
        product: The product.
        operands: Factors; for one with a transpose in the pattern, the value before that.
        transposes: For each operand, the transpose of its last two axes, None without one.
        reshape: A reshape of the product that keeps the last axis, None without one.
        bias: One added value for each index of the last axis; None without one.
        biased: The addition of it.
        addend: A tensor of the product's type that is added then, such as a shortcut; None without.
        added: The addition of it.
        activation: The nodes of the function of the sum.
    """

    product: Node
    operands: tuple[Value, Value]
    transposes: tuple[Node | None, Node | None] = (None, None)
    reshape: Node | None = None
    bias: Value | None = None
    biased: Node | None = None
    addend: Value | None = None
    added: Node | None = None
    activation: tuple[Node, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the pattern, in order."""
        sums = (self.reshape, self.biased, self.added)
        parts = (*self.transposes, self.product, *sums, *self.activation)
        return tuple(dict.fromkeys(n for n in parts if n is not None))

    def drop_idle_reshape(self) -> None:
        """Leave out a reshape after which nothing else is part of the pattern."""
        if self.biased is None and self.added is None and not self.activation:
            self.reshape = None

    @property
    def summed(self) -> Value:
        """The value of which the activation is a function."""
        return (self.added or self.biased or self.reshape or self.product).results[0]

    @property
    def result(self) -> Value:
        """The value of the last node."""
        return self.nodes[-1].results[0]


def epilogue_of(product: Node, readers: Readers) -> Epilogue:
    """Return the epilogue with which a matrix product or convolution can be fused."""
    x, y = product.operands
    epilogue = Epilogue(product, (x, y))
    if isinstance(product.op, real.RealMatmul):
        _take_transposes(epilogue, readers)
    _take_bias(epilogue, readers)
    _take_addend(epilogue, readers)
    epilogue.activation = activation_from(epilogue.summed, readers)
    epilogue.drop_idle_reshape()
    return epilogue


def _take_transposes(epilogue: Epilogue, readers: Readers) -> None:
    """Take the transposes of the operands that nothing else reads."""
    swaps: list[Node | None] = []
    for operand in epilogue.operands:
        node = operand.node
        fusible = swaps_last(node) and readers.only(operand) is epilogue.product
        swaps.append(node if fusible else None)
    epilogue.transposes = (swaps[0], swaps[1])
    first, second = (
        o if swap is None else swap.operands[0]
        for o, swap in zip(epilogue.operands, swaps, strict=True)
    )
    epilogue.operands = (first, second)


def _take_bias(epilogue: Epilogue, readers: Readers) -> None:
    """Take a reshape that keeps the last axis, and the addition of a bias."""
    value = epilogue.product.results[0]
    reader = readers.only(value)
    if reader is not None and isinstance(reader.op, real.RealReshape):
        shape = reader.types[0].shape
        if shape[-1:] != value.type.shape[-1:]:
            return
        epilogue.reshape = reader
        value = reader.results[0]
        reader = readers.only(value)
    if reader is None or not isinstance(reader.op, real.RealAdd):
        return
    bias = partner(reader, value)
    if bias is not None and is_vector(bias.type, value.type) and reader.types[0] == value.type:
        epilogue.bias, epilogue.biased = bias, reader


def _take_addend(epilogue: Epilogue, readers: Readers) -> None:
    """Take the addition of a tensor of the same type."""
    value = epilogue.summed
    reader = readers.only(value)
    if reader is None or not isinstance(reader.op, real.RealAdd):
        return
    other = partner(reader, value)
    if other is not None and other != value and other.type == value.type:
        epilogue.addend, epilogue.added = other, reader


@dataclass(frozen=True, slots=True)
class ProductForm:
    """Parameters of a kernel of ``fused.matmul`` or ``fused.conv``.

    Attributes:
        op: The ``real.matmul`` or ``real.conv``.
        x: Place of the left factor, or of the image, among the operands.
        y: Place of the right factor, or of the weights.
        bias: Place of the bias: one value for each column, or output channel; None for none.
        addend: Place of a tensor of the result's type that is added then, None for none.
        transpose_x: Whether the last two axes of ``x`` are swapped before the product.
        transpose_y: The same for ``y``.
        product: Type of the product; the result has its elements, in the same order.
        activation: The function of each sum, None for none.
    """

    op: real.RealMatmul | real.RealConv
    x: int
    y: int
    bias: int | None
    addend: int | None
    transpose_x: bool
    transpose_y: bool
    product: TensorType
    activation: Activation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _FusedProduct(Fused):
    """Base of products with an epilogue."""

    product_op: ClassVar[type[real.RealMatmul] | type[real.RealConv]]

    @property
    def form(self) -> ProductForm:
        """Parameters of a kernel."""
        form: ProductForm = self.read()
        return form

    def find_form(self) -> ProductForm:
        """Return the parameters of a kernel for the body."""
        nodes = tuple(self.body.op_nodes)
        products = [n for n in nodes if isinstance(n.op, self.product_op)]
        if len(products) != 1:
            raise self.misfit()
        epilogue = epilogue_of(products[0], Readers(self.body))
        if set(epilogue.nodes) != set(nodes) or self.body.outputs != (epilogue.result,):
            raise self.misfit()
        input_index = {value: i for i, value in enumerate(self.body.inputs)}
        reads = [*epilogue.operands, epilogue.bias, epilogue.addend]
        if any(value not in input_index for value in reads if value is not None):
            raise self.misfit()
        assert isinstance(epilogue.product.op, real.RealMatmul | real.RealConv)
        return ProductForm(
            op=epilogue.product.op,
            x=input_index[epilogue.operands[0]],
            y=input_index[epilogue.operands[1]],
            bias=None if epilogue.bias is None else input_index[epilogue.bias],
            addend=None if epilogue.addend is None else input_index[epilogue.addend],
            transpose_x=epilogue.transposes[0] is not None,
            transpose_y=epilogue.transposes[1] is not None,
            product=epilogue.product.types[0],
            activation=Activation.of(epilogue.activation, epilogue.summed),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedMatmul(_FusedProduct):
    """``y = activation(x w + bias + addend)``, each factor maybe transposed.

    Operands: the factors, and maybe a bias of one value for each column, and a tensor of the
    result's type. Result: the output of the body, with the elements of the product.

    Attributes:
        body: Transposes of the last two axes, ``real.matmul``, a reshape that keeps the last axis,
            the additions of bias and tensor, an elementwise function; all but the product may be
            missing.
    """

    name: ClassVar[str] = "fused.matmul"
    product_op: ClassVar[type[real.RealMatmul] | type[real.RealConv]] = real.RealMatmul


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedConv(_FusedProduct):
    """``y = activation(conv(x, w) + bias + addend)``.

    Operands: image, weights, and maybe a bias of one value for each output channel, and a tensor of
    the result's type. Result: the output of the body, with the elements of the convolution.

    Attributes:
        body: ``real.conv``, a reshape that keeps the last axis, the additions of bias and tensor,
            an elementwise function; all but the convolution may be missing.
    """

    name: ClassVar[str] = "fused.conv"
    product_op: ClassVar[type[real.RealMatmul] | type[real.RealConv]] = real.RealConv
