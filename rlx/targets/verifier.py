"""The interface of verifiers, which run an emitted folder and compare its outputs.

Tests: tests/unit/support/test_plugins.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rlx.support import plugins
from rlx.support.parallel import IN_PROCESS
from rlx.support.text.tables import Figures, ReportFigure, table_of
from rlx.targets.milliseconds import Milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.support.parallel import Workers
    from rlx.support.text.tables import Table, View

DEFAULT_TIMEOUT_S = 900
"""Seconds that each step of a verification may take by default."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """A simulation that runs by default, but not here: its tools are missing.

    Attributes:
        name: Name of the simulator, as in ``rlx verify --require``.
        platform: The same for a reader: language and machine.
        reason: Parts that are missing, such as ``no emulator``.
        install: Commands that install them; each alone is enough.
    """

    name: str
    platform: str
    reason: str
    install: str

    def __str__(self) -> str:
        return f"{self.platform}: {self.reason}; {self.install}"

    def as_json(self) -> dict[str, str]:
        """Return the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Plan:
    """Simulations that a verification would run on this machine.

    Attributes:
        tools: Their names, as for ``Verifier.verify``.
        not_run: Those of the default whose tools are missing.
        notes: Deviations from the default, and why.
        names: Aliases of one of them: ``qemu`` for ``qemu:zig``.
    """

    tools: tuple[str, ...]
    not_run: tuple[NotRun, ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Verification(Protocol):
    """Results of a verifier.

    They may also have a method ``view()`` that returns how they are shown, as
    :data:`rlx.support.text.tables.View`, and an attribute ``not_run``: the :class:`NotRun` of each
    simulation whose tools are missing.
    """

    @property
    def passed(self) -> bool:
        """Whether at least one frame ran and all of them are correct."""
        ...

    @property
    def inputs(self) -> int:
        """Frames that were run."""
        ...

    @property
    def equal(self) -> int:
        """Frames whose outputs are correct in every simulation."""
        ...

    @property
    def mismatches(self) -> Sequence[Mapping[str, Any]]:
        """The first wrong element of each wrong frame."""
        ...

    @property
    def figures(self) -> Mapping[str, Any]:
        """Measured figures, as JSON values; which ones depends on the verifier."""
        ...

    @property
    def tools(self) -> Mapping[str, str]:
        """Versions of the tools, by name."""
        ...

    def as_json(self) -> Mapping[str, Any]:
        """Return everything as one JSON object.

        At least ``target``, ``inputs`` (frames run), ``equal`` (frames with correct outputs),
        ``mismatches`` (a list) and ``tools`` (versions by name); ``not_run`` (a list of the
        objects of :class:`NotRun`) and ``seconds`` (a list of objects with ``simulation`` and the
        wall-clock seconds of its parts, by name), if the verifier says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class LayerCounts:
    """Measured count of each layer of an emitted folder.

    Attributes:
        unit: Unit of the counts, as the target's report calls it: ``instructions`` or ``cycles``.
        layers: The count of each layer in one frame, in the order of the target's report.
        tools: Name and version of each tool used.
    """

    unit: str
    layers: tuple[int, ...]
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountBounds:
    """Counts that no input exceeds, derived from the program and not measured.

    Attributes:
        unit: Unit of the counts: ``instructions``.
        total: Bound of a frame; None if there is none.
        layers: Bound of each layer, in the order of the target's report.
        reason: Reason that no bound can be stated, else empty.
        is_exact: Whether every input needs exactly ``total``.
        tools: Name and version of each tool used.
    """

    unit: str
    total: int | None
    layers: tuple[int, ...] = ()
    reason: str = ""
    is_exact: bool = False
    tools: Mapping[str, str] = field(default_factory=dict)

    def as_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the bound of ``rlx verify --bound --json``.

        Args:
            names: Names of the layers.
        """
        rows = zip(names, self.layers, strict=False)
        return {
            self.unit: self.total,
            "is_exact": self.is_exact,
            "reason": self.reason,
            "tools": dict(self.tools),
            "layers": [{"layer": name, self.unit: count} for name, count in rows],
        }


@dataclass(frozen=True, slots=True)
class ModelledCycles:
    """Cycles of an emitted folder on a core, from a model of it and not measured.

    Attributes:
        layers: Minimum, expected and maximum cycles of each layer, in the order of the target's
            report.
        instructions: Instructions of each layer.
        core: Name of the core.
        device: Microcontroller, or else the core, for a reader.
        memory: Memory with code and constants, in words.
        note: Assumptions of the model.
        sources: Documents with its timings.
        is_published: Whether the core's maker publishes a table of timings.
        clock_mhz: Clock of the core, if known.
        tools: Name and version of each tool used.
    """

    layers: tuple[tuple[int, int, int], ...]
    instructions: tuple[int, ...]
    core: str
    device: str
    memory: str
    note: str = ""
    sources: tuple[str, ...] = ()
    is_published: bool = True
    clock_mhz: float | None = None
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> tuple[int, int, int]:
        """Minimum, expected and maximum cycles of all layers."""
        minimum, expected, maximum = (sum(one) for one in zip(*self.layers, strict=True))
        return minimum, expected, maximum

    @property
    def milliseconds(self) -> Milliseconds | None:
        """Time of all layers; None without a clock."""
        if self.clock_mhz is None:
            return None
        low, _, high = (float(f"{cycles / self.clock_mhz / 1e3:.4g}") for cycles in self.total)
        table = "Arm's timings" if self.is_published else "timings not published by Arm"
        return Milliseconds(low, high, self.clock_mhz, f"modelled cycles, {table}, {self.memory}")

    def as_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the entry ``modelled`` of ``rlx verify --cycles --json``.

        Args:
            names: Names of the layers.
        """
        minimum, expected, maximum = self.total
        rows = zip(names, self.layers, self.instructions, strict=True)
        return {
            "core": self.core,
            "device": self.device,
            "cycles": expected,
            "cycles_min": minimum,
            "cycles_max": maximum,
            "clock_mhz": self.clock_mhz,
            "memory": self.memory,
            "note": self.note,
            "is_published": self.is_published,
            "sources": list(self.sources),
            "tools": dict(self.tools),
            "layers": [
                {"layer": name, "instructions": count, "cycles": cycles[1],
                 "cycles_min": cycles[0], "cycles_max": cycles[2]}
                for name, cycles, count in rows
            ],
        }  # fmt: skip


class Verifier(Protocol):
    """Interface of a package under the entry-point group ``rlx.verifiers``.

    It may also have a method ``layer_counts(folder, *, timeout_s, progress)`` that returns
    :class:`LayerCounts`, if it can measure layers one by one; see :func:`layer_counts`. A method
    ``count_bounds(folder, *, progress)`` returns :class:`CountBounds`, for ``rlx verify --bound``.
    A method ``modelled_cycles(folder, *, part, clock, flash_wait, timeout_s, progress)`` returns
    :class:`ModelledCycles`, for ``rlx verify --cycles``.
    A method ``plan(folder, tools)`` that returns a :class:`Plan` lets callers require simulations:
    ``rlx verify --require``.
    """

    def verify(
        self,
        folder: Path,
        *,
        inputs_limit: int | None,
        tools: Sequence[str] | None,
        timeout_s: float,
        waves: Path | None,
        progress: Callable[[str], None] | None,
        pool: Workers = IN_PROCESS,
    ) -> Verification:
        """Run the content of ``folder`` over its golden vectors and compare every output.

        Args:
            folder: An output folder of ``rlx emit``.
            inputs_limit: Frames to run; None for all.
            tools: Simulators to use, by name; None for the verifier's choice.
            timeout_s: Wall-clock limit of each step, in seconds.
            waves: File for a waveform, if the simulators support it; None for none.
            progress: Called with a description of each step.
            pool: Runs parts of the work; given only where the caller chose an executor.
        """
        ...

    def simulators(self) -> Mapping[str, Any]:
        """Return the simulators of small designs by name, for tests of every op on every target.

        Each of them has ``simulate`` as ``rlx_sim.protocol.Simulator`` describes it.
        """
        ...


def view_of(result: Verification) -> View:
    """Return the view of a verifier's results: its own, or all runs and figures."""
    own_view: Callable[[], View] | None = getattr(result, "view", None)
    if own_view is not None:
        return own_view()
    report = result.as_json()
    view: list[Table | Figures] = []
    if report.get("runs"):
        view.append(table_of("Runs", report["runs"]))
    figures = tuple(
        ReportFigure(key.replace("_", " "), value)
        for key, value in report.items()
        if isinstance(value, int | float | str) and key not in ("target", "inputs", "equal")
    )
    return [*view, Figures(f"Measured, target {report['target']}", figures)] if figures else view


def load(target: str) -> Verifier:
    """Return the verifier for the files of ``target``.

    Raises:
        TargetNotFoundError: None is installed, or its library is missing.
    """
    verifier: Verifier = plugins.load(
        "rlx.verifiers",
        target,
        missing=f"nothing installed verifies what target {target!r} emits",
        purpose=f"verifying {target!r}",
        hint="emit for another target, or install the package that verifies this one",
        extra="sim",
    )
    return verifier


def layer_counts(
    target: str,
    folder: Path,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> LayerCounts | None:
    """Return the counts of the layers of ``folder``; None if its target's verifier has none.

    Args:
        target: Name of the target that emitted the folder.
        folder: An output folder of ``rlx emit``.
        timeout_s: Wall-clock limit of each step, in seconds.
        progress: Called with a description of each step.

    Raises:
        RlxError: The folder is not complete, or a tool is missing or failed.
    """
    measure: Callable[..., LayerCounts] | None = getattr(load(target), "layer_counts", None)
    return None if measure is None else measure(folder, timeout_s=timeout_s, progress=progress)


def count_bounds(
    target: str, folder: Path, *, progress: Callable[[str], None] | None = None
) -> CountBounds | None:
    """Return the counts that no input exceeds; None if the target's verifier has none.

    Args:
        target: Name of the target that emitted the folder.
        folder: An output folder of ``rlx emit``.
        progress: Called with a description of each step.

    Raises:
        RlxError: The folder is not complete, or a tool is missing or failed.
    """
    bounds: Callable[..., CountBounds] | None = getattr(load(target), "count_bounds", None)
    return None if bounds is None else bounds(folder, progress=progress)


def modelled_cycles(
    target: str,
    folder: Path,
    *,
    part: str | None = None,
    clock: float | None = None,
    flash_wait: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> ModelledCycles | None:
    """Return the modelled cycles of ``folder``; None if the target's verifier has no model.

    Args:
        target: Name of the target that emitted the folder.
        folder: An output folder of ``rlx emit``.
        part: Microcontroller whose memory and clock count; None for that of the folder, if any.
        clock: Clock in hertz; None for that of the folder, or the maximum of the part.
        flash_wait: Wait states of the memory, and the width of its reads in bits, as ``4:64``; None
            for those of the part.
        timeout_s: Wall-clock limit of each step, in seconds.
        progress: Called with a description of each step.

    Raises:
        RlxError: The folder is not complete, an option does not fit, or a tool is missing or
            failed.
    """
    model: Callable[..., ModelledCycles] | None = getattr(load(target), "modelled_cycles", None)
    if model is None:
        return None
    return model(
        folder, part=part, clock=clock, flash_wait=flash_wait, timeout_s=timeout_s,
        progress=progress,
    )  # fmt: skip
