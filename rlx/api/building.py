"""Emit, verify and report output folders; export networks as model files.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx import targets
from rlx.api.arguments import policies_of
from rlx.driver import driver, exporters
from rlx.driver.verification.repeat import Request, verify_once
from rlx.driver.verification.requirement import required
from rlx.networks import Model, bound_module
from rlx.passes import unobserved
from rlx.reports.gather import ReportRequest, gather
from rlx.samples.given import loaded_arrays
from rlx.support.calls import checked_call
from rlx.support.files.outputs import read_manifest, write_file
from rlx.support.parallel import workers
from rlx.targets import verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.api.types import PoliciesLike
    from rlx.driver.exporters import Exported
    from rlx.metrics.inference import Inputs
    from rlx.passes import Observer
    from rlx.reports.report import Report
    from rlx.support.annotations import Count, Seconds
    from rlx.support.parallel import ExecutorLike
    from rlx.targets import Emission
    from rlx.targets.verifier import Verification


@checked_call
def emit(
    model: Model,
    target: str,
    folder: str | Path,
    *,
    vectors: Inputs | None = None,
    frames: Count | None = None,
    policies: PoliciesLike | None = None,
    force: bool = False,
    observe: Observer | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Emission:
    """Compile a model for a target into an output folder, as ``rlx emit`` does.

    Args:
        model: As for :func:`rlx.run`.
        target: Name of an installed target, such as ``"cortexm"``.
        folder: Folder to write, such as ``"out"``; it appears complete, or not at all.
        vectors: Samples to store as golden vectors, as for :func:`rlx.run`, and optionally the
            expected outputs ``y``; None for random ones.
        frames: Golden vectors to store; None for all given, or a number that suits the graph.
        policies: Policies: ops that are written in others although the target has them, or never:
            ``"common"``, ``"native"``, or such a word by the name of an op.
        force: Replace a folder that rlx made before.
        observe: Called as ``observe(step, module)`` after each step with what it made, whether it
            changed anything or not; ``str(step)`` is such as ``"fuse-pads, round 2"``.
        options: Options of the target, such as ``cpu="cortex-m55"``. A text is read as on the
            command line: ``clock="50MHz"``.

    Returns:
        The files that were written, and the target's report.

    Raises:
        UsageError: The target has no such option, or the vectors do not fit the model.
        RlxError: Error of a step.

    Example:
        >>> digits, samples = "digits/digits.rlx", "digits/samples.npz"
        >>> rlx.emit(digits, "cortexm", "out", vectors=samples, frames=4, cpu="cortex-m4")
        <Emission: 32 files, 6 layers>
    """
    module, source_sha256 = bound_module(model, vectors)
    plugin = targets.load(target)
    chosen_options = targets.options_of(
        plugin, options, other_names=("vectors", "frames", "policies", "force", "observe")
    )
    arrays = None
    if vectors is not None:
        arrays = loaded_arrays(vectors, module.graph.run_inputs, what="vectors")
    return driver.emit(
        module,
        plugin,
        Path(folder),
        options=chosen_options,
        policies=policies_of(policies),
        vectors=arrays,
        frames=frames,
        source_sha256=source_sha256,
        force=force,
        observe=observe or unobserved,
    )


@checked_call
def export(model: Model, path: str | Path, *, opset: int | None = None) -> Exported:
    """Write an integer network as ``.tflite`` or ``.onnx``, as ``rlx export`` does.

    Args:
        model: As for :func:`rlx.run`.
        path: File to write; its end names the format.
        opset: Version of ai.onnx for ``.onnx``; None for 17.

    Returns:
        The bytes of the file, and for ``.onnx`` the differences that float arithmetic makes.

    Raises:
        UsageError: The end of the name is none of a format that is written.
        UnsupportedOpError: The network computes in float, or has ops without a form there.
        OutputError: The file cannot be written.

    Example:
        >>> exported = rlx.export("digits/digits.rlx", "digits.onnx")
        >>> len(exported.content) > 1000
        True
    """
    exported = exporters.export(bound_module(model)[0].graph, Path(path), opset)
    write_file(path, exported.content)
    return exported


@checked_call
def verify(
    folder: str | Path,
    *,
    frames: Count | None = None,
    tools: str | Sequence[str] | None = None,
    require: str | Sequence[str] = (),
    timeout_s: Seconds = verifier.DEFAULT_TIMEOUT_S,
    waves: str | Path | None = None,
    cache: bool = True,
    executor: ExecutorLike = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Run an output folder and compare every output with the reference, as ``rlx verify`` does.

    Args:
        folder: Folder that ``rlx.emit`` wrote.
        frames: Golden vectors to run; None for all.
        tools: Simulators by name, or one, each of which must be there; None for what is installed:
            ``not_run`` of the result says what could not run, and why.
        require: Simulators that must run, by name, or ``all`` for every one of the default. In
            tests and in CI give ``["all"]``: a missing tool is an error then.
        timeout_s: Wall-clock limit of each step, in seconds.
        waves: File for a waveform, if the simulators support it; None for none.
        cache: Take the result of an earlier run if nothing that it depends on has changed: folder,
            rlx, tools. ``as_json()["cached"]`` says when that was.
        executor: Number of processes that run the frames, in parts, an executor of
            ``concurrent.futures``, or ``"dask:tcp://host:8786"``; None for this process. The
            result does not depend on it.
        progress: Called with a description of each step.

    Returns:
        An object with ``passed``, ``inputs``, ``equal``, ``mismatches``, ``figures`` and
        ``not_run``; ``as_json()`` returns them all. ``passed`` is about what ran.

    Raises:
        RlxError: The folder was not made by rlx or was changed; a tool that was named or is
            required is missing, or failed; or nothing can run.

    Example:
        >>> emission = rlx.emit("digits/digits.rlx", "cortexm", "verified", frames=4)
        >>> rlx.verify("verified", tools="host").passed
        True
    """
    folder = Path(folder)
    plugin = verifier.load(read_manifest(folder).producer.target)
    choice = required(plugin, folder, None if tools is None else _names(tools), _names(require))

    def run() -> Verification:
        with workers(executor) as pool:
            return plugin.verify(
                folder,
                inputs_limit=frames,
                tools=choice.tools,
                timeout_s=timeout_s,
                waves=_path(waves),
                progress=progress,
                **({} if executor is None else {"pool": pool}),
            )

    if waves is not None:
        return choice.completed(run())
    request = Request(folder, frames, choice.tools)
    return choice.completed(verify_once(plugin, request, run, look=cache))


