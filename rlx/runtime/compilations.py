"""Compilations that all sessions of the process share.

Graphs that compute the same, with the same names, origins and options, are lowered and compiled
once. What is shared never changes: each program made of it has its own parameters, states and
memory. The setting ``compilations`` (``RLX_COMPILATIONS``) is the number of compilations that are
kept; those unused for longest are dropped first.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from rlx.ir.hash import structural_hash
from rlx.ir.regions import all_nodes
from rlx.passes.transforms.bind import bind
from rlx.runtime.dump import StageDump, folder_of
from rlx.runtime.lowering import lower
from rlx.support.config import current

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Graph, GraphModule
    from rlx.runtime.backend import Backend, Program
    from rlx.runtime.checking import Comparison
    from rlx.runtime.lowering import HostModule
    from rlx.runtime.options import CompileOptions

    MakeProgram: TypeAlias = Callable[[], Program]

Key: TypeAlias = tuple[Any, ...]


@runtime_checkable
class SharingBackend(Protocol):
    """Backend whose compiled code several programs can share."""

    def prepare(self, module: GraphModule, options: CompileOptions) -> MakeProgram:
        """Compile ``module``; return a function that makes programs of the code.

        Threads may call the function at once. ``compile`` returns its first program.
        """
        ...


@dataclass(slots=True)
class Compilation:
    """A graph compiled for one set of sizes.

    Attributes:
        lowered: Module that the backend compiled.
        make_program: Returns a new program, with memory of its own.
        comparison: Comparison of the first program with NumPy; None if there was none yet.
    """

    lowered: HostModule
    make_program: MakeProgram
    comparison: Comparison | None = None


@dataclass(slots=True)
class _Entry:
    """A compilation, or the place of one that a thread is working on."""

    key: Key
    backend: Backend
    options: CompileOptions
    lock: threading.Lock = field(default_factory=threading.Lock)
    compilation: Compilation | None = None


class Compilations:
    """Compilations by graph, sizes, backend and options. Threads may call one object.

    Attributes:
        hits: Number of compilations that were found.
        misses: Number of those that were made.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self._entries: list[_Entry] = []  # least recently used first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self,
        graph: Graph,
        backend: Backend,
        options: CompileOptions,
        sizes: Sequence[tuple[str, int]] = (),
    ) -> Compilation:
        """Return the compilation of a graph; other threads that ask for the same one wait for it.

        With ``dump`` in the options the graph is compiled again, since its steps are written.

        Args:
            graph: A graph.
            backend: Backend that compiles it.
            options: Options of compilation.
            sizes: A size for each of its symbols.

        Raises:
            UnsupportedOpError: The backend cannot run some op; then nothing is kept.
        """
        if options.dump is not None or not current().compilations:
            return _compiled(graph, backend, options, sizes)
        entry = self._entry(_key(graph, sizes), backend, options)
        with entry.lock:
            if entry.compilation is None:
                try:
                    entry.compilation = _compiled(graph, backend, options, sizes)
                except BaseException:
                    self._remove(entry)
                    raise
                self.misses += 1
            else:
                self.hits += 1
            return entry.compilation

    def clear(self) -> None:
        """Drop all compilations; those in use stay valid."""
        with self._lock:
            self._entries.clear()

    def _entry(self, key: Key, backend: Backend, options: CompileOptions) -> _Entry:
        """Return the entry of a graph, a new one if there is none, as the last one used."""
        with self._lock:
            for entry in self._entries:
                if entry.key == key and entry.backend == backend and entry.options == options:
                    self._remove_locked(entry)
                    break
            else:
                entry = _Entry(key, backend, options)
            self._entries.append(entry)
            del self._entries[: -current().compilations]
            return entry

    def _remove(self, entry: _Entry) -> None:
        with self._lock:
            self._remove_locked(entry)

    def _remove_locked(self, entry: _Entry) -> None:
        self._entries = [other for other in self._entries if other is not entry]


COMPILATIONS: Final = Compilations()
"""Compilations of this process."""


def _key(graph: Graph, sizes: Sequence[tuple[str, int]]) -> Key:
    """Return all that a compilation depends on but the backend and the options.

    Names and origins are part of it: policies may choose by them, and profiles show them.
    """
    names = tuple((node.name, node.origin) for node in all_nodes(graph))
    return structural_hash(graph), graph.name, graph.output_names, names, tuple(sizes)


def _compiled(
    graph: Graph, backend: Backend, options: CompileOptions, sizes: Sequence[tuple[str, int]]
) -> Compilation:
    lowered = _lowered(bind(graph, dict(sizes)), backend, options, sizes)
    if isinstance(backend, SharingBackend):
        return Compilation(lowered, backend.prepare(lowered.module, options))
    return Compilation(lowered, partial(backend.compile, lowered.module, options))


def _lowered(
    graph: Graph, backend: Backend, options: CompileOptions, sizes: Sequence[tuple[str, int]]
) -> HostModule:
    """Return a graph as the backend compiles it; its steps are written where the options say."""
    if options.dump is None:
        return lower(graph, backend, options)
    with StageDump(folder_of(Path(options.dump), sizes), force=True) as dump:
        return lower(graph, backend, options, observe=dump)
