"""Matrix products and convolutions with bias and activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.fused import Activation, FusedConv, FusedMatmul
from rlx.ops.fused.product import epilogue_of
from rlx.ops.fused.reading import is_elementwise, is_vector, number_of, partner
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx.ops.fused.product import Epilogue
    from rlx.passes.fusion.matching import Matching


def fuse_products(matching: Matching) -> None:
    """activation(x w + bias + addend) -> one op; the same of a convolution."""
    for node in matching.nodes(real.RealMatmul, real.RealConv):
        if not node.types[0].dtype.is_float:
            continue
        is_conv = isinstance(node.op, real.RealConv)
        pattern = Pattern.CONV if is_conv else Pattern.MATMUL
        op = FusedConv if is_conv else FusedMatmul
        epilogue = epilogue_of(node, matching.readers)
        _drop_grouped(matching, epilogue)
        _note_rest(matching, pattern, epilogue)
        if len(epilogue.nodes) == 1 or not matching.allowed(pattern, op, node):
            continue
        x, y = epilogue.operands
        inputs = {"x": x, "w" if is_conv else "y": y}
        if epilogue.bias is not None:
            inputs["bias"] = epilogue.bias
        if epilogue.addend is not None:
            inputs["addend"] = epilogue.addend
        matching.group(pattern, op, epilogue.nodes, [epilogue.result], inputs, _detail(epilogue))


def _drop_grouped(matching: Matching, epilogue: Epilogue) -> None:
    """Leave out nodes that belong to another group."""
    if not matching.is_free(epilogue.activation):
        epilogue.activation = ()
    for sum_ in (epilogue.biased, epilogue.added):
        if sum_ is not None and sum_ in matching.groups:
            epilogue.addend, epilogue.added, epilogue.activation = None, None, ()
    if epilogue.biased is not None and epilogue.biased in matching.groups:
        epilogue.bias = epilogue.biased = None
    epilogue.drop_idle_reshape()


def _detail(epilogue: Epilogue) -> str:
    """Return the parts of a pattern in words."""
    parts = [
        f"{what} transposed"
        for what, swap in zip("xy", epilogue.transposes, strict=True)
        if swap is not None
    ]
    if epilogue.bias is not None:
        parts.append("bias")
    if epilogue.addend is not None:
        parts.append("addend")
    activation = Activation.of(epilogue.activation, epilogue.summed)
    if activation is not None:
        parts.append(activation.name or f"activation of {counted(len(epilogue.activation), 'op')}")
    return ", ".join(parts)


def _note_rest(matching: Matching, pattern: Pattern, epilogue: Epilogue) -> None:
    """Note the reason for which an elementwise node after a product is not part of it."""
    value = epilogue.result if epilogue.activation else epilogue.summed
    following = [
        n
        for n in dict.fromkeys(matching.readers.users[value])
        if is_elementwise(n) and n not in matching.groups
    ]
    if not following:
        return
    if matching.readers.only(value) is None:
        if not epilogue.activation:
            matching.miss_inner(pattern, value)
        return
    _note_next(matching, pattern, value, following[0], biased=epilogue.biased is not None)


def _note_next(
    matching: Matching, pattern: Pattern, value: Value, reader: Node, *, biased: bool
) -> None:
    """Note the reason for which the only reader of ``value`` is not part of the pattern."""
    note = matching.notes[reader]
    other = partner(reader, value)
    if isinstance(reader.op, real.RealCast):
        text = f"{note} changes the element type to {reader.types[0].dtype.value}"
        matching.miss(pattern, reader, MissReason.DTYPE, text)
    elif isinstance(reader.op, real.RealAdd) and other is not None and not biased:
        text = f"{note} adds {other.type} to {value.type}: not one number for each column"
        if not is_vector(other.type, value.type):
            matching.miss(pattern, reader, MissReason.BIAS_SHAPE, text)
    elif any(o != value and number_of(o) is None for o in reader.operands):
        text = f"{note} does not depend on the product only"
        matching.miss(pattern, reader, MissReason.ACTIVATION, text)
    else:
        matching.miss(pattern, reader, MissReason.ACTIVATION, f"{note} does not end in one value")
