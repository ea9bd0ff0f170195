"""Plug-ins: objects of installed packages, found by their entry points, and loaded here alone.

A package that cannot be loaded does not affect others: it is named in one line and left out. A
plug-in that the user asked for by name raises an error instead, with the reason.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import metadata
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import PluginWarning, TargetNotFoundError
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

API: Final = 1
"""Version of the interfaces of plug-ins. Each says by an attribute ``api`` for which it is written;
without one it is 1."""

FIRST_API: Final = 1
OWN_PACKAGE: Final = "rlx"
_REASON_LENGTH: Final = 200
"""Characters of another package's error in a message."""


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """Members that the objects of a group of entry points must have.

    Attributes:
        kind: Name of one of them in messages.
        methods: Methods that it must have.
        values: Attributes that it must have, and of which type.
    """

    kind: str
    methods: tuple[str, ...] = ()
    values: Mapping[str, type] = field(default_factory=dict)


GROUPS: Final = {
    "rlx.backends": PluginGroup(
        "backend",
        ("claims", "compile", "plan", "refusal", "unavailable"),
        {"name": str, "rank": int, "devices": Collection},
    ),
    "rlx.builders": PluginGroup("builder", ("build",)),
    "rlx.frontends": PluginGroup(
        "frontend", ("claims", "load"), {"name": str, "suffixes": Collection, "options": type}
    ),
    "rlx.ops": PluginGroup("dialect"),
    "rlx.targets": PluginGroup(
        "target", ("emit", "knows", "lowering"), {"name": str, "summary": str, "options": type}
    ),
    "rlx.tools": PluginGroup("tool probe", ("__call__",)),
    "rlx.verifiers": PluginGroup("verifier", ("simulators", "verify")),
}
"""Every group of entry points that rlx reads."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Reason for which a plug-in cannot be used.

    Attributes:
        label: The plug-in and its package: ``target 'acme' of acme-targets 1.0``.
        reason: Description of the problem.
        hint: Advice about it.
        lacking: Package that it imports and that is not installed; None if that is not the reason.
        built_in: Whether the plug-in is a part of rlx, whose packages are installed as extras.
        cause: Exception that loading it raised; None if it was loaded.
    """

    label: str
    reason: str
    hint: str
    lacking: str | None = None
    built_in: bool = False
    cause: BaseException | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A plug-in of a group, or the problem with it.

    Attributes:
        name: Name of its entry point.
        plugin: The object; None if there is a problem.
        package: Name and version of its package, for messages; None for a part of rlx.
        problem: Reason for which it cannot be used, or None.
    """

    name: str
    plugin: Any
    package: str | None = None
    problem: Problem | None = None


def names(group: str) -> list[str]:
    """Return the names that are installed under ``group``, sorted."""
    return sorted({entry.name for entry in entries(group)})


def load_all(group: str) -> list[Any]:
    """Return the plug-ins of ``group`` that can be used, by name; warn once of each other one."""
    found = survey(group)
    for one in found:
        # Extras of rlx that are not installed are not a defect.
        if one.problem is not None and not (one.problem.built_in and one.problem.lacking):
            warn_of(one.problem)
    return [one.plugin for one in found if one.problem is None]


def survey(group: str) -> list[LoadedPlugin]:
    """Return all plug-ins of ``group`` by name, also those that cannot be used."""
    found = sorted(entries(group), key=lambda entry: entry.name)
    return [_load(group, entry) for entry in found]


def load(
    group: str, name: str, *, missing: str, hint: str, purpose: str = "", extra: str = ""
) -> Any:  # noqa: ANN401 - any object of the group
    """Return the plug-in that is installed as ``name`` under ``group``.

    Args:
        group: PluginGroup of entry points, for example ``rlx.targets``.
        name: Name in the group.
        missing: Message when nothing is installed under that name.
        hint: Advice when nothing is installed under that name.
        purpose: Task or component that needs the packages of a plug-in of rlx, for messages.
        extra: Extra of rlx that installs these packages.

    Raises:
        TargetNotFoundError: Nothing is installed under that name, or it cannot be used.
    """
    loaded = _find(group, name)
    if loaded is None:
        raise TargetNotFoundError(missing, hint=hint)
    problem = loaded.problem
    if problem is None:
        return loaded.plugin
    if problem.built_in and problem.lacking:
        raise TargetNotFoundError(
            f"{purpose} needs the package {problem.lacking!r}", hint=f"pip install 'rlx[{extra}]'"
        ) from problem.cause
    raise TargetNotFoundError(str(problem), hint=problem.hint) from problem.cause


def problem_of(group: str, name: str) -> Problem | None:
    """Return the problem of the plug-in called ``name``; None if it can be used, or is none."""
    found = _find(group, name)
    return None if found is None else found.problem


def _find(group: str, name: str) -> LoadedPlugin | None:
    """Return the plug-in that is installed as ``name``, tried again if it failed before."""
    entry = next((entry for entry in entries(group) if entry.name == name), None)
    return None if entry is None else _load(group, entry, again=True)


def entries(group: str) -> list[EntryPoint]:
    """Return the entry points of ``group``; packages whose metadata is damaged have none."""
    try:
        return list(metadata.entry_points(group=group))
    except Exception:  # one package with damaged metadata
        return list(_sound_entries(group))


def _sound_entries(group: str) -> Iterator[EntryPoint]:
    """Yield the entry points of ``group``, looking at each package alone."""
    packages: set[str] = set()
    for package in metadata.distributions():
        label = _package(package) or "?"
        # The first one on the path hides others of its name, as it does for ``import``.
        if label.split()[0] in packages:
            continue
        packages.add(label.split()[0])
        try:
            yield from package.entry_points.select(group=group)
        except Exception as error:  # malformed metadata may raise anything
            warn_of(Problem(f"package {label}", f"damaged metadata: {_text(error)}", ""))


_failed: Final[dict[tuple[str, str, str], LoadedPlugin]] = {}
"""Plug-ins that could not be loaded: they are not imported again for each file."""

_warned: Final[set[str]] = set()
"""Texts of the warnings so far."""


def warn_of(problem: Problem) -> None:
    """Warn that a plug-in is left out, once in a process."""
    text = f"skipped {problem}"
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, PluginWarning, stacklevel=2)


def failure(label: str, method: str, error: Exception) -> Problem:
    """Return the problem of a loaded plug-in whose method raised an exception that it must not."""
    return Problem(label, f"{method}() failed: {type(error).__name__}: {_text(error)}", "")


def _load(group: str, entry: EntryPoint, *, again: bool = False) -> LoadedPlugin:
    """Return an entry point's object, or the problem with it.

    Args:
        group: Its group.
        entry: The entry point.
        again: Whether one that failed is tried again.
    """
    key = (group, entry.name, entry.value)
    if not again and key in _failed:
        return _failed[key]
    package = _package(entry.dist) or "an unknown package"
    built_in = package.split()[0] == OWN_PACKAGE
    try:
        plugin = entry.load()
        _check_api(plugin)
        _check_members(GROUPS[group], plugin)
    except (Exception, SystemExit) as error:  # code of other packages
        label = f"{GROUPS[group].kind} {printable(entry.name)!r}" + f" of {package}" * (
            not built_in
        )
        lacking = _lacking(error, entry)
        hint = _hint(error, package, lacking)
        problem = Problem(label, _reason(error, entry), hint, lacking, built_in, error)
        _failed[key] = failed = LoadedPlugin(
            entry.name, None, None if built_in else package, problem
        )
        return failed
    return LoadedPlugin(entry.name, plugin, None if built_in else package)


class _UnfitError(Exception):
    """An object does not fit its group."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


