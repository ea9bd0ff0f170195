"""Networks under test: each is loaded, emitted, built and run once, when a test first asks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx import api, frontends, targets
from rlx.driver.reference import reference_outputs
from rlx.driver.verification.mismatches import mismatch_lines
from rlx.driver.verification.requirement import ALL
from rlx.samples.batches import read_samples
from rlx.samples.shapes import sample_shape
from rlx.support.errors import DifferenceError, RlxError, ToolMissingError, UsageError
from rlx.support.text.suggest import closest
from rlx.testing.golden import Golden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlx.ir import Array
    from rlx.ir.module import GraphModule
    from rlx.samples.given import Inputs
    from rlx.targets import Emission
    from rlx.targets.verifier import Verification


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a test session; see :class:`Networks`."""

    missing: str = "fail"
    record: bool = False


class _WithoutFrames:
    """Lets errors of rlx leave a block without rlx's own frames, which tell a test nothing."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        """Raise an error of rlx again."""
        __tracebackhide__ = True
        if isinstance(error, RlxError):
            raise error.with_traceback(None) from None


class Networks:
    """The networks of a test session, by name.

    Args:
        models: Path of each model file.
        work: Existing folder for the emitted files.
        missing: Action where a simulator of the default is missing: ``fail``, ``skip`` (the test)
            or ``allow`` (run the available ones).
        record: Whether :meth:`Network.require_golden` writes its file instead of comparing.
    """

    def __init__(
        self, models: Mapping[str, Path], work: Path, *, missing: str = "fail", record: bool = False
    ) -> None:
        self._models = models
        self._work = work
        self._settings = Settings(missing, record)
        self._networks: dict[Path, Network] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._models)

    def __getitem__(self, name: str) -> Network:
        """Return the network of that name.

        Raises:
            KeyError: The configuration names no such model.
        """
        __tracebackhide__ = True
        if name not in self._models:
            guess = closest(name, self._models)
            meant = f"did you mean {guess!r}? " if guess else ""
            names = ", ".join(self._models) or "none"
            raise KeyError(f"no model is called {name!r}; {meant}rlx_models names: {names}")
        return self.load(self._models[name])

    def load(self, path: str | Path) -> Network:
        """Return the network in a model file."""
        path = Path(path).resolve()
        if path not in self._networks:
            folder = self._work / f"{len(self._networks)}-{path.stem}"
            self._networks[path] = Network(path, folder, self._settings)
        return self._networks[path]


class Network:
    """A network under test.

    An attribute named like an installed target, such as ``network.cortexm``, is the network built
    for it with the default options; ``network.on(...)`` accepts options.

    Args:
        path: Its model file.
        folder: Folder for the emitted files; made when it is needed.
        settings: Settings of the test session.
    """

    def __init__(self, path: Path, folder: Path, settings: Settings | None = None) -> None:
        self.path = path
        self._folder = folder
        self._settings = settings or Settings()
        self._builds: dict[str, Build] = {}

    def __repr__(self) -> str:
        return f"Network({str(self.path)!r})"

    @property
    def module(self) -> GraphModule:
        """The imported model."""
        __tracebackhide__ = True
        with _WithoutFrames():
            return self._module

    @cached_property
    def _module(self) -> GraphModule:
        return frontends.load(self.path)

    def run(self, *data: Inputs) -> tuple[Array, ...]:
        """Return the results of the reference: an array ``[samples, *shape]`` for each output.

        Args:
            data: Samples, as ``rlx.run`` takes them: a sample or a batch, arrays by name, or a
                file; or an argument for each input, in order. The samples of a network with
                states are the steps of one sequence.

        Raises:
            UsageError: The data do not fit the inputs.
        """
        __tracebackhide__ = True
        with _WithoutFrames():
            return self._run(data)

    def _run(self, data: Sequence[Inputs]) -> tuple[Array, ...]:
        graph = self.module.graph
        names = [value.name for value in graph.run_inputs]
        if len(data) not in (1, len(names)):
            raise UsageError(
                f"expected data for the inputs {', '.join(names)}, got {len(data)} arguments",
                where=repr(self),
                hint="give an argument for each input, or one mapping of arrays by name",
            )
        by_name: Any = dict(zip(names, data, strict=True)) if len(data) > 1 else data[0]
        samples = read_samples(graph, by_name, what="data", steps=True)
        if len(samples.inputs) > len(names):
            raise UsageError(
                "expected data without values of states", where=repr(self),
                hint="rlx.run(network.path, data) accepts them",
            )  # fmt: skip
        (arrays,) = samples.batches(samples.count)
        golden = reference_outputs(
            graph,
            tuple(
                arrays[value.name].reshape(samples.count, *value.type.static_shape)
                for value in graph.run_inputs
            ),
        )
        types = (value.type for _, value in graph.run_outputs)
        return tuple(
            array.reshape(samples.count, *sample_shape(type_))
            for array, type_ in zip(golden.outputs, types, strict=True)
        )

    def require_golden(self, path: str | Path, vectors: Mapping[str, Array] | None = None) -> None:
        """Fail unless the results of the network are those of a golden file, to the last bit.

        The file holds inputs, outputs and a hash of the results of each layer, so that the message
        can name the first layer that differs. ``pytest --rlx-record`` writes it. A warning says
        if all frames have the same outputs, which test little.

        Args:
            path: The file, a NumPy archive ``.npz``.
            vectors: Inputs ``[frames, *shape]`` by name, or ``x``, to write into it; None for
                random ones. Not used where the file is compared.

        Raises:
            DifferenceError: An output differs: where, the values, the first layer that differs.
            UsageError: The file does not exist, or the vectors do not fit.
        """
        __tracebackhide__ = True
        path = Path(path)
        with _WithoutFrames():
            if self._settings.record:
                recorded = Golden.of(self.module.graph, vectors)
                recorded.check_variety(path)
                recorded.write(path)
                return
            golden = Golden.read(path)
            golden.check_variety(path)
            actual = Golden.of(self.module.graph, golden.inputs)
            golden.require(actual, model=self.path, path=path)

    def __getattr__(self, name: str) -> Build:
        if name.startswith("_") or name not in targets.names():
            raise AttributeError(
                f"no attribute or target {name!r}; targets: {', '.join(targets.names())}"
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
            vectors: Inputs ``[frames, *shape]`` by name, or ``x``; with ``y``, the expected
                outputs. None for random inputs.
            frames: Number of vectors to run; None for all given.
            tools: Simulators by name, each of which must be there; None for the default ones. If
                one of those is missing the test fails; ``pytest --rlx-missing`` chooses otherwise.
            options: Options of the target, as for ``rlx.emit``.

        Raises:
            TargetNotFoundError: No such target is installed.
            UsageError: It has no such option or value.
        """
        __tracebackhide__ = True
        with _WithoutFrames():
            _check_options(target, options)
        key = _key(target, vectors, vectors is None, frames, tools, options)
        if key not in self._builds:
            folder = self._folder / f"{len(self._builds)}-{target}"
            emit = {"vectors": vectors, "frames": frames, **options}
            self._builds[key] = Build(self, target, folder, emit, tools, self._settings)
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
        settings: Settings | None = None,
    ) -> None:
        self.network = network
        self.target = target
        self.folder = folder
        self._emit = emit
        self._tools = tools
        self._settings = settings or Settings()

    def __repr__(self) -> str:
        return f"Build({self.target!r}, {str(self.network.path)!r})"

    @property
    def emission(self) -> Emission:
        """The emitted files and the target's report; ``folder`` holds them."""
        __tracebackhide__ = True
        with _WithoutFrames():
            return self._emission

    @cached_property
    def _emission(self) -> Emission:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        return api.emit(self.network.module, self.target, self.folder, **self._emit)

    @property
    def verification(self) -> Verification:
        """The outcome of running it, whether or not the outputs are the reference's.

        Raises:
            ToolMissingError: A simulator that was named is missing, or one of the default ones and
                ``missing`` is ``fail``.
        """
        __tracebackhide__ = True
        with _WithoutFrames():
            return self._verification

    @cached_property
    def _verification(self) -> Verification:
        _ = self._emission
        allowed = self._tools is not None or self._settings.missing == "allow"
        try:
            return api.verify(self.folder, tools=self._tools, require=() if allowed else [ALL])
        except ToolMissingError as error:
            if self._settings.missing == "skip":
                import pytest  # not needed by those who use this without a pytest session

                pytest.skip(str(error))
            raise

    @property
    def passed(self) -> bool:
        """Whether all results are the reference's, bit for bit; see :meth:`require`."""
        __tracebackhide__ = True
        return self.verification.passed

    def require(self, **limits: float) -> Build:
        """Fail unless all results are the reference's, bit for bit, and limits are kept.

        Args:
            limits: The most that a figure may be, by its name: ``instructions=70_000``.

        Raises:
            DifferenceError: An output differs, or a limit is passed; all of them are listed, with
                the command that shows more.
        """
        __tracebackhide__ = True
        with _WithoutFrames():
            if not self.passed:
                raise self._difference()
            unknown = [name for name in limits if name not in self.figures]
            if unknown:
                raise self._no_figure(unknown[0])
            texts = [
                f"{name}: expected at most {limit:,}, got {self.figures[name]:,}"
                f" ({self.figures[name] - limit:+,})"
                for name, limit in limits.items()
                if self.figures[name] > limit
            ]
            if texts:
                raise DifferenceError(
                    "\n".join(texts),
                    where=repr(self),
                    hint=f"rlx report {self.folder} --html report.html shows each layer",
                )
        return self

    def _difference(self) -> DifferenceError:
        """Return the error of wrong outputs."""
        report = self.verification.as_json()
        lines = mismatch_lines(report["mismatches"])
        count = f"{report['equal']} of {report['inputs']} vectors give the reference's bits"
        return DifferenceError(
            "\n".join([count, *lines]), where=repr(self), hint=f"rlx verify {self.folder}"
        )

    def _no_figure(self, name: str) -> UsageError:
        known = ", ".join(sorted(self.figures))
        not_run = getattr(self._verification, "not_run", ())
        missing = "".join(f"; not measured: {one}" for one in not_run)
        return UsageError(
            f"no figure {name!r}{missing}", where=repr(self), hint=f"figures: {known}"
        )

    @property
    def figures(self) -> Mapping[str, float]:
        """Every figure by name: measured where it was measured, else predicted.

        Raises:
            DifferenceError: An output differs from the reference: the figures of a wrong program
                mean nothing.
        """
        __tracebackhide__ = True
        with _WithoutFrames():
            return self._figures

    @cached_property
    def _figures(self) -> Mapping[str, float]:
        report = self._verification.as_json()
        if not self._verification.passed:
            raise self._difference()
        return {**_numbers(self._emission.report), **_numbers(report)}

    def __getattr__(self, name: str) -> float:
        __tracebackhide__ = True
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.figures:
            known = ", ".join(sorted(self.figures))
            raise AttributeError(f"{self!r} has no figure {name!r}; figures: {known}")
        return self.figures[name]


def _check_options(target: str, options: Mapping[str, Any]) -> None:
    """Refuse an unknown target, or options that it does not have, before anything is emitted.

    Raises:
        TargetNotFoundError: No such target is installed.
        UsageError: It has no such option or value.
    """
    others = ("policies", "force", "observe")  # of rlx.emit
    own = {name: value for name, value in options.items() if name not in others}
    other_names = ("vectors", "frames", "tools", *others)
    targets.options_of(targets.load(target), own, other_names=other_names)


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
