"""Networks under test: each is loaded, emitted, built and run once, when a test first asks."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx import api, frontends, targets
from rlx.ir.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.ir import Array
    from rlx.ir.module import GraphModule
    from rlx.targets import Emission
    from rlx.targets.verifier import Verification


class Networks:
    """The networks of a test session, by name.

    Args:
        models: Path of each model file.
        work: Existing folder for what is emitted.
    """

    def __init__(self, models: Mapping[str, Path], work: Path) -> None:
        self._models = models
        self._work = work
        self._networks: dict[Path, Network] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._models)

    def __getitem__(self, name: str) -> Network:
        """Return the network of that name.

        Raises:
            KeyError: The configuration names no such model.
        """
        if name not in self._models:
            raise KeyError(
                f"no model is called {name!r}; rlx_models names: {', '.join(self._models) or '-'}"
            )
        return self.load(self._models[name])

    def load(self, path: str | Path) -> Network:
        """Return the network in a model file."""
        path = Path(path).resolve()
        if path not in self._networks:
            folder = self._work / f"{len(self._networks)}-{path.stem}"
            self._networks[path] = Network(path, folder)
        return self._networks[path]


class Network:
    """A network under test.

    An attribute named like an installed target, such as ``network.cortexm``, is the network built
    for it with the default options; ``network.on(...)`` takes options.

    Args:
        path: Its model file.
        folder: Folder for what is emitted; made when it is needed.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self._folder = folder
        self._builds: dict[str, Build] = {}

    def __repr__(self) -> str:
        return f"Network({str(self.path)!r})"

    @cached_property
    def module(self) -> GraphModule:
        """The imported model."""
        return frontends.load(self.path)

    def run(self, *inputs: Array) -> tuple[Array, ...]:
        """Return the results of the reference for one frame: an array for each output."""
        graph = self.module.graph
        named = {v.name: np.asarray(a) for v, a in zip(graph.inputs, inputs, strict=True)}
        return tuple(evaluate(graph, named))

    def __getattr__(self, name: str) -> Build:
        if name.startswith("_") or name not in targets.names():
            raise AttributeError(
                f"a network has no {name!r}; targets: {', '.join(targets.names())}"
            )
        return self.on(name)

    def on(
        self,
        target: str,
        *,
        vectors: Mapping[str, Array] | None = None,
        frames: int | None = None,
        tools: tuple[str, ...] | None = None,
        **options: Any,  # noqa: ANN401 - each target's own
    ) -> Build:
        """Return the network as built for a target; the same object for the same arguments.

        Args:
            target: Name of an installed target.
            vectors: Inputs ``[frames, *shape]`` by name, or ``x``; with ``y``, the outputs that
                they must give. None for random inputs.
            frames: Number of vectors to run; None for all given.
            tools: Simulators by name; None for what is installed.
            options: Options of the target, as ``rlx.emit`` takes them.
        """
        key = _key(target, vectors, vectors is None, frames, tools, options)
        if key not in self._builds:
            folder = self._folder / f"{len(self._builds)}-{target}"
            emit = {"vectors": vectors, "frames": frames, **options}
            self._builds[key] = Build(self, target, folder, emit, tools)
        return self._builds[key]


class Build:
    """A network emitted for a target, built and run once.

    Figures are attributes: those that were measured while it ran (``instructions``, ``interval``,
    ``text_bytes`` ...), then those that the target's report predicts (``macs``, ``lut`` ...).
    """

    def __init__(
        self,
        network: Network,
        target: str,
        folder: Path,
        emit: Mapping[str, Any],
        tools: tuple[str, ...] | None,
    ) -> None:
        self.network = network
        self.target = target
        self.folder = folder
        self._emit = emit
        self._tools = tools

    def __repr__(self) -> str:
        return f"Build({self.target!r}, {str(self.network.path)!r})"

    @cached_property
    def emission(self) -> Emission:
        """The emitted files and the target's report; ``folder`` holds them."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        return api.emit(self.network.module, self.target, self.folder, **self._emit)

    @cached_property
    def verification(self) -> Verification:
        """The outcome of running it, whether or not the outputs are the reference's."""
        _ = self.emission
        return api.verify(self.folder, tools=self._tools)

    @property
    def passed(self) -> bool:
        """Whether every vector that was run gave the reference's bits."""
        return self.verification.passed

    @cached_property
    def figures(self) -> Mapping[str, float]:
        """Every figure by name: measured where it was measured, else predicted.

        Raises:
            AssertionError: An output differs from the reference: the figures of a wrong program
                mean nothing.
        """
        report = self.verification.as_json()
        if not self.passed:
            raise AssertionError(
                f"{self!r}: {report['equal']} of {report['inputs']} vectors give the reference's"
                f" bits; first differences: {report['mismatches'][:3]}"
            )
        return {**_numbers(self.emission.report), **_numbers(report)}

    def __getattr__(self, name: str) -> float:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.figures:
            known = ", ".join(sorted(self.figures))
            raise AttributeError(f"{self!r} has no figure {name!r}, only: {known}")
        return self.figures[name]


def _numbers(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the entries of a report that are numbers."""
    return {
        name: value
        for name, value in report.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _key(
    target: str,
    vectors: Mapping[str, Array] | None,
    *arguments: object,
) -> str:
    """Return a text that is the same for the same arguments of :meth:`Network.on`."""
    digests = {
        name: [str(a.dtype), a.shape, hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()]
        for name, a in (vectors or {}).items()
    }
    return json.dumps([target, digests, arguments], sort_keys=True, default=repr)