def _check_api(plugin: object) -> None:
    """Check that a plug-in is written for the interfaces of this rlx."""
    api = getattr(plugin, "api", FIRST_API)
    # In a package of ops the name may be that of a module.
    if type(api) is not int and not isinstance(plugin, ModuleType):
        raise _UnfitError(f"expected an integer as api, got {_text(api)}")
    if type(api) is int and api != API:
        hint = f"update rlx, or install a version of the package that is written for api {API}"
        raise _UnfitError(f"written for api {api} of plug-ins, this rlx has api {API}", hint)


def _check_members(group: PluginGroup, plugin: Any) -> None:  # noqa: ANN401 - any object of a package
    """Check that a plug-in has the members that its group needs."""
    for name, kind in group.values.items():
        value = getattr(plugin, name, MISSING)
        if not isinstance(value, kind):
            got = "none" if value is MISSING else type(value).__name__
            raise _UnfitError(f"expected an attribute {name!r} of type {kind.__name__}, got {got}")
    for name in group.methods:
        if not callable(getattr(plugin, name, None)):
            raise _UnfitError(f"expected a method {name!r}, got none")
        if isinstance(plugin, type) and isinstance(
            inspect.getattr_static(plugin, name), FunctionType
        ):
            raise _UnfitError(f"expected an object, got the class {plugin.__name__}")
    if "options" in group.values and not _has_defaults(plugin.options):
        raise _UnfitError("expected 'options' to be a dataclass with a default for each field")


def _has_defaults(options: type) -> bool:
    """Return whether a class is a dataclass that can be made without arguments."""
    return is_dataclass(options) and all(
        one.default is not MISSING or one.default_factory is not MISSING
        for one in fields(options)
        if one.init
    )


def _lacking(error: BaseException, entry: EntryPoint) -> str | None:
    """Return the package that a plug-in imports and that is not installed, or None."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    return None if package == entry.module.partition(".")[0] else package


def _reason(error: BaseException, entry: EntryPoint) -> str:
    """Return the reason for which a plug-in cannot be used, in one line."""
    if isinstance(error, _UnfitError):
        return str(error)
    if lacking := _lacking(error, entry):
        return f"needs the package {lacking!r}, which is not installed"
    if isinstance(error, ModuleNotFoundError) and error.name == entry.module:
        return f"its module {entry.module!r} is missing"
    return f"cannot be loaded: {type(error).__name__}: {_text(error)}"


def _hint(error: BaseException, package: str, lacking: str | None) -> str:
    """Return the hint about a plug-in that cannot be used."""
    if isinstance(error, _UnfitError) and error.hint:
        return error.hint
    return f"pip install {lacking}" if lacking else f"update, repair or uninstall {package}"


def _text(value: object) -> str:
    """Return the first line of a text that another package made."""
    first, *_ = str(value).splitlines() or [""]
    return shorten(printable(first), _REASON_LENGTH)


def _package(package: metadata.Distribution | None) -> str | None:
    """Return name and version of a package, or None if its metadata has no name."""
    try:
        return None if package is None else printable(f"{package.name} {package.version}")
    except Exception:  # damaged metadata
        return None
