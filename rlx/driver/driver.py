"""Steps of ``rlx emit``, from a model to an output folder.

Import, rewrite for the target, plan memory, emit, add golden vectors, write the folder at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from rlx.driver.boundary import Boundary
from rlx.driver.description import NETWORK, network_text
from rlx.driver.golden import check_golden, golden_vectors
from rlx.ir.hash import structural_hash
from rlx.ir.layer_names import with_named_layers
from rlx.ir.module import Stage
from rlx.ir.verify import verify
from rlx.passes import Observer, Policies, Step, fit, pipeline, unobserved, verifying
from rlx.passes.dead_code import DeadCode
from rlx.passes.quantize.islands import TabulateIslands
from rlx.passes.transforms.bind import check_bound
from rlx.support.files.outputs import Producer, write_folder
from rlx.support.version import __version__
from rlx.targets import claim, quantize_hint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import Array, Graph
    from rlx.ir.module import GraphModule
    from rlx.passes import DispatchReport
    from rlx.passes.boundaries import PortChange
    from rlx.support.files.golden import Golden
    from rlx.targets import Emission, Target


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model made ready for one target.

    Attributes:
        module: The graph; with a memory plan if the target makes one.
        dispatch: Report of the target on each op.
        changes: Inputs and outputs that are something else than in the model.
    """

    module: GraphModule
    dispatch: DispatchReport
    changes: tuple[PortChange, ...] = ()


def lower(
    module: GraphModule,
    target: Target,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    observe: Observer = unobserved,
    boundary: Boundary | None = None,
) -> Lowered:
    """Return ``module`` in the target's ops and planned; arguments as ``fit_to_target``.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        UnsupportedOpError: The target lacks an op that cannot be written in others.
    """
    options = target.options() if options is None else options
    fitted = fit_to_target(
        module, target, options=options, policies=policies, observe=observe, boundary=boundary
    )
    if not fitted.dispatch.ready:
        fitted.dispatch.require_ready(_advice(module, target, options, policies, fitted.dispatch))
    planned = target.plan(fitted.module, options)
    verifying(observe)(Step("plan"), planned)
    return replace(fitted, module=planned)


def _advice(
    module: GraphModule,
    target: Target,
    options: Any,  # noqa: ANN401 - the target's own class
    policies: Policies | None,
    refused: DispatchReport,
) -> str | None:
    """Return a hint: values of an option with which the target accepts the whole model, or none.

    Hints for single ops may lead in a circle: each architecture lacks another one. None where
    it is not about this option.
    """
    alternatives = target.alternatives(options)
    if alternatives is None:
        return None
    option, options_by_value = alternatives
    hints = [e.hint for e in refused.entries if e.op in refused.lacking]
    if not any(option in (hint or "") for hint in hints):
        return None
    lacking = {
        name: fit_to_target(module, target, options=other, policies=policies).dispatch.lacking
        for name, other in options_by_value.items()
    }
    ready = [name for name, ops in lacking.items() if not ops]
    if ready:
        return f"use {option} {' or '.join(ready)}"
    each = "; ".join(
        f"{name} lacks {', '.join(dict.fromkeys(ops))}" for name, ops in lacking.items()
    )
    return each and f"change the model: no {option} has all of its ops, {each}"


def step_names(target: Target) -> tuple[str, ...]:
    """Return the names of the steps that an observer of ``lower`` may be called with."""
    names = pipeline(target.pipeline).names
    return ("given", "ports", TabulateIslands.name, *names, "fit", "plan")


def fit_to_target(
    module: GraphModule,
    target: Target,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    observe: Observer = unobserved,
    boundary: Boundary | None = None,
) -> Lowered:
    """Return ``module`` simplified and, where possible, in the target's ops; without a plan.

    Args:
        module: The imported model.
        target: The target.
        options: Instance of ``target.options``; None for the defaults.
        policies: Ops that are written in others although the target has them, or never.
        observe: Is called with each step and its result.
        boundary: Inputs and outputs of the program, if they are known already.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        QuantizationError: Inputs or outputs cannot have the types that the options ask for.
        UnsupportedOpError: The conversion of an input or output cannot be removed.
    """
    check_bound(module.graph)
    observe(Step("given"), module)
    module = with_named_layers(module)
    options = target.options() if options is None else options
    boundary = boundary or Boundary.of(module.graph, target.ports(options))
    opened = _observed("ports", boundary.opened(module), module, observe)
    tabled = _observed(TabulateIslands.name, _tabulate_islands(opened), opened, observe)
    simplified = pipeline(target.pipeline).run(tabled, observe=observe)
    advice = cache(partial(quantize_hint, module.graph))
    fitting = fit(simplified.graph, target.name, claim(target, options, advice), policies)
    fitted = replace(simplified, graph=DeadCode().apply(fitting.graph), stage=Stage.MIR)
    observe(Step("fit"), fitted)
    if fitting.report.ready:
        verify(fitted, where="after pass fit")
    return Lowered(fitted, fitting.report, boundary.changes)


def _tabulate_islands(module: GraphModule) -> GraphModule:
    """Return a network whose float ops between integer ones are tables where they can be."""
    graph = TabulateIslands().apply(module.graph)
    return module if graph is module.graph else replace(module, graph=graph)


