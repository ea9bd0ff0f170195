"""The text of a graph after every step of compilation, for those who look for what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.errors import OutputError
from rlx.ir.inspect import inspect_module
from rlx.ir.printer import format_graph
from rlx.names import mangle
from rlx.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import Graph, GraphModule


class StageDump:
    """Writes the graph after each step to a file of a folder: ``00-given.txt``, ``01-fit.txt``.

    Contents of large constants are abbreviated. Files of an earlier compilation are replaced.

    Attributes:
        paths: The files written so far.
    """

    def __init__(self, folder: Path, sizes: Sequence[tuple[str, int]] = ()) -> None:
        """Prepare to write to ``folder``, or to one in it for these sizes of symbols.

        Raises:
            OutputError: The folder cannot be made.
        """
        names = [f"{mangle(name)}-{size}" for name, size in sizes]
        self._folder = folder / "_".join(names) if names else folder
        self.paths: list[Path] = []
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise OutputError(
                f"cannot make the folder: {e.strerror}",
                where=str(self._folder),
                hint="give a folder that can be written",
            ) from e

    def graph(self, name: str, graph: Graph) -> None:
        """Write ``graph`` as the result of the step ``name``."""
        self._write(name, format_graph(graph, full=False))

    def plan(self, module: GraphModule) -> None:
        """Write a planned graph: its text, and where every value is."""
        text = format_graph(module.graph, full=False)
        self._write("plan", f"{text}\n{inspect_module(module)}\n")

    def _write(self, name: str, text: str) -> None:
        path = self._folder / f"{len(self.paths):02}-{name}.txt"
        write_file(path, text.encode())
        self.paths.append(path)
