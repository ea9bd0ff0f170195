"""Calls of public functions: missing and unknown arguments, and values of other types."""

from __future__ import annotations

import inspect
import re
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rlx.support.annotations import mismatch
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function refuse a call that does not fit it, with what the argument is.

    Arguments are checked by their annotations (:mod:`rlx.support.annotations`). The docstring has a
    Google section ``Args``; the first sentence about an argument is the hint.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            raise _refusal(function, signature, args, kwargs) from None
        for name, value in bound.arguments.items():
            _check(function, signature.parameters[name], value)
        return function(*args, **kwargs)

    return call


def checked_init(cls: type[T]) -> type[T]:
    """Let a public dataclass refuse arguments that do not fit it, as :func:`checked_call` does."""
    cls.__init__ = checked_call(cls.__init__)  # type: ignore[method-assign]
    return cls


def _check(function: Callable[..., object], parameter: inspect.Parameter, value: Any) -> None:  # noqa: ANN401 - any argument
    """Refuse an argument that does not fit its annotation."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return
    is_several = parameter.kind is parameter.VAR_POSITIONAL
    for argument in value if is_several else (value,):
        if problem := mismatch(parameter.annotation, argument):
            raise UsageError(
                f"{parameter.name}: {problem}",
                where=_name(function),
                hint=_about(function, parameter.name),
            )


def _refusal(
    function: Callable[..., object],
    signature: inspect.Signature,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> UsageError:
    """Return the error for a call that does not fit a signature."""
    where = _name(function)
    parameters = signature.parameters.values()
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [p.name for p in parameters if p.kind not in several and p.name != "self"]
    bound_names = {*plain[: len(args)], *kwargs}
    missing_names = [
        p.name for p in parameters
        if p.name in named and p.default is p.empty and p.name not in bound_names
    ]  # fmt: skip
    unknown_names = [name for name in kwargs if name not in named]
    if unknown_names and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        hint = did_you_mean(unknown_names[0], named, what="its arguments")
        if "CompileOptions" in str(signature.parameters.get("options")):
            hint += '; settings of compilation are options=rlx.CompileOptions(backend="numpy")'
        return UsageError(f"has no argument {unknown_names[0]!r}", where=where, hint=hint)
    if missing_names:
        hint = "; ".join(_about(function, name) for name in missing_names)
        return UsageError(
            f"expected {' and '.join(missing_names)}, got none", where=where, hint=hint
        )
    if len(args) > len(plain):
        named_only = ", ".join(name for name in named if name not in plain)
        self_count = int("self" in plain)
        expected, count = len(plain) - self_count, len(args) - self_count
        return UsageError(
            f"expected at most {counted(expected, 'argument')} without a name, got {count}",
            where=where,
            hint=f"give the others by name: {named_only}" if named_only else f"see help({where})",
        )
    twice = next(name for name in plain[: len(args)] if name in kwargs)
    return UsageError(f"got {twice} twice", where=where, hint=f"give {twice} once")


def _name(function: Callable[..., object]) -> str:
    """Return the name of a public function, or of a method with its class."""
    *_, name = function.__qualname__.split("<locals>.")
    return f"rlx.{name.removesuffix('.__init__')}"


def _about(function: Callable[..., object], name: str) -> str:
    """Return an argument's name and the first sentence about it in the function's docstring."""
    lines = inspect.getdoc(function) or ""
    entry = re.search(rf"^ +{name}: ((?:.|\n +(?! *\w+: ))*)", lines, re.MULTILINE)
    if entry is None:
        return f"see help({_name(function)})"
    text = " ".join(entry[1].split())
    plain = re.sub(r":\w+:`~?([\w.]+)`", r"\1", text.rstrip("."))
    plain = re.sub(r'``("[^"]*")``', r"\1", plain).replace("``", "'")
    sentence, *_ = re.split(r"[.;] ", plain)
    return f"{name}: {sentence[:1].lower()}{sentence[1:]}"
