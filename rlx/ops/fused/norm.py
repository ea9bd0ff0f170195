"""Normalization over the last axes, alone or with the addition before it.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.fused.base import Fused
from rlx.ops.fused.reading import Readers, beside, number_of, partner

if TYPE_CHECKING:
    from rlx.ir import Node, TensorType, Value


@dataclass(frozen=True, slots=True)
class NormCore:
    """A standardization in ``real.*`` ops: ``c * rsqrt(mean(c^2) + epsilon)``.

    ``c`` is ``x`` less its mean (layer norm), or ``x`` itself (RMS norm).

    Attributes:
        x: Value that is normalized.
        axes: The axes of the means, counted from the front.
        epsilon: Added to the mean square.
        centred: Whether the mean is subtracted.
        result: The standardized value.
        nodes: Every node.
    """

    x: Value
    axes: tuple[int, ...]
    epsilon: float
    centred: bool
    result: Value
    nodes: tuple[Node, ...]


@dataclass(slots=True)
class NormMatch:
    """A normalization: its core, and the nodes that may be before and after it.

    Attributes:
        core: The standardization.
        gamma: Factor of its result, None for none.
        beta: Addend after the factor, None for none.
        tail: The multiplication and the addition.
        addition: The sum that is normalized, if it is part of the pattern.
    """

    core: NormCore
    gamma: Value | None = None
    beta: Value | None = None
    tail: tuple[Node, ...] = ()
    addition: Node | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the pattern."""
        first = () if self.addition is None else (self.addition,)
        return (*first, *self.core.nodes, *self.tail)

    @property
    def result(self) -> Value:
        """The normalized value."""
        return self.tail[-1].results[0] if self.tail else self.core.result


def core_at(value: Value) -> NormCore | None:
    """Return the standardization whose result is ``value``, None if it is none."""
    node = value.node
    if isinstance(node.op, real.RealMul):
        split = beside(value, real.RealMul, lambda v: isinstance(v.node.op, real.RealRsqrt))
        if split is None:
            return None
        root, c = split
    elif isinstance(node.op, real.RealDiv) and isinstance(node.operands[1].node.op, real.RealSqrt):
        c, root = node.operands
    else:
        return None
    sum_ = root.node.operands[0]
    added = beside(sum_, real.RealAdd, lambda v: number_of(v) is not None)
    if added is None:
        return None
    epsilon, mean = added
    axes = _mean_axes(mean.node)
    if axes is None or not _is_square(mean.node.operands[0].node, c):
        return None
    nodes = (mean.node.operands[0].node, mean.node, sum_.node, root.node, node)
    number = number_of(epsilon)
    assert number is not None
    return _match_centering(c, axes, number, value, nodes)


def _match_centering(
    c: Value, axes: tuple[int, ...], epsilon: float, result: Value, nodes: tuple[Node, ...]
) -> NormCore:
    """Return the core, from ``x`` on if ``c`` is ``x`` less its mean."""
    if isinstance(c.node.op, real.RealSub):
        x, mean = c.node.operands
        if _mean_axes(mean.node) == axes and mean.node.operands == (x,):
            return NormCore(x, axes, epsilon, True, result, (mean.node, c.node, *nodes))
    return NormCore(c, axes, epsilon, False, result, nodes)


def _mean_axes(node: Node) -> tuple[int, ...] | None:
    """Return the axes of a mean that keeps them, counted from the front; else None."""
    if not isinstance(node.op, real.RealReduceMean) or not node.op.keep_dims:
        return None
    rank = node.operands[0].type.rank
    return tuple(sorted(a % rank for a in node.op.axes))


def _is_square(node: Node, c: Value) -> bool:
    """Return whether a node is the square of ``c``."""
    if isinstance(node.op, real.RealMul):
        return node.operands == (c, c)
    return (
        isinstance(node.op, real.RealPow)
        and node.operands[0] == c
        and number_of(node.operands[1]) == 2.0
    )


def is_last(axes: tuple[int, ...], rank: int) -> bool:
    """Return whether axes are the last ones, without a gap."""
    return axes == tuple(range(rank - len(axes), rank))


def norm_at(value: Value, readers: Readers) -> NormMatch | None:
    """Return the normalization whose standardized value is ``value``, with scale and shift."""
    core = core_at(value)
    if core is None:
        return None
    found = NormMatch(core)
    _take(found, real.RealMul, readers)
    _take(found, real.RealAdd, readers)
    return found


