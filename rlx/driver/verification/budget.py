"""Budgets: limits for the resources of a network, in a file next to the model.

A file (``rlx.toml``) has a table for each network and target, named by the prefix of the emitted
identifiers and by the target::

    [kws.cortexm]
    flash = "40K"
    instructions = "2.8M"

The limits of a target, and the measured values, come from its verifier (:class:`Budgeted`).
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from rlx.support import plugins
from rlx.support.errors import OutputError, UsageError
from rlx.support.files.missing import missing_file
from rlx.support.files.outputs import read_manifest
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import parse_bytes, parse_clock, parse_count
from rlx.targets import verifier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rlx.targets.verifier import Verification

_BUDGET_FILE: Final = "name a budget file, rlx.toml"

BUILD: Final = "build.json"
"""Name of the result in a folder that a builder keeps."""


class Quantity(Enum):
    """Quantity that a limit is of, and whether it is the highest or the lowest value allowed."""

    BYTES = "bytes"
    COUNT = "count"
    CLOCK = "clock"

    @property
    def at_least(self) -> bool:
        """Whether more is better."""
        return self is Quantity.CLOCK


@dataclass(frozen=True, slots=True)
class Taken:
    """Amount of a resource that a network uses.

    Attributes:
        value: Bytes, a count or hertz; None if that is not known.
        source: Source of the value (``qemu``, ``estimate``), or the reason that there is none.
    """

    value: float | None
    source: str


@runtime_checkable
class Budgeted(Protocol):
    """Interface of a verifier that supports budgets."""

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """The limits that a table of the target may have, by name."""
        ...

    def taken(
        self, folder: Path, result: Verification, build: Mapping[str, Any] | None
    ) -> Mapping[str, Taken]:
        """Return the amount that a network uses of each of :attr:`quantities`.

        Args:
            folder: Folder that was verified.
            result: The verification.
            build: The result of a builder as JSON; None if it was not built.
        """
        ...


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """One limit and the measured value.

    Attributes:
        name: Name of the limit, such as ``flash``.
        quantity: Bytes, a count or a clock (in hertz).
        limit: The highest value allowed; of a clock the lowest.
        value: Amount that is used; None if it is not known.
        margin: Amount that is left; negative if the limit is passed, None if it is not known.
        source: Source of the value, or the reason that there is none.
        kept: Whether the limit is kept; one whose value is not known is not.
    """

    name: str
    quantity: Quantity
    limit: float
    value: float | None
    margin: float | None
    source: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits for one output folder.

    Attributes:
        network: Prefix of the emitted identifiers.
        target: Name of the target.
        limits: Bytes, counts or hertz, by name.
        meter: The target's verifier.
    """

    network: str
    target: str
    limits: Mapping[str, float]
    meter: Budgeted

    def rows(
        self, folder: Path, result: Verification, build: Mapping[str, Any] | None = None
    ) -> list[BudgetRow]:
        """Return each limit with the measured value; arguments as :meth:`Budgeted.taken`."""
        taken = self.meter.taken(folder, result, build)
        quantities = self.meter.quantities
        return [
            _row(name, quantities[name], limit, taken.get(name, Taken(None, "not measured")))
            for name, limit in self.limits.items()
        ]


def load(file: Path, folder: Path) -> Budget:
    """Return the limits of a file for an output folder.

    Args:
        file: A TOML file with a table for each network and target.
        folder: An output folder of ``rlx emit``.

    Raises:
        UsageError: The file cannot be read, names something unknown, or has no limits for the
            folder's network and target.
        OutputError: The folder was not made by rlx.
    """
    producer = read_manifest(folder, check_files=False).producer
    network, target = str(producer.facts.get("prefix", "")), producer.target
    tables = _tables(file)
    budgets = {
        (name, kind): _limits(file, f"{name}.{kind}", table, _meter(file, name, kind))
        for name, kinds in tables.items()
        for kind, table in kinds.items()
    }
    if (network, target) not in budgets:
        names = [f"{name}.{kind}" for name, kind in budgets]
        known = ", ".join(_meter(file, network, target).quantities)
        raise UsageError(
            f"has no limits for network {network!r} on {target}",
            where=str(file),
            hint=f"write a table [{network}.{target}] with some of: {known}; "
            + did_you_mean(f"{network}.{target}", names, what="the file has"),
        )
    return Budget(network, target, budgets[network, target], _meter(file, network, target))


