"""Synthesis of an emitted folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.errors import OutputError
from rlx_fpga.synthesis import FAMILIES, TIMEOUT_S, synthesize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def synthesize_folder(
    folder: Path, families: Sequence[str] = FAMILIES, *, timeout_s: float = TIMEOUT_S
) -> dict[str, dict[str, Any]]:
    """Return the cells that the design in ``folder`` takes in each of ``families``.

    Raises:
        OutputError: The folder holds no hardware design.
        SimulationError: Yosys failed.
    """
    scripts = [folder / "synth" / f"{family}.ys" for family in families]
    if not all(script.is_file() for script in scripts):
        raise OutputError(
            f"{folder} holds no scripts for Yosys under synth/",
            hint="emit the folder again with 'rlx emit --target fpga'",
        )
    sources = [*(folder / "rtl").iterdir(), *scripts]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sources}
    return {family: synthesize(files, family, timeout_s=timeout_s) for family in families}