def _take(match: NormMatch, op: type[real.RealMul] | type[real.RealAdd], readers: Readers) -> None:
    """Take the scale or the shift, if it is the only reader of the result so far."""
    value = match.result
    reader = readers.only(value)
    if reader is None or type(reader.op) is not op or reader.types[0] != value.type:
        return
    other = partner(reader, value)
    if other is None or not _fits(other.type, value.type, len(match.core.axes)):
        return
    match.tail = (*match.tail, reader)
    if op is real.RealMul:
        match.gamma = other
    else:
        match.beta = other


def _fits(type_: TensorType, like: TensorType, count: int) -> bool:
    """Return whether a shape is the last ``count`` axes of another, and 1 before them."""
    shape = type_.shape
    if not count <= len(shape) <= like.rank:
        return False
    first = len(shape) - count
    return shape[first:] == like.shape[like.rank - count :] and all(n == 1 for n in shape[:first])


@dataclass(frozen=True, slots=True)
class NormForm:
    """Parameters of a kernel of ``fused.norm`` or ``fused.residual_norm``.

    Attributes:
        x: Place of the normalized value among the operands, or of the first addend.
        addend: Place of the second addend, None where nothing is added before.
        gamma: Place of the scale, None for none. It has the shape of the last ``axes`` axes of
            ``x``, with 1 before them.
        beta: Place of the shift, of such a shape; None for none.
        axes: Number of last axes that are normalized together.
        epsilon: Added to the mean square.
        centred: Whether the mean is subtracted (layer norm), or not (RMS norm).
        sum_result: Place of the sum among the results, None if it is none of them.
        norm_result: Place of the normalized value among the results.
    """

    x: int
    addend: int | None
    gamma: int | None
    beta: int | None
    axes: int
    epsilon: float
    centred: bool
    sum_result: int | None
    norm_result: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _FusedNorm(Fused):
    """Base of normalizations."""

    adds: ClassVar[bool]

    @property
    def form(self) -> NormForm:
        """Parameters of a kernel."""
        form: NormForm = self.read()
        return form

    def find_form(self) -> NormForm:
        """Return the parameters of a kernel for the body."""
        body, readers = self.body, Readers(self.body)
        match = self._match(readers)
        first = match.core.x
        if self.adds:
            if not isinstance(first.node.op, real.RealAdd):
                raise self.misfit()
            match.addition = first.node
        outputs = body.outputs
        whole = outputs in ((match.result,), (first, match.result))
        if set(match.nodes) != set(body.op_nodes) or not whole:
            raise self.misfit()
        if len(outputs) == 2 and not self.adds:
            raise self.misfit()
        x, addend = first.node.operands if self.adds else (first, None)
        return NormForm(
            x=self._place(x),
            addend=None if addend is None else self._place(addend),
            gamma=None if match.gamma is None else self._place(match.gamma),
            beta=None if match.beta is None else self._place(match.beta),
            axes=len(match.core.axes),
            epsilon=match.core.epsilon,
            centred=match.core.centred,
            sum_result=0 if len(outputs) == 2 else None,
            norm_result=len(outputs) - 1,
        )

    def _match(self, readers: Readers) -> NormMatch:
        """Return the normalization in the body."""
        for node in self.body.op_nodes:
            found = norm_at(node.results[0], readers)
            if found is not None and is_last(found.core.axes, node.types[0].rank):
                return found
        raise self.misfit()

    def _place(self, value: Value) -> int:
        """Return the place of an operand."""
        if value not in self.body.inputs:
            raise self.misfit()
        return self.body.inputs.index(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedNorm(_FusedNorm):
    """Layer norm or RMS norm over the last axes, with scale and shift.

    Operands: ``x`` floating-point [..., D...], and maybe a scale and a shift [D...]. Result: the
    type of ``x``.

    Attributes:
        body: The normalization in ``real.*`` ops.
    """

    name: ClassVar[str] = "fused.norm"
    adds: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedResidualNorm(_FusedNorm):
    """``norm(x + y)``, and ``x + y`` where that is needed too.

    Operands: ``x``, ``y`` floating-point [..., D...], and maybe a scale and a shift [D...].
    Results: the sum if anything else reads it, and the normalized sum.

    Attributes:
        body: The addition, and the normalization in ``real.*`` ops.
    """

    name: ClassVar[str] = "fused.residual_norm"
    adds: ClassVar[bool] = True