def read_build(build: Path, folder: Path) -> Mapping[str, Any]:
    """Return the result that ``rlx build -o`` keeps in a folder.

    Args:
        build: Folder of the build.
        folder: The output folder that it must be a build of.

    Raises:
        OutputError: It is not such a folder, or was changed.
        UsageError: It is the build of something else.
    """
    if read_manifest(build).producer != read_manifest(folder, check_files=False).producer:
        raise UsageError(
            f"is the build of something else than {folder}",
            where=str(build),
            hint=f"build it again: rlx build {folder} -o {build}",
        )
    try:
        result: Mapping[str, Any] = json.loads((build / BUILD).read_bytes())
    except (OSError, ValueError) as error:
        raise OutputError(
            f"cannot be read: {error}",
            where=str(build / BUILD),
            hint="name what rlx build -o wrote",
        ) from None
    return result


def as_json(rows: Sequence[BudgetRow]) -> list[dict[str, Any]]:
    """Return the rows as JSON values."""
    return [asdict(row) | {"quantity": row.quantity.value} for row in rows]


def value_text(quantity: Quantity, value: float) -> str:
    """Return a value with its unit, such as ``7,252 B`` or ``80.00 MHz``."""
    if quantity is Quantity.CLOCK:
        return f"{value / 1e6:,.2f} MHz"
    return f"{value:,.0f} B" if quantity is Quantity.BYTES else f"{value:,.0f}"


def _tables(file: Path) -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    """Return the tables of a file: by network, then by target.

    Raises:
        UsageError: It cannot be read, or something in it is not such a table.
    """
    try:
        with file.open("rb") as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        raise missing_file(file, _BUDGET_FILE) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot be read: {reason}", where=str(file), hint=_BUDGET_FILE) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"expected TOML: {error}",
            where=str(file),
            hint="write tables like [kws.cortexm], and below it lines like flash = '256K'",
        ) from None
    for network, kinds in values.items():
        if not isinstance(kinds, dict) or not all(isinstance(t, dict) for t in kinds.values()):
            raise UsageError(
                f"expected a table [{network}.TARGET], got {network!r}",
                where=str(file),
                hint="write [NETWORK.TARGET], for example [kws.cortexm], and limits below it",
            )
    return values


def _meter(file: Path, network: str, target: str) -> Budgeted:
    names = plugins.names("rlx.verifiers")
    if target not in names:
        raise UsageError(
            f"[{network}.{target}] names no target",
            where=str(file),
            hint=did_you_mean(target, names, what="targets"),
        )
    target_verifier = verifier.load(target)
    if not isinstance(target_verifier, Budgeted):
        raise UsageError(
            f"target {target!r} has no budgets",
            where=str(file),
            hint="leave its table out of the file",
        )
    return target_verifier


def _limits(
    file: Path, title: str, table: Mapping[str, object], meter: Budgeted
) -> dict[str, float]:
    limits = {}
    for name, value in table.items():
        if name not in meter.quantities:
            raise UsageError(
                f"[{title}] has no limit {name!r}",
                where=str(file),
                hint=did_you_mean(name, meter.quantities, what="limits"),
            )
        try:
            limits[name] = _number(value, meter.quantities[name])
        except ValueError as error:
            raise UsageError(
                str(error),
                where=f"{file}, [{title}] {name}",
                hint="write a number, or a text with its unit such as '64K' or '50MHz'",
            ) from None
    return limits


def _number(value: object, quantity: Quantity) -> float:
    """Return a limit in bytes, as a count or in hertz.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        msg = f"expected a number, got {value!r}"
        raise ValueError(msg)  # noqa: TRY004 (of the file, not of a caller)
    parse = {
        Quantity.BYTES: parse_bytes,
        Quantity.COUNT: parse_count,
        Quantity.CLOCK: parse_clock,
    }[quantity]
    text = value if isinstance(value, str) else f"{value:.6f}".rstrip("0").rstrip(".")
    return parse(text)


def _row(name: str, quantity: Quantity, limit: float, usage: Taken) -> BudgetRow:
    margin = None if usage.value is None else limit - usage.value
    if margin is not None and quantity.at_least:
        margin = -margin
    return BudgetRow(
        name=name,
        quantity=quantity,
        limit=limit,
        value=usage.value,
        margin=margin,
        source=usage.source,
        kept=margin is not None and margin >= 0,
    )
