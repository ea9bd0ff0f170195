"""Settings of rlx: environment variables ``RLX_*``, and other values for a part of a program.

The variables are read once, when the first setting is needed. A variable that no setting has, or a
value that its setting does not accept, is an error. :func:`override` sets others for its ``with``
statement, and only for the thread or asyncio task that runs it::

    with rlx.config.override(check_finite=True):
        compiled = rlx.Session().compile(graph)

An argument of a caller, such as ``CompileOptions(backend=...)`` or an option of the command line,
has precedence over both.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, cast

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

PREFIX: Final = "RLX_"

FOREIGN: Final = frozenset(
    {
        "RLX_BUILD",  # rlx.mk: make hands its variables down
        "RLX_EXECUTABLE",  # the CMake package
        "RLX_FRAMES",  # test benches of emitted designs
        "RLX_RESULT",
        "RLX_SHARED",  # rlx's own tests and benchmarks
        "RLX_STARTED_BY",  # programs that rlx starts
        "RLX_VERSION_FILE",
    }
)
"""Variables that are not settings: other modules read them."""

MAX_THREADS: Final = 256
"""Maximum of the setting ``threads``."""

Dispatch: TypeAlias = Literal["prefer-native", "common", "native"]
"""The names of ``rlx.passes.Policy``, which is of a higher layer."""

_TRUE = ("1", "on", "true", "yes")
_FALSE = ("0", "no", "off", "false")
_DEBUG: Final = ("kernels",)
_DISPATCH: Final[tuple[Dispatch, ...]] = ("prefer-native", "common", "native")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of values.

    Attributes:
        takes: Description of them, for messages.
        example: One of them, as a variable holds it.
        parse: Returns the value of a text. Raises ValueError if it is none.
        accepts: Whether a Python object is such a value.
    """

    takes: str
    example: str
    parse: Callable[[str], object]
    accepts: Callable[[object], bool]


