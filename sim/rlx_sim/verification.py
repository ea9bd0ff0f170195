"""Results of a verification, as objects, JSON and tables.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from rlx.support.text.notebook import report_html
from rlx.targets.verifier import NotRun
from rlx_sim.view import firmware_view, hardware_view, host_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.support.text.tables import View


@dataclass(frozen=True, slots=True, repr=False)
class VerificationReport:
    """Results of a verifier (a :class:`rlx.targets.verifier.Verification`).

    Attributes:
        target: Name of the target that emitted the folder.
        inputs: Frames that were run.
        equal: Frames whose outputs are correct in every simulation.
        mismatches: The first wrong element of each wrong frame.
        figures: Measured figures, as JSON values.
        tools: Name and version of each tool used.
        notes: Deviations from the request or from the default, and why.
        not_run: Simulations of the default whose tools are missing.
        cached: When this was run, if it comes from the cache.
        network: Prefix of the emitted identifiers.
    """

    target: str
    inputs: int
    equal: int
    mismatches: tuple[Mapping[str, Any], ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    cached: str | None = None
    network: str = ""

    @property
    def passed(self) -> bool:
        """Return whether at least one frame ran and all of them are correct."""
        return self.inputs > 0 and self.equal == self.inputs and not self.mismatches

    def __repr__(self) -> str:
        tools = f" in {', '.join(sorted(self.tools))}" if self.tools else ""
        state = "passed" if self.passed else "FAILED"
        equal = f"{self.equal} of {self.inputs} frames equal"
        missing = "".join(f"; not run: {one.platform}" for one in self.not_run)
        return f"<VerificationReport for {self.target}: {state}, {equal}{tools}{missing}>"

    def _repr_html_(self) -> str:
        """Return result and figures as notebooks show them."""
        wrong = [{key: str(value) for key, value in one.items()} for one in self.mismatches]
        return report_html(repr(self)[1:-1], {**self.figures, **self.tools}, wrong)

    def as_json(self) -> dict[str, Any]:
        """Return the results as one JSON object."""
        return {
            **self.figures,
            "target": self.target,
            "inputs": self.inputs,
            "equal": self.equal,
            "mismatches": [dict(one) for one in self.mismatches],
            "tools": dict(sorted(self.tools.items())),
            "notes": list(self.notes),
            "not_run": [one.as_json() for one in self.not_run],
            **({"cached": self.cached} if self.cached else {}),
        }

    @classmethod
    def from_json(cls, report: Mapping[str, Any], *, cached: str) -> VerificationReport:
        """Return the report that :meth:`as_json` was called on, with the time when that was."""
        field_names = {one.name for one in fields(cls)} - {"figures", "cached"}
        return cls(
            **{name: report[name] for name in ("target", "inputs", "equal", "tools")},
            mismatches=tuple(report["mismatches"]),
            notes=tuple(report["notes"]),
            not_run=tuple(NotRun(**one) for one in report["not_run"]),
            figures={name: value for name, value in report.items() if name not in field_names},
            cached=cached,
        )

    def with_figures(self, figures: Mapping[str, Any]) -> VerificationReport:
        """Return the report with further figures."""
        return replace(self, figures={**self.figures, **figures})

    def view(self) -> View:
        """Return the view of the results; see ``rlx.targets.verifier.view_of``."""
        shown = {"cortexm": firmware_view, "host": host_view}.get(self.target, hardware_view)
        return shown(self.network, self.as_json())
