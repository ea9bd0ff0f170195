"""The interface of simulators of emitted code.

Tests: tests/sim/firmware/test_host_c.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from rlx.support.files.golden import Golden

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Simulation:
    """Results of one run over some frames. Counts are None if the simulator does not have them.

    Attributes:
        outputs: For each output of the model, in order, an array [frames, *shape].
        instructions: Instructions executed for each frame, from call to return.
        stack_bytes: Maximum stack in any frame.
        cycles: Clock cycles in all.
        latency: Clock cycles from the first input beat to the last output beat of one frame.
        interval: Initiation interval: clock cycles between frames sent without stalls.
        log: Output of the simulator.
    """

    outputs: tuple[Array, ...]
    instructions: tuple[int, ...] | None = None
    stack_bytes: int | None = None
    cycles: int | None = None
    latency: int | None = None
    interval: int | None = None
    log: str = ""


class Simulator(Protocol):
    """Something that runs an emitted folder.

    Attributes:
        name: Name in reports and on the command line.
    """

    @property
    def name(self) -> str:
        """Name in reports and on the command line."""
        ...

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Run the design or program in ``folder`` over ``vectors.inputs``.

        ``vectors.outputs`` has the outputs' shapes and element types; the result holds the computed
        outputs, equal or not.

        Raises:
            ToolMissingError: A tool is not installed.
            SimulationError: The program does not build, crashed, or violated its interface.
            TimeLimitError: It took longer than ``timeout_s``.
        """
        ...


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element of a frame that differs from the reference.

    Attributes:
        simulator: Name of the simulator.
        frame: Index of the frame.
        output: Index of the output.
        name: Its name, empty if the folder does not name it.
        element: Index in the flattened output.
        expected: The reference's value.
        actual: The simulated value.
        elements: Number of elements of the frame that differ, in all outputs.
    """

    simulator: str
    frame: int
    output: int
    element: int
    expected: int | float
    actual: int | float
    name: str = ""
    elements: int = 1


def compare(name: str, simulation: Simulation, vectors: Golden) -> list[Mismatch]:
    """Return the first mismatch of each frame whose outputs differ from ``vectors``.

    Floats are equal where all bits are, or where both are NaN.
    """
    mismatches: dict[int, Mismatch] = {}
    for index, (actual, expected) in enumerate(
        zip(simulation.outputs, vectors.outputs, strict=True)
    ):
        flat_actual = actual.reshape(len(actual), -1)
        flat_expected = expected.reshape(len(expected), -1)
        different = _different(flat_actual, flat_expected)
        for frame in np.flatnonzero(different.any(axis=1)).tolist():
            element = int(different[frame].argmax())
            values = (flat_expected[frame, element].item(), flat_actual[frame, element].item())
            label = vectors.names[index] if vectors.names else ""
            count = int(different[frame].sum())
            first = Mismatch(name, frame, index, element, *values, label, elements=0)
            first = mismatches.get(frame, first)
            mismatches[frame] = replace(first, elements=first.elements + count)
    return [mismatches[frame] for frame in sorted(mismatches)]


def _different(actual: Array, expected: Array) -> Array:
    """Return a mask of the elements that differ, of two arrays of one type."""
    if expected.dtype.kind != "f":
        return np.asarray(actual != expected)
    bits = f"u{expected.dtype.itemsize}"
    same_bits = np.ascontiguousarray(actual).view(bits) == np.ascontiguousarray(expected).view(bits)
    return np.asarray(~(same_bits | (np.isnan(actual) & np.isnan(expected))))