def _observed(
    name: str, module: GraphModule, before: GraphModule, observe: Observer
) -> GraphModule:
    """Return the result of a step, after it was observed and verified if it changed something."""
    if module is not before:
        verifying(observe)(Step(name), module)
    return module


def golden_for(
    graph: Graph,
    target: Target,
    options: Any = None,  # noqa: ANN401 - the target's own class
    *,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
) -> Golden:
    """Return golden vectors of the program of ``target``; see :func:`golden_vectors`."""
    check_bound(graph)
    options = target.options() if options is None else options
    return golden_vectors(Boundary.of(graph, target.ports(options)), vectors, frames)


def _with_port_changes(emission: Emission, changes: Sequence[PortChange]) -> Emission:
    """Return an emission whose report and manifest list the changed inputs and outputs."""
    if not changes:
        return emission
    lines = [str(change) for change in changes]
    return replace(
        emission,
        report={**emission.report, "ports": lines},
        facts={**emission.facts, "ports": lines},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A model compiled for a target, not written yet.

    Attributes:
        model: The model.
        target: The target.
        options: Instance of ``target.options``.
        policies: Policies of single ops, or None.
        module: The graph in the target's ops; with a memory plan if the target makes one.
        emission: Files, figures and facts of the target.
        golden: Golden vectors of the emitted program.
    """

    model: GraphModule
    target: Target
    options: Any
    policies: Policies | None
    module: GraphModule
    emission: Emission
    golden: Golden

    def files(self) -> dict[str, str | bytes]:
        """Return the content of each file of the output folder by relative path."""
        ports = self.target.ports(self.options)
        described = {NETWORK: network_text(self.module, self.emission, ports)}
        files = {**self.emission.files, **described, **self.golden.files()}
        if self.emission.vector_files is not None:
            files |= self.emission.vector_files(self.golden)
        return files

    def producer(self, source_sha256: str | None) -> Producer:
        """Return the entries of the manifest: model, options and facts.

        Args:
            source_sha256: Hash of the model file; None if the model was made by hand.
        """
        model = self.model
        return Producer(
            rlx_version=__version__,
            target=self.target.name,
            input_sha256=source_sha256,
            options={k: _json_value(v) for k, v in asdict(self.options).items() if v is not None},
            facts={
                "model_hash": structural_hash(model.graph),
                "reference": asdict(model.reference) if model.reference else None,
                **({"policies": self.policies.to_dict()} if self.policies else {}),
                **self.emission.facts,
            },
        )

    def write(self, folder: Path, *, source_sha256: str | None = None, force: bool = False) -> None:
        """Write the output folder.

        Args:
            folder: Appears by one rename, complete, or not at all.
            source_sha256: Hash of the model file, for the manifest; None if made by hand.
            force: Replace a folder that rlx made before.

        Raises:
            OutputError: The folder exists and was not made by rlx, or cannot be written.
        """
        write_folder(folder, self.files(), producer=self.producer(source_sha256), force=force)


def compile(
    module: GraphModule,
    target: Target,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
    golden: Golden | None = None,
    observe: Observer = unobserved,
) -> Compiled:
    """Return the files of ``target`` for ``module``, with golden vectors. Nothing is written.

    Args:
        module: The imported model.
        target: The target.
        options: Instance of ``target.options``; None for the defaults.
        policies: Ops that are written in others although the target has them, or never.
        vectors: Arrays of the user for golden vectors, in a form that :func:`golden_vectors`
            accepts; None for random inputs.
        frames: Number of golden vectors; None for all given, or a number that suits the graph.
        golden: Golden vectors of the emitted program that were made already.
        observe: Is called with each step and its result, the plan last.

    Raises:
        RlxError: Any error of the steps.
    """
    check_bound(module.graph)
    options = target.options() if options is None else options
    boundary = Boundary.of(module.graph, target.ports(options))
    if golden is None:
        golden = golden_vectors(boundary, vectors, frames)
    check_golden(boundary, golden)
    lowered = lower(
        module, target, options=options, policies=policies, observe=observe, boundary=boundary
    )
    emission = _with_port_changes(target.emit(lowered.module, options), boundary.changes)
    return Compiled(
        model=module, target=target, options=options, policies=policies,
        module=lowered.module, emission=emission, golden=golden,
    )  # fmt: skip


def emit(
    module: GraphModule,
    target: Target,
    folder: Path,
    *,
    source_sha256: str | None = None,
    force: bool = False,
    **settings: Any,  # noqa: ANN401 - those of `compile`
) -> Emission:
    """Compile ``module`` for ``target``, write the output folder, and return the emission.

    Args:
        module: The imported model.
        target: The target.
        folder: Appears by one rename, complete, or not at all.
        source_sha256: Hash of the model file, recorded in the manifest; None if made by hand.
        force: Replace a folder that rlx made before.
        settings: As for :func:`compile`.

    Raises:
        RlxError: Any error of the steps.
    """
    compiled = compile(module, target, **settings)
    compiled.write(folder, source_sha256=source_sha256, force=force)
    return compiled.emission


def _json_value(value: object) -> object:
    """Return an option as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(k): _json_value(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_json_value(v) for v in value]
    if isinstance(value, Enum):
        return value.value
    return value
