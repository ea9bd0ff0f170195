"""Float networks at a target with assumed scales: their resource needs, without samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rlx.driver.driver import fit_to_target
from rlx.ir.module import GraphModule
from rlx.passes.quantize.assumed import convert_assumed
from rlx.passes.quantize.scheme import WIDTHS
from rlx.passes.transforms.bind import check_bound
from rlx.support.errors import RlxError, UsageError
from rlx.targets import needs_samples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.passes import Policies
    from rlx.passes.boundaries import PortChange
    from rlx.targets import Target

WEIGHT_BITS: Final = (8, 4, 2)
"""Widths of weights that may be assumed."""

_DEFAULT: Final = 8


@dataclass(frozen=True, slots=True)
class Assumption:
    """Quantization that was assumed of a float network.

    Attributes:
        weight_bits: Width of the weights.
        activation_bits: Width of the activations.
    """

    weight_bits: int
    activation_bits: int = 8

    def __str__(self) -> str:
        alike = self.weight_bits == self.activation_bits
        activations = "activations" if alike else f"int{self.activation_bits} activations"
        both = f"int{self.weight_bits} weights and {activations}"
        return f"assumed: {both}; accuracy needs samples"

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "weight_bits": self.weight_bits,
            "activation_bits": self.activation_bits,
            "note": str(self),
        }


@dataclass(frozen=True, slots=True)
class Assumed:
    """A network in a form that a target supports, if there is one.

    Attributes:
        module: The network itself, or the integer network that replaces a float one.
        assumption: The quantization that was assumed; None for a network that is not float.
    """

    module: GraphModule
    assumption: Assumption | None

    def ports(self, changes: Iterable[PortChange]) -> list[str]:
        """Return a line for each changed input and output; an assumed scale is left out."""
        return [change.text(scale=self.assumption is None) for change in changes]


def assume(
    module: GraphModule,
    target: Target,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    weight_bits: int | None = None,
) -> Assumed:
    """Return the integer network that replaces a float network; any other unchanged.

    A float network that the target supports is returned unchanged.

    Args:
        module: The imported model.
        target: The target.
        options: Instance of ``target.options``; None for the defaults.
        policies: As for :func:`rlx.driver.driver.fit_to_target`.
        weight_bits: Width of the weights of a float network; None for 8, or for any network.

    Raises:
        UsageError: A dimension is a symbol, a parameter has no value, or there is a width for a
            network that is not float, or one that weights cannot have.
        UnsupportedOpError: A float network has ops without an integer form, all of which it names.
    """
    check_bound(module.graph)
    if weight_bits not in (None, *WEIGHT_BITS):
        raise UsageError(f"weights of {weight_bits!r} bits cannot be assumed", hint=WIDTHS)
    is_float = needs_samples(module.graph)
    if not is_float or _taken(module, target, options, policies):
        if weight_bits is not None:
            raise _refusal(module, is_float=is_float)
        return Assumed(module, None)
    bits = cast("Literal[8, 4, 2]", weight_bits or _DEFAULT)
    converted = convert_assumed(module.graph, bits)
    return Assumed(GraphModule.mir(converted.graph), Assumption(bits))


def _taken(
    module: GraphModule,
    target: Target,
    options: Any,  # noqa: ANN401 - the target's own class
    policies: Policies | None,
) -> bool:
    """Return whether a target supports a network without a change."""
    try:
        fitted = fit_to_target(module, target, options=options, policies=policies)
    except RlxError:
        return False
    return fitted.dispatch.ready


def _refusal(module: GraphModule, *, is_float: bool) -> UsageError:
    """Return the error of a width for a network whose weights have one already."""
    where = f"graph {module.graph.name!r}"
    if is_float:
        return UsageError(
            "the target computes it in float, without a width of weights",
            where=where,
            hint="leave --weight-bits out",
        )
    return UsageError(
        "it is not a float network: its weights have the width that the model gives them",
        where=where,
        hint="leave the width of weights out, or give the float network that this one was made of",
    )
