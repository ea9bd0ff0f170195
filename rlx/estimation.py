"""What a model will need on a target, before anything is emitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Estimate(Mapping[str, Any]):
    """What a target says about a model; also a mapping with the keys of ``rlx estimate --json``.

    Attributes:
        target: Name of the target.
        figures: What the target says, as JSON values: what ``estimate[KEY]`` reads.
    """

    target: str
    figures: Mapping[str, Any]

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
    def fits(self) -> bool:
        """Whether it keeps the limits of the device and of the options."""
        return bool(self.figures.get("fits", True))

    @property
    def short(self) -> str | None:
        """Which limit is exceeded; None if it fits."""
        found = self.figures.get("short")
        return None if self.fits or found is None else str(found)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a JSON value
        return self.figures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __repr__(self) -> str:
        fits = "" if self.fits else f", does not fit: {self.short}"
        return f"<Estimate for {self.target}: {len(self.layers)} layers{fits}>"

    def _repr_html_(self) -> str:
        """Return the figures and the table of layers that notebooks show."""
        from rlx.drawing.notebook import report_html

        columns = self.figures.get("columns", ())
        return report_html(repr(self)[1:-1], self.totals, self.layers, columns)
