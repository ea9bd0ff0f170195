"""Export of nodes one by one, for any format: operands, refusals, an error for all of them.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from rlx.ops.q import computes_int16
from rlx.support.errors import UnsupportedOpError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rlx.ir import Array, Node, Op, RuleTable, Value

_MAX_LISTED: Final = 20

MADE_FOR_TARGETS: Final = "it is made for a target; export the network before that"
"""Reason why a fused op is not exported."""

KEEPS_A_STATE: Final = "its state outlives a run, and exported files have none"
"""Reason why recurrent layers are not exported."""

ON_INT16: Final = "its activations are int16, and exported files have int8"
"""Reason why ops on int16 are not exported."""

FULL: Final = (-128, 127)
"""Bounds of a result that is not clamped."""


class NodeExport:
    """A node that is exported.

    Attributes:
        format: Name of the format in messages.
        form: Form of integer networks in the format, in messages.
        node: The node.
    """

    format: ClassVar[str]
    form: ClassVar[str]

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def op(self) -> Op:
        """The op of the node."""
        return self.node.op

    @property
    def result(self) -> Value:
        """The result of the node."""
        return self.node.result

    def refused(self, reason: str, hint: str) -> UnsupportedOpError:
        """Return the error that this node has no form in the format."""
        return UnsupportedOpError(reason, where=f"{self.op.name} {self.node.label}", hint=hint)

    def constant(self, value: Value) -> Array:
        """Return the contents of an operand that must be constant.

        Raises:
            UnsupportedOpError: It is computed.
        """
        if value.constant is None:
            raise self.refused(
                f"{value.node.label} is computed, and {self.format} wants a constant",
                "only weights that are constant can be exported",
            )
        return value.constant


CallT = TypeVar("CallT", bound=NodeExport)


def export_nodes(
    calls: Iterable[CallT],
    rules: RuleTable[Callable[[CallT], None]],
    give_up: Callable[[CallT], None],
) -> None:
    """Export nodes in order, each by the rule of its op.

    Args:
        calls: The nodes.
        rules: A function for each op of the format.
        give_up: Called with a refused node, to make something up for its results: nodes that use
            them are looked at as well, and nothing is written.

    Raises:
        UnsupportedOpError: Nodes were refused; all are listed.
    """
    errors: list[UnsupportedOpError] = []
    for call in calls:
        try:
            if rules.is_refused(type(call.op)):
                raise call.refused(
                    rules.reason(type(call.op)) or "",
                    "emit the network for a target, or keep the file that it came from",
                )
            if computes_int16(call.node):
                raise call.refused(
                    ON_INT16,
                    "keep the file that the network came from",
                )
            if type(call.op) not in rules:
                raise call.refused(
                    f"{call.form} cannot express it", "quantize the network first: rlx quantize"
                )
            rules[type(call.op)](call)
        except UnsupportedOpError as error:
            errors.append(error)
            give_up(call)
    if errors:
        raise _refused_together(errors, call.format)


def _refused_together(errors: Sequence[UnsupportedOpError], format_: str) -> UnsupportedOpError:
    """Return an error that lists everything a format cannot hold; a single error unchanged."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"{format_} cannot express {counted(len(errors), 'op')}"]
    lines += [f"  {error.where}: {error.message}" for error in errors[:_MAX_LISTED]]
    if len(errors) > _MAX_LISTED:
        lines.append(f"  and {len(errors) - _MAX_LISTED} more")
    hints = dict.fromkeys(error.hint for error in errors)
    return UnsupportedOpError("\n".join(lines), hint="; ".join(hints))
