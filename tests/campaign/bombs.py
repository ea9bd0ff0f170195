"""Bombs: small files that ask for much are refused, or done, in little time and memory."""

from __future__ import annotations

import tempfile
from functools import lru_cache, partial
from pathlib import Path

from campaign.bomb_files import BOMBS
from campaign.damaged_readers import use_vectors, vector_graph
from campaign.part import Outcome, Part
from campaign.refusals import outcome
from rlx import frontends
from rlx.driver import driver
from rlx.targets import target

TARGETS = ("cortexm", "fpga")
CASES = tuple(
    (name, one)
    for name in BOMBS
    for one in (TARGETS if name.endswith((".tflite", ".rlx")) else ("vectors",))
)
"""A file, and what it is given to."""


def run(number: int) -> Outcome:
    """Take a bomb all the way to an output folder, or as inputs of a model."""
    name, where = CASES[number]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(_content(name))
        action = partial(use_vectors, path) if where == "vectors" else partial(_emit, path, where)
        found = outcome(action)
    finding = f"{name} for {where}: {found.finding}" if found.finding else ""
    return Outcome("done" if found.result == "accepted" else found.result, finding)


def _emit(path: Path, name: str) -> None:
    driver.emit(frontends.load(path), target.load(name), path.parent / "out")


@lru_cache(maxsize=1)
def _content(name: str) -> bytes:
    return BOMBS[name]()


def _prepare() -> None:
    vector_graph()
    for name in TARGETS:
        target.load(name)


BOMB_FILES = Part(
    name="bombs",
    title="small files that ask for much",
    goal="refused or done within 5 s and 512 MB",
    run=run,
    cases=len(CASES),
    short=12,
    deadline_s=300.0,
    cpu_s=5.0,
    memory_mb=512,
    prepare=_prepare,
    prepare_case=lambda number: _content(CASES[number][0]),
)