@checked_call
def report(
    folder: str | Path,
    *,
    run: bool = True,
    verified: str | Path | None = None,
    build: str | Path | None = None,
    board: str | Path | None = None,
    data: Inputs | None = None,
    labels: Sequence[str] = (),
    model: Model | None = None,
    old: str | Path | None = None,
    quantization: str | Path | None = None,
    timeout_s: Seconds = verifier.DEFAULT_TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Return the report of an output folder, predictions beside measurements.

    A notebook shows it as a page; ``to_html()``, ``to_csv()`` and ``to_markdown()`` return what
    ``rlx report`` writes to files.

    Args:
        folder: Folder that ``rlx.emit`` wrote.
        run: Verify the folder and measure its layers; False for predictions alone.
        verified: File with what ``rlx verify --json`` printed, instead of a run.
        build: Folder of ``rlx build -o``, or a file with what ``rlx build --json`` printed.
        board: File with times of layers on hardware, ``.json`` or ``.csv``: name and number.
        data: Labelled samples, on which the emitted network is run, as :func:`run` takes them.
        labels: Name of each class.
        model: The model, to compute the accuracy of the reference too. If it is a file, losses by
            quantization are taken from ``NET.q.json`` beside it.
        old: An output folder of an older version, to show what has changed.
        quantization: File with losses by quantization that ``rlx quantize`` wrote, ``NET.q.json``.
        timeout_s: Wall-clock limit of each step, in seconds.
        progress: Called with a description of each step.

    Raises:
        UsageError: A file or the data do not fit.
        RlxError: The folder was not made by rlx or was changed, or a tool is missing or failed.

    Example:
        >>> emission = rlx.emit("digits/digits.rlx", "cortexm", "folder", frames=4)
        >>> rlx.report("folder", run=False).target
        'cortexm'
    """
    folder = Path(folder)

    def verification() -> Verification:
        return verify(folder, timeout_s=timeout_s, progress=progress)

    request = ReportRequest(
        verify=verification if run and verified is None else None,
        verified=_path(verified),
        build=_path(build),
        board=_path(board),
        data=data,
        labels=labels,
        model=None if model is None else bound_module(model, data)[0].graph,
        old=_path(old),
        quantization=_path(quantization),
        model_file=Path(model) if isinstance(model, str | PathLike) else None,
    )
    return gather(folder, request, progress=progress)


def _names(names: str | Sequence[str]) -> Sequence[str]:
    """Return names, of which there may be one alone."""
    return (names,) if isinstance(names, str) else names


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)
