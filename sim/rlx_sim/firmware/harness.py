"""The test program of an emitted C folder: its working folder, its output lines, its results.

The program (``test/main.c`` of the folder) is the same on the host, under QEMU and under unicorn:
it reads ``golden/*.npy``, writes ``build/output_<k>.bin`` and prints a line for each frame.

Tests: tests/targets/cortexm/test_machines.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.support.errors import OutputError, SimulationError
from rlx.support.process import failure, last_lines
from rlx.support.steps import advance
from rlx_sim.protocol import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from rlx.support.files.golden import Golden
    from rlx.support.process import Completed

    Array = npt.NDArray[Any]

_EMIT_AGAIN: Final = "emit the model again: test program and vectors may be of different models"

_FRAME: Final = re.compile(
    r"^rlx frame (\d+) status (\d+) different (\d+) overrun (\d+) instructions (\d+) stack (\d+)$",
    re.MULTILINE,
)
_ARENA: Final = re.compile(r"^rlx arena (\d+)$", re.MULTILINE)
_DONE: Final = re.compile(r"^rlx done (\d+) of (\d+) frames equal$", re.MULTILINE)
_ERROR: Final = re.compile(r"^rlx (error: .*|fault)$", re.MULTILINE)
_SANITIZER: Final = re.compile(r"(?:runtime error|ERROR: AddressSanitizer): ([^\n]*)")

STATUS_DIFFERENT: Final = 1
"""Exit status of the test program when a frame differs, which is a result and not an error."""


def sources(folder: Path, *names: str) -> tuple[list[Path], list[Path]]:
    """Return the model's C files and the test program's ``main.c`` and ``names``.

    The file of the weights, if the network has one, is part of the test program (``weights.S``).

    Raises:
        OutputError: The folder lacks them.
    """
    model = sorted((folder / "src").glob("*.c"))
    test = [folder / "test" / name for name in ("main.c", *names)]
    absent = [path.relative_to(folder).as_posix() for path in test if not path.is_file()]
    if not model or absent:
        raise OutputError(
            f"holds no {', '.join(absent) or 'src/*.c'}",
            where=str(folder),
            hint="emit it again with 'rlx emit --target cortexm'",
        )
    weights = folder / "test" / "weights.S"
    return model, [*test, *([weights] if weights.is_file() else [])]


def prepare(work: Path, vectors: Golden) -> None:
    """Write the vectors into ``work`` in the form that the test program reads."""
    (work / "build").mkdir(parents=True, exist_ok=True)
    for name, content in vectors.files().items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(content)


def result(completed: Completed, work: Path, vectors: Golden, *, name: str) -> Simulation:
    """Return the results that the test program ``completed`` left in ``work``.

    Raises:
        SimulationError: It did not finish, its entry point reported a failure, or it wrote outside
            its buffers.
    """
    log = completed.stdout + completed.stderr
    finished = _DONE.search(log)
    if finished is None or completed.returncode not in (0, STATUS_DIFFERENT):
        raise _unfinished_error(completed, log, name)
    lines = [tuple(int(part) for part in line.groups()) for line in _FRAME.finditer(log)]
    _check_lines(lines, int(finished[2]), vectors, name)
    return Simulation(
        outputs=tuple(_read(work, k, wanted) for k, wanted in enumerate(vectors.outputs)),
        instructions=_counts(line[4] for line in lines),
        stack_bytes=max(line[5] for line in lines) or None,
        log=log,
    )


def frame_counter(frames: int) -> Callable[[str], None]:
    """Return a function for the test program's lines that reports how many frames have run."""
    ran = 0

    def read(line: str) -> None:
        nonlocal ran
        if _FRAME.match(line):
            ran += 1
            advance(ran, frames)

    return read


def arena_bytes(log: str) -> int | None:
    """Return the size of the model's arena, as the test program printed it in ``log``."""
    match = _ARENA.search(log)
    return int(match[1]) if match else None


def _unfinished_error(completed: Completed, log: str, name: str) -> SimulationError:
    """Return the error for a test program that did not finish."""
    match = _ERROR.search(log)
    if match is not None:
        return SimulationError(
            f"the test program stopped: {match[1].removeprefix('error: ')}" + last_lines(log),
            where=name,
            hint=_EMIT_AGAIN,
        )
    report = _SANITIZER.search(log)
    if report is not None:
        return SimulationError(
            f"a sanitizer reported {report[1]}" + last_lines(log),
            where=name,
            hint="report this as a bug of rlx, unless you changed the emitted code",
        )
    if completed.returncode == 0:
        return SimulationError("the test program printed no result" + last_lines(log), where=name)
    return failure(completed)


def _check_lines(lines: list[tuple[int, ...]], ran: int, vectors: Golden, name: str) -> None:
    """Check that every frame ran and that the entry point kept its contract."""
    if not len(lines) == ran == vectors.frames:
        raise SimulationError(
            f"expected {vectors.frames} frames, the test program ran {ran}",
            where=name,
            hint=_EMIT_AGAIN,
        )
    for number, status, _, overrun, _, _ in lines:
        frame = vectors.start + number
        if status:
            raise SimulationError(
                f"the model's entry point returned {status} for frame {frame}",
                where=name,
                hint="look the number up in the emitted header",
            )
        if overrun:
            unit = "byte" if overrun == 1 else "bytes"
            raise SimulationError(
                f"the model wrote {overrun} {unit} outside its buffers in frame {frame}",
                where=name,
                hint="find the access: rlx verify FOLDER --with sanitize",
            )


def _counts(numbers: Any) -> tuple[int, ...] | None:  # noqa: ANN401
    counts = tuple(numbers)
    return counts if any(counts) else None


def _read(work: Path, index: int, reference: Array) -> Array:
    """Return the frames of one output, with the element type and shape of ``reference``."""
    content = (work / "build" / f"output_{index}.bin").read_bytes()
    little = reference.dtype.newbyteorder("<")
    if len(content) != reference.size * reference.dtype.itemsize:
        raise SimulationError(
            f"expected {reference.size * reference.dtype.itemsize} bytes in output {index}, "
            f"got {len(content)}",
            where="test program",
            hint=_EMIT_AGAIN,
        )
    return np.frombuffer(content, little).reshape(reference.shape).astype(reference.dtype)
