"""The interface of builders, which run synthesis or a compiler on an emitted folder.

Tests: tests/unit/support/test_plugins.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rlx.support import plugins
from rlx.support.parallel import IN_PROCESS
from rlx.support.text.tables import Figures, ReportFigure, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.support.parallel import Workers
    from rlx.support.text.tables import View


class Build(Protocol):
    """Results of a builder.

    They may also have a method ``view()`` that returns how they are shown, as
    :data:`rlx.support.text.tables.View`.
    """

    @property
    def problems(self) -> Sequence[str]:
        """Resources or figures beyond the device or a given limit; empty if none."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Return everything as one JSON object.

        At least ``target``, ``device``, ``resources`` (a list of rows with the same keys: numbers
        predicted, measured and available), ``problems``, ``notes`` (lists of texts) and ``tools``
        (versions by name).
        """
        ...


class Builder(Protocol):
    """Interface of a package under the entry-point group ``rlx.builders``."""

    def build(
        self,
        folder: Path,
        *,
        device: str | None,
        seeds: int,
        clock_mhz: float | None,
        timeout_s: float,
        keep: Path | None,
        simulate: bool | None,
        progress: Callable[[str], None] | None,
        pool: Workers = IN_PROCESS,
    ) -> Build:
        """Build the content of ``folder`` and measure it.

        Args:
            folder: An output folder of ``rlx emit``.
            device: Device to build for; None for the one that the folder was emitted for.
            seeds: Runs of randomized steps; figures are medians over them.
            clock_mhz: Target clock, which must be reached; None for the builder's choice.
            timeout_s: Wall-clock limit of each step, in seconds.
            keep: Folder for netlists, reports and logs; None to keep nothing.
            simulate: Whether the built program is simulated and compared; None for the builder's
                choice.
            progress: Called with a description of each step.
            pool: Takes the seeds; given only where the caller chose an executor.
        """
        ...


def view_of(build: Build) -> View:
    """Return the view of a builder's results: its own, or resources and figures."""
    own_view: Callable[[], View] | None = getattr(build, "view", None)
    if own_view is not None:
        return own_view()
    report = build.as_json()
    figures = tuple(
        ReportFigure(key.replace("_", " "), value)
        for key, value in report.items()
        if isinstance(value, int | float | str) and key not in ("target", "device")
    )
    title = f"Measured on {report['device']}"
    return [table_of("Resources", report["resources"]), Figures(title, figures)]


def load(target: str) -> Builder:
    """Return the builder for the files of ``target``.

    Raises:
        TargetNotFoundError: None is installed, or its library is missing.
    """
    hint = f"builders: {', '.join(plugins.names('rlx.builders'))}"
    if target in plugins.names("rlx.verifiers"):
        hint = f"'rlx verify' builds and runs it, its README.md says how to build it; {hint}"
    builder: Builder = plugins.load(
        "rlx.builders",
        target,
        missing=f"nothing installed builds what target {target!r} emits",
        purpose=f"building {target!r}",
        hint=hint,
        extra="synth",
    )
    return builder
