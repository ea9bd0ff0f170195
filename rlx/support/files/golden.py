"""Golden vectors: inputs and the reference's outputs, stored next to the emitted files.

Every frame is one ``.npy`` row: ``golden/input_0.npy`` holds all frames of the first input as an
array ``[frames, *shape]``, ``golden/output_0.npy`` those of the first output, and so on in the
order of the graph.

Tests: tests/sim/hardware/test_cocotb_bench.py
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.support.errors import FrontendError, OutputError, UsageError
from rlx.support.files.arrays import read_npy
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

FOLDER = "golden"

_AGAIN = "emit the model again with 'rlx emit', into a new folder"


@dataclass(frozen=True, slots=True)
class Golden:
    """Inputs and expected outputs of an emitted program.

    Attributes:
        inputs: For each graph input, in order, an array [frames, *shape].
        outputs: For each graph output, in order, an array [frames, *shape].
        names: Name of each output; empty if they are not known.
        start: Index of the first frame among those of the folder.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    names: tuple[str, ...] = ()
    start: int = 0

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.outputs[0])

    @property
    def repeats_outputs(self) -> bool:
        """Whether all frames, of which there are several, have the same outputs."""
        return repeats(self.outputs)

    def first(self, count: int | None) -> Golden:
        """Return the first ``count`` frames (None: all)."""
        return self.part(0, self.frames if count is None else count)

    def part(self, start: int, stop: int) -> Golden:
        """Return the frames from ``start`` to before ``stop``."""
        inputs, outputs = (
            tuple(a[start:stop] for a in side) for side in (self.inputs, self.outputs)
        )
        return Golden(inputs, outputs, self.names, self.start + start)

    def files(self) -> dict[str, bytes]:
        """Return the content of each file by relative path."""
        arrays = {f"input_{i}": a for i, a in enumerate(self.inputs)}
        arrays |= {f"output_{i}": a for i, a in enumerate(self.outputs)}
        return {f"{FOLDER}/{name}.npy": _npy(array) for name, array in arrays.items()}


def repeats(outputs: Iterable[Array]) -> bool:
    """Return whether each output is the same in all frames, of which there are several.

    Then a program that ignores its input passes a comparison with them.
    """
    return all(len(array) > 1 and bool((array == array[:1]).all()) for array in outputs)


def check_frames(requested: int | None, available: int, *, where: str, hint: str) -> None:
    """Refuse a number of frames larger than the available one.

    Args:
        requested: Number of frames; None for all.
        available: Number of available frames.
        where: Source of the frames.
        hint: Advice for more frames.

    Raises:
        UsageError: Fewer are available.
    """
    if requested is not None and requested > available:
        raise UsageError(
            f"{counted(requested, 'frame')} requested, but it holds {available:,}",
            where=where,
            hint=f"request at most {available:,}, or {hint}",
        )


def read_golden(folder: Path) -> Golden:
    """Return the golden vectors of an emitted folder.

    Raises:
        OutputError: They are missing or unreadable.
    """
    inputs, outputs = _read_all(folder, "input"), _read_all(folder, "output")
    if not inputs or not outputs:
        raise OutputError("holds no golden vectors", where=str(folder), hint=_AGAIN)
    counts = {len(a) for a in (*inputs, *outputs)}
    if len(counts) != 1:
        raise OutputError(
            f"golden vectors differ in their number of frames: {sorted(counts)}",
            where=str(folder),
            hint=_AGAIN,
        )
    return Golden(inputs, outputs)


def _read_all(folder: Path, kind: str) -> tuple[Array, ...]:
    arrays: list[Array] = []
    while (path := folder / FOLDER / f"{kind}_{len(arrays)}.npy").is_file():
        try:
            array = read_npy(path)
        except FrontendError as e:
            raise OutputError(e.message, where=str(path), hint=_AGAIN) from None
        if not array.ndim or not len(array):
            raise OutputError("holds no frames", where=str(path), hint=_AGAIN)
        arrays.append(array)
    return tuple(arrays)


def _npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()
