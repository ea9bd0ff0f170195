"""Estimates of a model's needs on a target, before anything is emitted.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from rlx.support.text.notebook import report_html, table_html
from rlx.support.text.suggest import no_such_attribute, no_such_key
from rlx.support.text.tables import Column, Table, view_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.support.text.tables import View


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Estimate(Mapping[str, Any]):
    """Estimate of a model on a target; also a mapping with the keys of ``rlx estimate --json``.

    Attributes:
        target: Name of the target.
        figures: Figures of the target as JSON values, which ``estimate[KEY]`` reads.
        view: Tables and figures as ``rlx estimate`` shows them, which ``print`` shows.
    """

    target: str
    figures: Mapping[str, Any]
    view: View = ()

    @property
    def layers(self) -> tuple[Mapping[str, Any], ...]:
        """The row of each layer; all rows of a target have the same keys."""
        return tuple(self.figures.get("layers", ()))

    @property
    def totals(self) -> dict[str, int | float | str]:
        """Every figure of the model as a whole, such as ``macs``; which ones depends on the target.

        For C among others ``instructions``, ``constant_bytes`` and ``arena_bytes``, for an FPGA
        ``fps``, ``interval`` (clock cycles) and ``lut``.
        """
        return {k: v for k, v in self.figures.items() if isinstance(v, int | float | str)}

    @property
    def assumed(self) -> Mapping[str, Any] | None:
        """Quantization that was assumed of a float network; None for others."""
        return self.figures.get("assumed")

    @property
    def fits(self) -> bool:
        """Whether it keeps the limits of the device and of the options."""
        return bool(self.figures.get("fits", True))

    @property
    def short(self) -> str | None:
        """Limit that is exceeded; None if it fits."""
        found = self.figures.get("short")
        return None if self.fits or found is None else str(found)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a JSON value
        if key not in self.figures:
            raise no_such_key(key, self.figures, what="figure")
        return self.figures[key]

    if not TYPE_CHECKING:  # else a type checker would accept any attribute

        def __getattr__(self, name: str) -> object:
            """Refuse an attribute that does not exist: figures are keys."""
            # Those of a copy that is being made are not set yet.
            keys = () if name in self.__slots__ or name.startswith("__") else self.figures
            raise no_such_attribute(self, name, keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __repr__(self) -> str:
        fits = "" if self.fits else f", does not fit: {self.short}"
        return f"<Estimate for {self.target}: {counted(len(self.layers), 'layer')}{fits}>"

    def __str__(self) -> str:
        notes = [*self.figures.get("ports", ()), *([self.assumed["note"]] if self.assumed else [])]
        return "\n".join([view_text(self.view), *notes]) if self.view else repr(self)

    def _repr_html_(self) -> str:
        """Return the figures and the table of layers that notebooks show."""
        columns = self.figures.get("columns", ())
        return report_html(repr(self)[1:-1], self.totals, self.layers, columns)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Estimates(Sequence[Mapping[str, Any]]):
    """One model with several values of an option, such as devices: a row for each, best first.

    Attributes:
        target: Name of the target.
        option: The option; each row has its value under this key.
        columns: The figures of a row by key, as tables show them.
        rows: Figures by key; ``fits``; and ``reason``, a fact that rules it out, or may do so.
            Where there is no design at all, the row has no figures.
        assumed: Quantization that was assumed of a float network, as JSON values; None for others.
    """

    target: str
    option: str
    columns: Mapping[str, Column]
    rows: tuple[Mapping[str, Any], ...]
    assumed: Mapping[str, Any] | None = None

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The best row that fits; None if nothing fits."""
        return self.rows[0] if self.rows and self.rows[0]["fits"] else None

    @property
    def reasons(self) -> dict[str, str]:
        """Reasons against values, or possible ones."""
        return {row[self.option]: row["reason"] for row in self.rows if row["reason"]}

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        rows = [dict(row) for row in self.rows]
        assumed = {} if self.assumed is None else {"assumed": dict(self.assumed)}
        return {"target": self.target, "option": self.option, **assumed, "rows": rows}

    def table(self) -> Table:
        """Return the rows as a table."""
        fits = sum(bool(row["fits"]) for row in self.rows)
        columns = (
            Column(self.option),
            Column("fits"),
            *self.columns.values(),
        )
        rows = tuple(
            (
                row[self.option],
                "-" if row["fits"] is None else bool(row["fits"]),
                *(row.get(key) for key in self.columns),
            )
            for row in self.rows
        )
        title = f"{self.target}: {fits} of {len(rows)} fit, predicted"
        return Table(title, columns, rows, emphasis=0 if self.best else None)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Mapping[str, Any], ...]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | tuple[Mapping[str, Any], ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        best = f", best {self.best[self.option]}" if self.best else ""
        fits = sum(bool(row["fits"]) for row in self.rows)
        return f"<Estimates for {self.target}: {fits} of {len(self)} fit{best}>"

    def __str__(self) -> str:
        return "\n".join([view_text([self.table()]), *self._notes()])

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return table_html(self.table(), self._notes())

    def _notes(self) -> list[str]:
        """Return the assumption, if any, and the reasons against values."""
        notes = [] if self.assumed is None else [str(self.assumed["note"])]
        return [*notes, *(f"{name}: {why}" for name, why in self.reasons.items())]
