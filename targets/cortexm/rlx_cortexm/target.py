"""The target ``cortexm``: what the compiler sees of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from rlx.errors import UnsupportedOpError, UsageError
from rlx.names import check_prefix, mangle
from rlx.ops.q import QSoftmax
from rlx.plan import elementwise_in_place
from rlx.target import Emission
from rlx_cortexm.emit import Emitter
from rlx_cortexm.estimate import estimate
from rlx_cortexm.lower import RULES
from rlx_cortexm.program import lower, program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import GraphModule, Node, Op

CPUS = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
"""Cores that emitted C is tested on."""

_C99_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg
stdbool stddef stdint stdio stdlib string tgmath time wchar wctype
"""
STANDARD_HEADERS = frozenset(_C99_HEADERS.split())
"""Headers of C99: a model's header of that name would hide them."""

_PREFIX_LENGTH = 32


@dataclass(frozen=True, slots=True)
class CortexMOptions:
    """Options of ``rlx emit --target cortexm``."""

    prefix: str | None = field(
        default=None,
        metadata={"help": "First part of every C name, and name of the files [from the model].",
                  "metavar": "NAME"},
    )  # fmt: skip
    cpu: str = field(
        default="cortex-m4",
        metadata={"help": "Core that the network is meant for.", "choices": CPUS},
    )
    static_arena: bool = field(
        default=False, metadata={"help": "Define an arena too, as a global array."}
    )

    def __post_init__(self) -> None:
        if self.cpu not in CPUS:
            raise UsageError(f"cpu must be one of {', '.join(CPUS)}, not {self.cpu!r}")
        if self.prefix is not None and check_prefix(self.prefix).lower() in STANDARD_HEADERS:
            raise UsageError(
                f"prefix {self.prefix!r} would hide the C library's header {self.prefix}.h",
                hint=f"use another one, for example {self.prefix}_net",
            )

    def prefix_for(self, name: str) -> str:
        """Return the prefix given, or one made from a model's name."""
        if self.prefix is not None:
            return self.prefix
        words = mangle(name)[:_PREFIX_LENGTH].rstrip("_")
        return mangle(f"{words} net") if words.lower() in STANDARD_HEADERS else words


class CortexM:
    """C99 for Cortex-M; see ``rlx.target.Target``."""

    name: ClassVar[str] = "cortexm"
    summary: ClassVar[str] = "C99 for Arm Cortex-M and any other C compiler, no heap, no runtime"
    pipeline: ClassVar[str] = "default"
    options: ClassVar[type[Any]] = CortexMOptions

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` is lowered, or refused with a reason."""
        return RULES.knows(op)

    def reason(self, op: type[Op]) -> str | None:
        """Return why ``op`` cannot be lowered at all, or None if it can."""
        return RULES.reason(op)

    def refusal(self, node: Node) -> str | None:
        """Return why this node cannot be lowered as it stands, or None if it can."""
        reason = self.reason(type(node.op))
        if reason is not None:
            return reason
        try:
            lower(node)
        except UnsupportedOpError as e:
            return e.message
        return None

    def in_place(self, node: Node) -> tuple[int, ...]:
        """Return the operands whose bytes the node's result may overwrite."""
        if isinstance(node.op, QSoftmax):
            return (0,)
        return elementwise_in_place(node)

    def emit(self, module: GraphModule, options: CortexMOptions) -> Emission:
        """Return the C files for ``module`` (stage LIR).

        Raises:
            UnsupportedOpError: A node cannot be lowered exactly.
            EmitError: An input or output has an element type that C code cannot take.
        """
        lowered = program(module)
        prefix = options.prefix_for(module.graph.name)
        emitter = Emitter(lowered, prefix, cpu=options.cpu, static_arena=options.static_arena)
        facts = {"prefix": prefix, "cpu": options.cpu}
        return Emission(emitter.files(), estimate(lowered, emitter.row), facts)

    def estimate(self, module: GraphModule, options: CortexMOptions) -> Mapping[str, Any]:
        """Return layers with MACs and bytes, and totals, without emitting."""
        lowered = program(module)
        prefix = options.prefix_for(module.graph.name)
        emitter = Emitter(lowered, prefix, cpu=options.cpu, static_arena=options.static_arena)
        return estimate(lowered, emitter.row)


TARGET = CortexM()
