"""What the commands do, from Python: ``rlx.emit``, ``rlx.estimate``, ``rlx.verify``.

Each takes what the command of its name takes; options of a target are keyword arguments, with
underscores for hyphens.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx import driver, frontends, verifier
from rlx import target as targets
from rlx.errors import UsageError
from rlx.ir import Graph
from rlx.ir.module import GraphModule, Stage
from rlx.outputs import read_manifest
from rlx.tracing import Graph as Builder
from rlx.transforms.freeze import freeze

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Array
    from rlx.passes import Policies
    from rlx.target import Emission, Target
    from rlx.verifier import Verification


def emit(
    model: GraphModule | Graph | Builder | str | Path,
    target: str,
    folder: str | Path,
    *,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
    policies: Policies | None = None,
    force: bool = False,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Emission:
    """Compile a model for a target into an output folder, as ``rlx emit`` does.

    Args:
        model: What ``rlx.load`` returned, a graph, or the path of a model file.
        target: Name of an installed target, such as ``"cortexm"``.
        folder: Appears complete, or not at all.
        vectors: Inputs to store as golden vectors, ``[frames, *shape]`` by input name (or ``x``
            where there is one input), and optionally the expected outputs ``y``; None for random
            ones.
        frames: Golden vectors to store; None for all given, or a number that suits the graph.
        policies: Which ops are written in others although the target has them, or never.
        force: Replace a folder that rlx made before.
        options: Options of the target, such as ``cpu="cortex-m55"``. A text is read as on the
            command line: ``clock="50MHz"``.

    Returns:
        The files that were written, and the target's report.

    Raises:
        UsageError: The target has no such option, or the vectors do not fit the model.
        RlxError: What the steps raise.
    """
    module, source_sha256 = _module_of(model)
    chosen = targets.load(target)
    chosen_options = _options_of(chosen, options)
    golden = driver.golden_for(module.graph, chosen, chosen_options, vectors=vectors, frames=frames)
    return driver.emit(
        module,
        chosen,
        Path(folder),
        options=chosen_options,
        policies=policies,
        golden=golden,
        source_sha256=source_sha256,
        force=force,
    )


def estimate(
    model: GraphModule | Graph | Builder | str | Path,
    target: str,
    *,
    policies: Policies | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Mapping[str, Any]:
    """Return what a model will need on a target, as ``rlx estimate`` shows it.

    Arguments and errors as :func:`emit`. The keys are those of ``rlx estimate --json``.
    """
    module, _ = _module_of(model)
    chosen = targets.load(target)
    chosen_options = _options_of(chosen, options)
    lowered = driver.lower(module, chosen, options=chosen_options, policies=policies)
    ports = [str(change) for change in lowered.changes]
    return {
        "dispatch": lowered.dispatch.to_dict(),
        **chosen.estimate(lowered.module, chosen_options),
        **({"ports": ports} if ports else {}),
    }


def verify(
    folder: str | Path,
    *,
    inputs: int | None = None,
    tools: Sequence[str] | None = None,
    timeout_s: float = verifier.TIMEOUT_S,
    waves: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Run an output folder and compare every output with the reference, as ``rlx verify`` does.

    Args:
        folder: What ``rlx.emit`` wrote.
        inputs: Golden vectors to run; None for all.
        tools: Simulators by name; None for what is installed.
        timeout_s: Wall-clock limit of each step, in seconds.
        waves: File for a waveform, if the simulators support it; None for none.
        progress: Called with a description of each step.

    Returns:
        An object with ``passed``, and ``as_json()`` for the figures and the mismatches.

    Raises:
        RlxError: The folder was not made by rlx or was changed, or a tool is missing or failed.
    """
    folder = Path(folder)
    chosen = verifier.load(read_manifest(folder).producer.target)
    return chosen.verify(
        folder,
        inputs_limit=inputs,
        tools=tools,
        timeout_s=timeout_s,
        waves=waves,
        progress=progress,
    )


def _module_of(
    model: GraphModule | Graph | Builder | str | Path,
) -> tuple[GraphModule, str | None]:
    """Return a model as a module, and the hash of its file if it is one."""
    if isinstance(model, GraphModule):
        return model, None
    if isinstance(model, Builder):
        model = freeze(model.graph, model.parameters)
    if isinstance(model, Graph):
        return GraphModule(model, Stage.HIR), None
    path = Path(model)
    return frontends.load(path), hashlib.sha256(path.read_bytes()).hexdigest()


def _options_of(target: Target, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - target's class
    """Return the target's options object.

    Raises:
        UsageError: The target has no such option.
    """
    fields = {field.name: field for field in dataclasses.fields(target.options)}
    values = dict(given)
    for name, value in given.items():
        if name not in fields:
            raise UsageError(
                f"has no option {name!r}",
                where=f"target {target.name!r}",
                hint=f"its options: {', '.join(fields)}",
            )
        if isinstance(value, str) and (parse := fields[name].metadata.get("parse")):
            values[name] = parse(value)
    return target.options(**values)
