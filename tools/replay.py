"""Emit the same networks at two commits and compare every byte: the proof of a refactoring.

    python tools/replay.py OLD [NEW]

``OLD`` and ``NEW`` are any names of commits that git accepts; without ``NEW`` the working tree is
used. Each network of ``examples/``, and of the folder of reference models if it exists
(``RLX_SHARED``, default ``../shared``), is emitted in each of `EMISSIONS`. Refusals are compared
too, by their messages. The exit status is 1 if anything differs, after a line for each file that
does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import click
from rich.progress import track

ROOT = Path(__file__).parent.parent

EMISSIONS = {
    "cortexm": ("cortexm",),
    "cortexm-m0-size": ("cortexm", "--cpu", "cortex-m0", "--optimize", "size"),
    "cortexm-m7-speed": ("cortexm", "--cpu", "cortex-m7", "--optimize", "speed"),
    "cortexm-m55-ram": ("cortexm", "--cpu", "cortex-m55", "--optimize", "ram", "--io", "arena"),
    "fpga": ("fpga",),
    "fpga-artix-dsp": ("fpga", "--device", "artix7-100t", "--dsp", "120", "--control", "axi-lite"),
    "fpga-engine": ("fpga", "--architecture", "engine"),
    "fpga-parallel": ("fpga", "--architecture", "parallel"),
}
"""Options of ``rlx emit`` by a name for them: every target, architecture and kind of core."""

REFUSED = "refused.txt"
"""The file that holds the message of a refusal, in place of emitted files."""


@click.command(help=__doc__.split("\n", 1)[0] if __doc__ else None)
@click.argument("old")
@click.argument("new", required=False)
@click.option("--only", metavar="TEXT", default="", help="Emissions whose name contains this.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for what is emitted.")
def main(old: str, new: str | None, only: str, jobs: int, keep: Path | None) -> None:
    """Compare what two commits emit."""
    with tempfile.TemporaryDirectory() as temporary:
        work = (keep or Path(temporary)).resolve()
        trees = [_checked_out(old, work / "old-source")]
        trees.append(_checked_out(new, work / "new-source") if new else ROOT)
        tasks = [task for task in product(_networks(), EMISSIONS) if only in "/".join(task)]
        runs = [
            (tree, work / side, network, emission)
            for network, emission in tasks
            for side, tree in zip(("old", "new"), trees, strict=True)
        ]
        with ThreadPoolExecutor(jobs) as pool:
            emissions = pool.map(lambda run: _emit(*run), runs)
            for _ in track(emissions, "emitting", total=len(runs)):
                pass
        differing = _differing(work / "old", work / "new")
    for name in differing:
        click.echo(f"differs: {name}")
    click.echo(f"{len(tasks)} emissions compared, {len(differing)} files differ")
    sys.exit(1 if differing else 0)


def _checked_out(commit: str, folder: Path) -> Path:
    """Write the files of ``commit`` into ``folder`` and return it."""
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def _networks() -> dict[str, Path]:
    """Return the networks to emit by name: files of this working tree, for both commits."""
    shared = Path(os.environ.get("RLX_SHARED") or ROOT.parent / "shared")
    files = [*(ROOT / "examples").rglob("*.rlx"), *(shared / "models").rglob("*.tflite")]
    if not shared.is_dir():
        click.echo(f"no reference models in {shared}; set RLX_SHARED", err=True)
    return {path.stem: path for path in sorted(files)}


def _emit(tree: Path, out: Path, network: str, emission: str) -> None:
    """Emit a network with the sources in ``tree`` into a folder of ``out``."""
    folder = out / network / emission
    folder.parent.mkdir(parents=True, exist_ok=True)
    target, *options = EMISSIONS[emission]
    command = [sys.executable, "-c", "from rlx.cli import main; main()", "emit"]
    paths = os.pathsep.join(str(tree / root) for root in _source_roots(tree))
    finished = subprocess.run(
        [*command, str(_networks()[network]), "--target", target, *options, "--out", str(folder)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        folder.mkdir(parents=True)
        message = f"exit status {finished.returncode}\n{finished.stderr}"
        (folder / REFUSED).write_text(message.replace(str(tree), "").replace(str(out), ""))


def _source_roots(tree: Path) -> list[str]:
    """Return the folders of ``tree`` that its packages are imported from."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())
    roots: list[str] = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
    return roots


def _differing(old: Path, new: Path) -> list[str]:
    """Return the files below two folders that are not the same bytes in both, or are in one."""
    names = {str(p.relative_to(side)) for side in (old, new) for p in _files(side)}
    return sorted(name for name in names if _bytes(old / name) != _bytes(new / name))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    main()