def _flag(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(text)
    return text.lower() in _TRUE


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(text)
    return int(text)


def _count(text: str) -> int:
    if _number(text) < 1:
        raise ValueError(text)
    return int(text)


def _folder(text: str) -> Path | bool:
    return text.lower() in _TRUE if text.lower() in (*_TRUE, *_FALSE) else Path(text)


def _one_of(choices: tuple[str, ...], example: str) -> _Kind:
    """Return the kind of values that are one of several names."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return _Kind(f"one of {', '.join(choices)}", example, parse, lambda value: value in choices)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_count(value: object) -> bool:
    return _is_number(value) and value != 0


def _threads(text: str) -> int:
    if not is_thread_count(_number(text)):
        raise ValueError(text)
    return int(text)


def is_thread_count(value: object) -> bool:
    """Whether a value is an integer from 1 to ``MAX_THREADS``."""
    return _is_count(value) and cast("int", value) <= MAX_THREADS


_FLAG = _Kind("on or off", "on", _flag, _is_flag)
_FOLDER = _Kind("a folder, on or off", "off", _folder, lambda v: isinstance(v, Path | bool))
_COUNT = _Kind("an integer of at least 1", "8", _count, _is_count)
_KINDS: Final[Mapping[str, _Kind]] = {
    "backend": _Kind("a name", "numpy", str, lambda value: value is None or isinstance(value, str)),
    "cache": _FOLDER,
    "cc": _Kind("a command", "clang", str, lambda value: value is None or isinstance(value, str)),
    "check_compiled": _FLAG,
    "check_finite": _FLAG,
    "compilations": _Kind("an integer of at least 0", "8", _number, _is_number),
    "compile_cache": _FOLDER,
    "compile_cache_mib": _COUNT,
    "debug": _Kind("kernels", "kernels", _one_of(_DEBUG, "").parse, lambda v: v in (None, *_DEBUG)),
    "dispatch": _one_of(_DISPATCH, "common"),
    "dump": _Kind("a folder", "out/stages", Path, lambda v: v is None or isinstance(v, Path)),
    "instruction_set": _Kind(
        "a name", "avx2", str, lambda value: value is None or isinstance(value, str)
    ),
    "programs": _COUNT,
    "quiet": _FLAG,
    "threads": _Kind(f"an integer from 1 to {MAX_THREADS}", "2", _threads, is_thread_count),
    "verify_each": _FLAG,
}
"""Kind of values of each setting; a test compares it with the fields of ``Config``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings.

    Each is read from the variable of its name in capitals, ``RLX_BACKEND`` and so on; an empty
    variable is as good as none. Flags are ``on`` or ``off`` (``1``, ``true``, ``yes``; ``0``,
    ``false``, ``no``).

    Attributes:
        backend: Backend of ``CompileOptions``; None for the best one installed for the device.
        cache: Folder of results that are kept; False for none, True for the user's cache folder.
        cc: C compiler of the backend ``native``, with arguments; None to look for one.
        check_compiled: Whether programs of a compiler are compared with NumPy before their first
            result (``rlx.runtime.checking``).
        check_finite: ``check_finite`` of ``CompileOptions``.
        compilations: Number of compiled graphs that the sessions of a process share.
        compile_cache: Folder of compiled code; False for none, True for the folder ``compiled`` in
            that of ``cache``.
        compile_cache_mib: Maximum size of that folder, in MiB.
        debug: Details printed on standard error for those who look for the reason of a decision:
            ``kernels`` for which kernel each layer got, and why the others lost; None for nothing.
        dispatch: Policy for ops that could be computed in two ways (``CompileOptions.policies``).
        dump: ``dump`` of ``CompileOptions``: a folder for the text of each step; None for none.
        instruction_set: ``instruction_set`` of ``CompileOptions``; None for the fastest one here.
        programs: For how many sizes of symbols a compiled graph keeps its programs.
        quiet: Whether the command line reports no steps and times, as ``--quiet`` says.
        threads: ``threads`` of ``CompileOptions``.
        verify_each: Whether graphs are verified after each application of each pass.
    """

    backend: str | None = None
    cache: Path | bool = True
    cc: str | None = None
    check_compiled: bool = True
    check_finite: bool = False
    compilations: int = 8
    compile_cache: Path | bool = True
    compile_cache_mib: int = 1024
    debug: Literal["kernels"] | None = None
    dispatch: Dispatch = "prefer-native"
    dump: Path | None = None
    instruction_set: str | None = None
    programs: int = 8
    quiet: bool = False
    threads: int = 1
    verify_each: bool = False

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if not kind.accepts(value):
                raise UsageError(
                    f"the setting {name!r} takes {kind.takes}, got {value!r}",
                    hint=f"as a variable of the environment: {variable(name)}={kind.example}",
                )


class SettingChanges(TypedDict, total=False):
    """Arguments of :func:`override`: any of the settings."""

    backend: str | None
    cache: Path | bool
    cc: str | None
    check_compiled: bool
    check_finite: bool
    compilations: int
    compile_cache: Path | bool
    compile_cache_mib: int
    debug: Literal["kernels"] | None
    dispatch: Dispatch
    dump: Path | None
    instruction_set: str | None
    programs: int
    quiet: bool
    threads: int
    verify_each: bool


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def variable_of(name: str, value: str) -> str | None:
    """Return the environment variable that sets the setting ``name`` to ``value``, or None."""
    return variable(name) if os.environ.get(variable(name)) == value else None


def from_environment(environment: Mapping[str, str]) -> Config:
    """Return the settings that environment variables hold; defaults for the others.

    Raises:
        UsageError: A variable ``RLX_*`` belongs to no setting, or has a value that its setting does
            not accept.
    """
    names = {variable(name): name for name in _KINDS}
    settings: dict[str, object] = {}
    for key in sorted(environment):
        if not key.startswith(PREFIX) or key in FOREIGN:
            continue
        if key not in names:
            raise UsageError(
                f"no setting is called {key!r}",
                where="environment",
                hint=did_you_mean(key, names, what="settings"),
            )
        if environment[key]:
            settings[names[key]] = _parsed(names[key], environment[key])
    return Config(**cast("SettingChanges", settings))


def _parsed(name: str, text: str) -> object:
    kind = _KINDS[name]
    try:
        return kind.parse(text)
    except ValueError:
        raise UsageError(
            f"{variable(name)} takes {kind.takes}, got {text!r}",
            where="environment",
            hint=f"write it as {variable(name)}={kind.example}, or unset it",
        ) from None


@cache
def _process_config() -> Config:
    """Return the settings of the process's environment; read once, unless that fails."""
    return from_environment(os.environ)


_OVERRIDE: Final[ContextVar[Config | None]] = ContextVar("rlx.config", default=None)


def current() -> Config:
    """Return the settings that hold here: of the innermost :func:`override`, else of the process.

    Raises:
        UsageError: The environment holds a variable ``RLX_*`` that is unknown or malformed.
    """
    return _OVERRIDE.get() or _process_config()


def reload() -> Config:
    """Read the environment again, for a program that has changed it, and return its settings.

    Raises:
        UsageError: As for :func:`current`.
    """
    _process_config.cache_clear()
    return _process_config()


@contextmanager
def override(**changes: Unpack[SettingChanges]) -> Iterator[Config]:
    """Set settings for a ``with`` statement.

    Only the thread or asyncio task that runs the statement sees them, and the tasks that it starts
    there. A thread that it starts begins with the settings of the process; run it in
    ``contextvars.copy_context()`` to hand these down.

    Args:
        changes: The settings, by name; others stay unchanged.

    Raises:
        UsageError: There is no such setting, or it does not accept such a value.
    """
    for name in changes:
        if name not in _KINDS:
            raise UsageError(
                f"no setting is called {name!r}", hint=did_you_mean(name, _KINDS, what="settings")
            )
    token = _OVERRIDE.set(replace(current(), **changes))
    try:
        yield current()
    finally:
        _OVERRIDE.reset(token)
