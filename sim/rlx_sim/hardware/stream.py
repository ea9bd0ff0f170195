"""Runs a core with AXI4-Stream ports in its C++ harness under Verilator.

The harness is the one that is emitted with the design (``tb/harness.cpp``), so users measure the
same figures with it by hand.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.support.errors import SimulationError
from rlx.support.files.scratch import work_folder
from rlx.support.process import Completed, failure, last_lines, run
from rlx_sim.hardware.verilator import BUILD_TIMEOUT_S, build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

RUN_TIMEOUT_S: Final = 600.0

_TRACE: Final = {None: (), "vcd": ("--trace",), "fst": ("--trace-fst",)}

_STATUS: Final = {
    2: "passed a limit before the last frame was out: the design is stuck, or the limit too low",
    3: "saw an output violate the stream protocol",
}


@dataclass(frozen=True, slots=True)
class BenchPort:
    """One port of the core, as the bench drives it.

    Attributes:
        name: Prefix of the signals.
        shape: Shape of one frame.
        dtype: Element type, ``int8``, ``int16`` or ``int32``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def from_json(cls, port: Mapping[str, Any]) -> BenchPort:
        """Return the port that ``report.json`` describes."""
        return cls(str(port["name"]), tuple(int(size) for size in port["shape"]), port["dtype"])


@dataclass(frozen=True, slots=True)
class Frame:
    """Cycles, counted from the end of reset, at which beats of one frame were transferred.

    Attributes:
        first_in: First input beat.
        last_in: Last input beat.
        first_out: First output beat.
        last_out: Last output beat.
    """

    first_in: int
    last_in: int
    first_out: int
    last_out: int


@dataclass(frozen=True, slots=True)
class StreamRun:
    """Results of one run of the harness.

    Attributes:
        outputs: For each output port, int[frames, *shape].
        frames: Cycles of each frame's first and last beats.
        cycles: Total simulated cycles.
        log: Output of the simulator.
    """

    outputs: tuple[Array, ...]
    frames: tuple[Frame, ...]
    cycles: int
    log: str

    @property
    def latency(self) -> int:
        """Cycles from the first input to the last output beat, first frame (empty pipeline)."""
        return self.frames[0].last_out - self.frames[0].first_in

    @property
    def interval(self) -> int | None:
        """Cycles between the last beats of the last two frames; None for a single frame."""
        if len(self.frames) < 2:
            return None
        return self.frames[-1].last_out - self.frames[-2].last_out


@dataclass(frozen=True, slots=True)
class Stalls:
    """Disturbances of the core in a run.

    Attributes:
        seed: Seed of the stalls and of values that are undefined at power-up.
        inputs: Probability in 1/256 that an input is not valid in a cycle.
        outputs: Probability in 1/256 that an output is not ready in a cycle.
        reset_after: Beats before a reset in mid-frame; 0 for no such reset.
    """

    seed: int = 1
    inputs: int = 0
    outputs: int = 0
    reset_after: int = 0

    def options(self) -> list[str]:
        """Return the harness's options for it."""
        return [
            *("--seed", str(self.seed), "--stall-in", str(self.inputs)),
            *("--stall-out", str(self.outputs), "--reset-after", str(self.reset_after)),
            *("+verilator+rand+reset+2", f"+verilator+seed+{self.seed % (1 << 31)}"),
        ]


