"""Report on an output folder: predictions, measurements, and the forms that people read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rlx.reports.page import frame_text, html_text
from rlx.reports.tables import csv_text, markdown_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.reports.model import (
        Accuracy,
        Changes,
        Clock,
        Figure,
        Layer,
        LayerCells,
        Losses,
        Memory,
        Port,
        Resource,
        Verified,
    )
    from rlx.targets.milliseconds import Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is known about an output folder.

    Attributes:
        title: Name of the network.
        target: Name of the target.
        device: Processor or FPGA, possibly empty.
        unit: Unit of the times of layers, ``instructions`` or ``cycles``.
        figures: Figures of the whole network.
        milliseconds: Time that its instructions take at the clock of ``--clock``, or None.
        inputs: Inputs of the network.
        outputs: Its outputs.
        layers: Its layers, in order of execution.
        pipelined: Whether layers work at the same time, so that the slowest sets the rate.
        memory: The arena over time, or None.
        resources: Cells of an FPGA, or none.
        layer_cells: Cells of each layer of an FPGA design after synthesis, or none.
        placement: Picture of a placement, as SVG, or None.
        clock: Clock of an FPGA, or None.
        verification: Result of ``rlx verify``; None if it was not run.
        accuracy: Correct classes, or None.
        losses: Losses by quantization, or None.
        changes: Differences from an older folder, or None.
        facts: Versions, hashes and options, by name.
        command: The command that emits the same folder, but for the names of files.
        warnings: Warnings for the reader.
        notes: Facts that call for no action, such as conversions of ports and steps left out.
    """

    title: str
    target: str
    device: str
    unit: str
    figures: tuple[Figure, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    layers: tuple[Layer, ...]
    milliseconds: Milliseconds | None = None
    pipelined: bool = False
    memory: Memory | None = None
    resources: tuple[Resource, ...] = ()
    layer_cells: tuple[LayerCells, ...] = ()
    placement: str | None = None
    clock: Clock | None = None
    verification: Verified | None = None
    accuracy: Accuracy | None = None
    losses: Losses | None = None
    changes: Changes | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        return asdict(self)

    def to_html(self) -> str:
        """Return one page that needs no network, to be saved as a ``.html`` file."""
        return html_text(self)

    def to_csv(self) -> str:
        """Return a line for each layer, under the column names of Vela."""
        return csv_text(self)

    def to_markdown(self) -> str:
        """Return a short table, such as for a comment on a pull request."""
        return markdown_text(self)

    def _repr_html_(self) -> str:
        """Return a view for notebooks: the page in a frame of its own."""
        return frame_text(self)

    def __repr__(self) -> str:
        parts = [f"{one.name} {one.best:,}{one.unit and ' '}{one.unit}" for one in self.figures
                 if one.best is not None]  # fmt: skip
        verdict = "not verified" if self.verification is None else self.verification.text
        return f"<Report {self.title} on {self.target}: {', '.join([*parts, verdict])}>"
