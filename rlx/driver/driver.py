"""From a model to an output folder: the steps that ``rlx emit`` takes.

Import, rewrite for the target, plan memory, emit, add golden vectors, write the folder at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from rlx.driver.description import NETWORK, network_text
from rlx.driver.reference import fits, given_inputs, random_inputs, reference_outputs
from rlx.ir.hash import structural_hash
from rlx.ir.module import Stage
from rlx.ir.verify import verify
from rlx.passes import Observer, Policies, Step, fit, pipeline, unobserved, verifying
from rlx.passes.boundaries import PortKind, with_ports
from rlx.passes.dead_code import DeadCode
from rlx.passes.quantize.islands import TabulateIslands
from rlx.passes.transforms.bind import check_bound
from rlx.samples import vectors_for
from rlx.samples.layout import channels_last, is_channels_first
from rlx.support.files.outputs import Producer, write_folder
from rlx.support.version import __version__
from rlx.targets import claim, quantize_hint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import Array, Graph
    from rlx.ir.module import GraphModule
    from rlx.passes import DispatchReport
    from rlx.passes.boundaries import PortChange, Ported
    from rlx.support.files.golden import Golden
    from rlx.targets import Emission, Target


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model made ready for one target.

    Attributes:
        module: The graph; with a memory plan if the target makes one.
        dispatch: What happened to each op.
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
) -> Lowered:
    """Return ``module`` in the target's ops and planned; arguments as ``fit_to_target``.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        UnsupportedOpError: The target lacks an op that cannot be written in others.
    """
    options = target.options() if options is None else options
    fitted = fit_to_target(module, target, options=options, policies=policies, observe=observe)
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
    """Return which values of an option make the target take the whole model, or that none does.

    What is said of single ops may lead in a circle: each architecture lacks another one. None where
    it is not about this option.
    """
    alternatives = target.alternatives(options)
    if alternatives is None:
        return None
    option, others = alternatives
    hints = [e.hint for e in refused.entries if e.op in refused.lacking]
    if not any(option in (hint or "") for hint in hints):
        return None
    lacking = {
        name: fit_to_target(module, target, options=other, policies=policies).dispatch.lacking
        for name, other in others.items()
    }
    ready = [name for name, ops in lacking.items() if not ops]
    if ready:
        return f"use {option} {' or '.join(ready)}"
    each = "; ".join(
        f"{name} lacks {', '.join(dict.fromkeys(ops))}" for name, ops in lacking.items()
    )
    return each and f"change the model: no {option} has all of its ops, {each}"


def step_names(target: Target) -> tuple[str, ...]:
    """Return the names of the steps that an observer of ``lower`` may be given."""
    names = pipeline(target.pipeline).names
    return ("given", "ports", TabulateIslands.name, *names, "fit", "plan")


def fit_to_target(
    module: GraphModule,
    target: Target,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    observe: Observer = unobserved,
) -> Lowered:
    """Return ``module`` simplified and, as far as it goes, in the target's ops; without a plan.

    Args:
        module: The imported model.
        target: Where it goes.
        options: Instance of ``target.options``; None for the defaults.
        policies: Which ops are written in others although the target has them, or never.
        observe: Is given each step and its result.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        QuantizationError: Inputs or outputs cannot be what the options want.
        UnsupportedOpError: The conversion of an input or output cannot be taken off.
    """
    original, seen = module.graph, verifying(observe)
    check_bound(original)
    observe(Step("given"), module)
    options = target.options() if options is None else options
    ports = target.ports(options)
    kind = PortKind.INT8 if ports.inverts else ports.kind
    ported = with_ports(module.graph, kind, channels_last=ports.channels_last)
    if ported.changes:
        module = replace(module, graph=ported.graph)
        seen(Step("ports"), module)
    tables = TabulateIslands().apply(module.graph)
    if tables is not module.graph:
        module = replace(module, graph=tables)
        seen(Step(TabulateIslands.name), module)
    simplified = pipeline(target.pipeline).run(module, observe=observe)
    advice = cache(partial(quantize_hint, original))
    found = fit(simplified.graph, target.name, claim(target, options, advice), policies)
    fitted = replace(simplified, graph=DeadCode().apply(found.graph), stage=Stage.MIR)
    observe(Step("fit"), fitted)
    if found.report.ready:
        verify(fitted, where="after pass fit")
    changes = ported_for(original, target, options).changes if ports.inverts else ported.changes
    return Lowered(fitted, found.report, changes)


def ported_for(graph: Graph, target: Target, options: Any = None) -> Ported:  # noqa: ANN401
    """Return ``graph`` with the inputs and outputs of what ``target`` emits.

    Args:
        graph: The model.
        target: Where it goes.
        options: Instance of ``target.options``; None for the defaults.

    Raises:
        QuantizationError: Inputs or outputs cannot be what the options want.
        UnsupportedOpError: The conversion of an input or output cannot be taken off.
    """
    options = target.options() if options is None else options
    ports = target.ports(options)
    return with_ports(graph, ports.kind, channels_last=ports.channels_last)


def golden_for(
    graph: Graph,
    target: Target,
    options: Any = None,  # noqa: ANN401 - the target's own class
    *,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
) -> Golden:
    """Return golden vectors of the types that the emitted program takes and gives.

    Args:
        graph: The model.
        target: Where it goes.
        options: Instance of ``target.options``; None for the defaults.
        vectors: Arrays of the user, as the model takes them or as the emitted program does (see
            :func:`rlx.driver.reference.given_inputs`); floats for quantized inputs are quantized,
            and classes (one whole number for each sample) left out. None for random inputs.
        frames: How many; None for all given, or a number that suits the graph.

    Raises:
        UsageError: The vectors do not fit.
        QuantizationError: An input is neither an integer nor quantized at once.
    """
    check_bound(graph)
    ported = ported_for(graph, target, options)
    if vectors is None:
        found = reference_outputs(ported.graph, random_inputs(ported.graph, frames))
        return replace(found, ported=True)
    vectors, _ = vectors_for(graph, vectors)
    if not fits(graph, vectors) and fits(ported.graph, vectors):
        turned = _turned(vectors, graph, ported.graph)
        return replace(given_inputs(ported.graph, turned, frames), ported=True)
    return _ported_golden(given_inputs(graph, vectors, frames), graph, ported)


def _turned(vectors: Mapping[str, Array], graph: Graph, ported: Graph) -> Mapping[str, Array]:
    """Return vectors of an emitted program, channels last also where they are as in the model."""
    found = dict(vectors)
    pairs = zip(graph.inputs, ported.inputs, strict=True)
    for old, new in [*pairs, *zip(graph.outputs[:1], ported.outputs[:1], strict=True)]:
        wanted = new.type.static_shape
        name = new.name if new in ported.inputs else "y"
        name = "x" if name not in found and len(ported.inputs) == 1 and name != "y" else name
        array = found.get(name)
        if array is None or old.type.shape == new.type.shape:
            continue
        if is_channels_first(array.shape, wanted):
            found[name] = channels_last(array, wanted)
    return found


def _ported_golden(golden: Golden, graph: Graph, ported: Ported) -> Golden:
    """Return vectors of the model, or of the emitted program, as those of the latter."""
    given = [(array.dtype, array.shape[1:]) for array in golden.inputs]
    wanted = [(v.type.dtype.numpy, v.type.static_shape) for v in graph.inputs]
    if not ported.changes or given != wanted:
        return golden
    found = reference_outputs(ported.graph, ported.converted(golden.inputs))
    return replace(found, ported=True)


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


def emit(
    module: GraphModule,
    target: Target,
    folder: Path,
    *,
    options: Any = None,  # noqa: ANN401 - the target's own class
    policies: Policies | None = None,
    golden: Golden | None = None,
    source_sha256: str | None = None,
    force: bool = False,
    observe: Observer = unobserved,
) -> Emission:
    """Write everything that ``target`` makes of ``module`` to ``folder``, and return it.

    Args:
        module: The imported model.
        target: Where it goes.
        folder: Appears by one rename, complete, or not at all.
        options: Instance of ``target.options``; None for the defaults.
        policies: Which ops are written in others although the target has them, or never.
        golden: Vectors stored beside the result, of the types that the model takes and gives or
            that the emitted program does (see :func:`golden_for`); None for random inputs.
        source_sha256: Hash of the model file, recorded in the manifest; None if made by hand.
        force: Replace a folder that rlx made before.
        observe: Is given each step and its result, the plan last.

    Raises:
        RlxError: What the steps raise.
    """
    options = target.options() if options is None else options
    lowered = lower(module, target, options=options, policies=policies, observe=observe)
    ported = ported_for(module.graph, target, options)
    if golden is None:
        golden = golden_for(module.graph, target, options)
    elif not golden.ported:
        golden = _ported_golden(golden, module.graph, ported)
    emission = _with_port_changes(target.emit(lowered.module, options), lowered.changes)
    producer = Producer(
        rlx_version=__version__,
        target=target.name,
        input_sha256=source_sha256,
        options={k: _json_value(v) for k, v in asdict(options).items() if v is not None},
        facts={
            "model_hash": structural_hash(module.graph),
            "reference": asdict(module.reference) if module.reference else None,
            **({"policies": policies.to_dict()} if policies else {}),
            **emission.facts,
        },
    )
    described = {NETWORK: network_text(lowered.module, emission)}
    files = {**emission.files, **described, **golden.files()}
    if emission.vector_files is not None:
        files |= emission.vector_files(golden)
    write_folder(folder, files, producer=producer, force=force)
    return emission


def _json_value(value: object) -> object:
    """Return an option as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(k): _json_value(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_json_value(v) for v in value]
    if isinstance(value, Enum):
        return value.value
    return value
