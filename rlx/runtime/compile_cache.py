"""Compiled graphs that are kept for graphs that compute the same."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir.hash import structural_hash
from rlx.runtime.session import parts_of
from rlx.support.config import current
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.runtime.compiled import CompiledGraph
    from rlx.runtime.options import CompileOptions
    from rlx.runtime.session import Compilable, Session

_Key: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...], int]
_Entry: TypeAlias = "tuple[_Key, CompileOptions, CompiledGraph]"


class CompileCache:
    """Compiles each graph once: for one that computes the same it returns the same object.

    The returned graph is shared by all callers, with its parameters and states; take a ``clone``
    for some of your own. Threads may call one cache.

    ::

        cache = CompileCache(rlx.Session(), most=4)
        compiled = cache.compile(graph)

    Attributes:
        session: Compiles missing graphs.
        most: Compiled graphs that are kept; the one that was not asked for longest is dropped.
        hits: Number of times that a graph was there.
        misses: Number of times that one was compiled.
    """

    def __init__(self, session: Session, most: int = 8) -> None:
        """Make an empty cache.

        Raises:
            UsageError: Nothing would be kept.
        """
        if most < 1:
            raise UsageError(f"a cache keeps one graph at least, got {most}", hint="give most=1")
        self.session = session
        self.most = most
        self.hits = 0
        self.misses = 0
        self._entries: list[_Entry] = []  # least recently used first
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<CompileCache: {len(self)} of {self.most}, {self.hits} hits, {self.misses} misses>"

    def __len__(self) -> int:
        return len(self._entries)

    def compile(self, graph: Compilable, options: CompileOptions | None = None) -> CompiledGraph:
        """Return the compiled graph for ``graph`` and these options.

        Graphs are the same if their structure, constants, options and all names are. Values that a
        graph made by hand has for its parameters are set again each time.

        Args:
            graph: As for ``Session.compile``.
            options: Options for this graph; those of the session by default.

        Raises:
            Exception: As ``Session.compile``; then nothing is kept.
        """
        inner, params = parts_of(graph)
        settings = options or self.session.options
        with self._lock:
            key = _key(inner)
            for index, (known, of, compiled) in enumerate(self._entries):
                if known == key and of == settings:
                    # The most recently used last: the first ones are dropped.
                    self._entries.append(self._entries.pop(index))
                    self.hits += 1
                    compiled.set_params(params)
                    return compiled
            compiled = self.session.compile(graph, settings)
            self.misses += 1
            self._entries.append((key, settings, compiled))
            del self._entries[: -self.most]
            return compiled

    def clear(self) -> None:
        """Drop all compiled graphs; those in use stay valid."""
        with self._lock:
            self._entries.clear()


def _key(graph: Graph) -> _Key:
    """Return the key of a graph: the hash, and the names, by which policies may choose."""
    names = tuple(node.name for node in graph.nodes)
    return structural_hash(graph), graph.output_names, (graph.name, *names), current().programs
