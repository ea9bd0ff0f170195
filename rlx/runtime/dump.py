"""The text of a graph after every step of compilation that changed it.

For debugging: in files of a folder, or printed.

Tests: tests/cli/test_stages.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.ir.inspect import inspect_module
from rlx.ir.printer import format_graph
from rlx.support.files.outputs import Producer, check_folder, write_folder
from rlx.support.text.names import mangle
from rlx.support.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self, TextIO

    from rlx.ir import GraphModule
    from rlx.passes import Step

ALL: Final = "all"
"""Placeholder for all steps in place of the name of one."""


Reader: TypeAlias = "Callable[[Step, str, str], None]"
"""Function that gets each step that changed the text of the graph: the text before, and after."""


class ChangedSteps:
    """An observer that passes on the steps that changed the text of the graph.

    Contents of large constants are abbreviated. A planned graph has the place of every value too.
    """

    def __init__(self, *readers: Reader) -> None:
        """Pass steps on to each of ``readers``."""
        self._readers = readers
        self._module: GraphModule | None = None
        self._text = ""

    def __call__(self, step: Step, module: GraphModule) -> None:
        """Accept a step and its results."""
        last, self._module = self._module, module
        if last is not None and last.graph is module.graph and last.plan is module.plan:
            return
        before, self._text = self._text, _text(module)
        if self._text != before:
            for read in self._readers:
                read(step, before, self._text)


class StageDump:
    """An observer that writes the graph after each step that changed it: ``00-given.txt``.

    The folder appears at the end of the ``with`` statement, with a manifest, complete; where the
    compilation fails, it has the steps until then.
    """

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        """Prepare to write ``folder``.

        Args:
            folder: It must not exist, or be empty.
            force: Replace a folder that rlx made before.

        Raises:
            OutputError: The folder cannot be made or replaced.
        """
        check_folder(folder, force=force)
        self._folder, self._force = folder, force
        self._texts: list[tuple[str, str]] = []
        self._observe = ChangedSteps(self.add)

    def __call__(self, step: Step, module: GraphModule) -> None:
        """Accept a step and its results."""
        self._observe(step, module)

    def add(self, step: Step, before: str, after: str) -> None:
        """Add the file of one step that changed the graph."""
        del before
        self._texts.append((re.sub(r"[^\w.-]+", "-", str(step), flags=re.ASCII), after))

    def _files(self) -> dict[str, str]:
        """Return the texts by the names of their files, which sort in the order of the steps."""
        width = max(2, len(str(len(self._texts) - 1)))
        return {f"{n:0{width}}-{name}.txt": text for n, (name, text) in enumerate(self._texts)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._texts:
            return
        producer = Producer(rlx_version=__version__, target="stages")
        write_folder(self._folder, self._files(), producer=producer, force=self._force)


def printer(before: Container[str], after: Container[str], stream: TextIO) -> Reader:
    """Return a reader that prints graphs.

    Args:
        before: Names of the steps before which the graph is printed, or ``all``.
        after: Names of the steps after which it is printed, or ``all``.
        stream: Stream that they are printed to.
    """

    def read(step: Step, old: str, new: str) -> None:
        for when, names, text in (("before", before, old), ("after", after, new)):
            if text and (ALL in names or step.name in names):
                stream.write(f"# {when} {step}\n{text}")

    return read


def folder_of(folder: Path, sizes: Sequence[tuple[str, int]]) -> Path:
    """Return the folder in ``folder`` for these sizes of symbols; itself for none."""
    names = [f"{mangle(name)}-{size}" for name, size in sizes]
    return folder / "_".join(names) if names else folder


def _text(module: GraphModule) -> str:
    """Return the text of a graph and, where it is planned, of where every value is."""
    text = format_graph(module.graph, full=False)
    return text if module.plan is None else f"{text}\n{inspect_module(module)}\n"