@dataclass(frozen=True, slots=True)
class StreamBench:
    """A built simulator of one core.

    Attributes:
        program: The simulator.
        inputs: Ports of the core, in the order of its wrapper.
        outputs: Likewise.
        folder: Folder of the design.
        memories: Files that it reads, relative to the folder.
        weights: File of weights for the weight port, likewise; None without a weight port.
    """

    program: Path
    inputs: tuple[BenchPort, ...]
    outputs: tuple[BenchPort, ...]
    folder: Path
    memories: tuple[str, ...] = ()
    weights: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Files of the folder that a run needs."""
        return (*self.memories, *(() if self.weights is None else (self.weights,)))

    @classmethod
    def build(
        cls,
        interface: Mapping[str, Any],
        files: Sequence[str],
        *,
        folder: Path,
        output: Path,
        trace: str | None = None,
        options: Sequence[str] = (),
        optimization: str = "-O1",
        timeout_s: float = BUILD_TIMEOUT_S,
        show: Callable[[str], None] | None = None,
    ) -> StreamBench:
        """Compile ``files`` (Verilog and the harness, relative to ``folder``) into ``output``.

        Args:
            interface: Ports as in ``report.json``: ``top``, ``inputs``, ``outputs``.
            files: Sources.
            folder: Their folder.
            output: Folder for all built files.
            trace: ``vcd`` or ``fst`` if :meth:`run` is to write such waveforms.
            options: Further options of Verilator.
            optimization: That of the C++ compiler.
            timeout_s: Wall-clock limit.
            show: Called with each file that is compiled.

        Raises:
            SimulationError: The sources do not compile.
            TimeLimitError: It took too long.
        """
        program = build(
            files, interface["top"], cwd=folder, output=output,
            options=[*_TRACE[trace], *options],
            optimization=optimization, timeout_s=timeout_s, show=show,
        )  # fmt: skip
        inputs, outputs = (
            tuple(BenchPort.from_json(port) for port in interface[side])
            for side in ("inputs", "outputs")
        )
        sent, memories = interface.get("weights"), tuple(interface.get("memories", ()))
        weights = None if sent is None else str(sent["file"])
        return cls(program, inputs, outputs, folder.absolute(), memories, weights)

    def run(
        self,
        inputs: Sequence[Array],
        *,
        stalls: Stalls | None = None,
        waves: Path | None = None,
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> StreamRun:
        """Send frames and collect the outputs.

        Args:
            inputs: For each input port int[frames, *shape], of the port's dtype.
            stalls: Disturbance of the core, or None.
            waves: File for a waveform of every signal; needs a build with ``trace``.
            timeout_s: Wall-clock limit.

        Raises:
            ValueError: The inputs do not fit the ports.
            SimulationError: The core got stuck or violated the stream protocol.
            TimeLimitError: It took too long.
        """
        frames = self._check(inputs)
        with work_folder("stream") as folder:
            argv = [str(self.program), "--frames", str(frames), *(stalls or Stalls()).options()]
            argv += [] if waves is None else ["--waves", str(waves.absolute())]
            argv += [] if self.weights is None else ["--weights", self.weights]
            for name in self.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.folder / name, folder / name)
            for index, array in enumerate(inputs):
                little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
                (folder / f"in{index}").write_bytes(little.tobytes())
                argv += ["--in", f"in{index}"]
            for index in range(len(self.outputs)):
                argv += ["--out", f"out{index}"]
            completed = run(argv, cwd=folder, timeout_s=timeout_s, check=False)
            report = _report(completed)
            outputs = tuple(
                _read(folder / f"out{index}", port, frames)
                for index, port in enumerate(self.outputs)
            )
        return StreamRun(
            outputs,
            tuple(Frame(**frame) for frame in report["frames"]),
            int(report["cycles"]),
            completed.stderr,
        )

    def _check(self, inputs: Sequence[Array]) -> int:
        if len(inputs) != len(self.inputs):
            msg = f"expected {len(self.inputs)} inputs, got {len(inputs)}"
            raise ValueError(msg)
        frames = {len(array) for array in inputs}
        if len(frames) != 1 or 0 in frames:
            msg = f"expected as many frames for each input, at least 1, got {sorted(frames)}"
            raise ValueError(msg)
        for array, port in zip(inputs, self.inputs, strict=True):
            if array.shape[1:] != port.shape or array.dtype != port.dtype:
                msg = (
                    f"{port.name}: expected {port.dtype}{list(port.shape)} frames, "
                    f"got {array.dtype}{list(array.shape[1:])}"
                )
                raise ValueError(msg)
        return frames.pop()


def _read(path: Path, port: BenchPort, frames: int) -> Array:
    dtype = np.dtype(port.dtype)
    content = np.frombuffer(path.read_bytes(), dtype.newbyteorder("<"))
    return content.reshape(frames, *port.shape).astype(dtype)


def _report(completed: Completed) -> dict[str, Any]:
    """Return the harness's JSON object, or raise the error of its exit status."""
    if completed.returncode in _STATUS:
        raise SimulationError(
            _STATUS[completed.returncode] + last_lines(completed.stdout + completed.stderr),
            where="harness",
            hint="look at the streams: rlx verify FOLDER --with verilator --waves waves.vcd",
        )
    if completed.returncode != 0:
        raise failure(completed)
    try:
        report: dict[str, Any] = json.loads(completed.stdout)
    except ValueError:
        raise SimulationError(
            "printed no report" + last_lines(completed.stdout + completed.stderr), where="harness"
        ) from None
    return report
