"""New projects around a network, written by ``rlx new``.

Tests: tests/builds/test_new.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx import frontends
from rlx.support.errors import OutputError, UsageError
from rlx.support.files.paths import example_root, template_root
from rlx.support.text.names import network_prefix
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.templates import environment
from rlx.targets import QUANTIZE, needs_samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WORDS: Final = """
app application firmware main board run all test help clean install package
assert complex ctype errno fenv float limits locale math setjmp signal stdio stdlib string time
"""
_TAKEN: Final = frozenset(_WORDS.split())
"""Names of other targets and headers in these projects."""

_QEMU: Final = "firmware_qemu"
"""The example whose board support a new firmware gets."""


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """A kind of project.

    Attributes:
        summary: Description in one line.
        rendered: Path in the project to template, relative to ``templates/new``.
        copied: Path in the project to file, relative to the examples.
        commands: Commands to type next in the project.
        one_port: It supports only networks with one input and one output.
    """

    summary: str
    rendered: Mapping[str, str]
    copied: Mapping[str, str]
    commands: tuple[str, ...]
    one_port: bool = False


KINDS: Final[Mapping[str, ProjectKind]] = {
    "firmware": ProjectKind(
        "bare-metal firmware for a Cortex-M4, run under QEMU",
        {
            "CMakeLists.txt": "firmware/CMakeLists.txt.j2",
            "README.md": "firmware/README.md.j2",
            "main.c": "common/main.c.j2",
            ".gitignore": "common/gitignore.j2",
        },
        {
            name: f"{_QEMU}/{name}"
            for name in ("board.c", "board.h", "mps2_an386.ld", "arm-none-eabi.cmake")
        },
        (
            "cmake -B build -DCMAKE_TOOLCHAIN_FILE=arm-none-eabi.cmake",
            "cmake --build build --target run",
        ),
    ),
    "cmake": ProjectKind(
        "CMake project: a program for this machine, a library for a Cortex-M",
        {
            "CMakeLists.txt": "cmake/CMakeLists.txt.j2",
            "README.md": "cmake/README.md.j2",
            "main.c": "common/main.c.j2",
            "board.h": "common/board.h.j2",
            ".gitignore": "common/gitignore.j2",
        },
        {"arm-none-eabi.cmake": f"{_QEMU}/arm-none-eabi.cmake"},
        ("cmake -B build", "cmake --build build", "build/application"),
    ),
    "zephyr": ProjectKind(
        "Zephyr application",
        {
            "CMakeLists.txt": "zephyr/CMakeLists.txt.j2",
            "README.md": "zephyr/README.md.j2",
            "prj.conf": "zephyr/prj.conf.j2",
            "src/main.c": "common/main.c.j2",
            "src/board.h": "common/board.h.j2",
            ".gitignore": "common/gitignore.j2",
        },
        {},
        ("west build -b qemu_cortex_m3", "west build -t run"),
    ),
    "litex": ProjectKind(
        "SoC of LiteX with the network as a core, simulated under Verilator",
        {
            "README.md": "litex/README.md.j2",
            "soc.py": "litex/soc.py.j2",
            "tb.v": "litex/tb.v.j2",
            "lint_off.vlt": "litex/lint_off.vlt.j2",
            ".gitignore": "litex/gitignore.j2",
        },
        {},
        ("less README.md",),
        one_port=True,
    ),
}


def kind(name: str) -> ProjectKind:
    """Return the kind of project of that name.

    Raises:
        UsageError: There is none.
    """
    if name not in KINDS:
        hint = did_you_mean(name, KINDS, what="kinds")
        raise UsageError(f"no kind of project is called {name!r}", hint=hint)
    return KINDS[name]


def create(name: str, folder: Path, model: Path | None = None) -> list[str]:
    """Write a project that builds.

    Args:
        name: ProjectKind of project, a key of :data:`KINDS`.
        folder: Folder to create; it must not exist, or be empty.
        model: Model file to copy into it; the digits network that ships with rlx by default.

    Returns:
        The files, relative to the folder.

    Raises:
        UsageError: There is no such kind of project.
        FrontendError: The model is not readable.
        OutputError: The folder has files already, or cannot be written.
    """
    files = project_files(kind(name), model)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(
                "the folder is not empty", where=str(folder), hint="name a new folder"
            )
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(content)
    except OSError as e:
        raise OutputError(
            f"cannot be written: {(e.strerror or str(e)).lower()}",
            where=str(folder),
            hint="name another folder",
        ) from e
    return list(files)


def project_files(project: ProjectKind, model: Path | None) -> dict[str, bytes]:
    """Return the files of a project by path; see :func:`create`."""
    source = example_root() / "digits" / "digits.rlx" if model is None else model
    graph = frontends.load(source).graph  # an unreadable file is refused now, not by a build
    if needs_samples(graph):
        raise UsageError(
            "expected an integer network, got a float one", where=str(source), hint=QUANTIZE
        )
    counts = len(graph.run_inputs), len(graph.run_outputs)
    if project.one_port and counts != (1, 1):
        raise UsageError(
            f"the network has {counts[0]} inputs and {counts[1]} outputs, but the"
            " project connects one of each",
            where=str(source),
            hint="emit it with 'rlx emit --target fpga', and connect its streams by hand",
        )
    name = network_prefix(graph.name, _TAKEN)  # as "rlx emit" calls it
    file = f"{name}{source.suffix.lower()}"
    parameters = {
        "name": name, "macro": name.upper(), "model": file, "picture": model is None,
        "class_name": "".join(part.capitalize() for part in name.split("_")),
    }  # fmt: skip
    texts = environment(template_root() / "new")
    files = {file: source.read_bytes()}
    for path, template in project.rendered.items():
        files[path] = texts.get_template(template).render(parameters).encode()
    for path, origin in project.copied.items():
        files[path] = (example_root() / origin).read_bytes()
    return dict(sorted(files.items()))
