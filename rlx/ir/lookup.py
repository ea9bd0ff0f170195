"""Op classes by name, those of installed packages included."""

from __future__ import annotations

from typing import Final

from rlx.ir.op import Op
from rlx.ir.plain import PlainError
from rlx.support import plugins

GROUP: Final = "rlx.ops"
"""Entry points of packages with ops: the name is a dialect, the object the module of its ops."""

OWN_DIALECTS: Final = ("core", "fused", "nn", "q", "real")


def op_class(name: str) -> type[Op]:
    """Return the op class called ``name``.

    If no module that was imported so far defines it, the package that has registered its dialect
    is imported.

    Raises:
        PlainError: No op has this name, or the package of its dialect cannot be used.
    """
    dialect = name.partition(".")[0]
    if name not in Op.registry and dialect not in OWN_DIALECTS:
        _import(dialect)
    if name in Op.registry:
        return Op.registry[name]
    foreign = dialect not in OWN_DIALECTS
    hint = f"install the package that has the ops of dialect {dialect!r}" if foreign else None
    raise PlainError(f"no op is called {name!r}", hint=hint)


def _import(dialect: str) -> None:
    """Import the modules that are registered for a dialect."""
    if problem := plugins.problem_of(GROUP, dialect):
        raise PlainError(str(problem), hint=problem.hint)
