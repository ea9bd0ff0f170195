"""The way of a graph to a backend: the steps between ``Session.compile`` and a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.ir.layer_names import with_layer_names
from rlx.ir.module import GraphModule, Stage
from rlx.ir.regions import all_nodes
from rlx.ir.verify import verify
from rlx.ops.nn import NnOp
from rlx.passes import Observer, Step, pipeline, unobserved, verifying
from rlx.passes.fusion import fuse
from rlx.passes.precision import apply_precision
from rlx.passes.split_params import split_params
from rlx.runtime.backend import fit_to_backend

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.passes import DispatchReport
    from rlx.passes.fusion import FusionReport
    from rlx.passes.precision import PrecisionReport
    from rlx.runtime.backend import Backend
    from rlx.runtime.options import CompileOptions


STEPS: Final = (
    "given", "fit", *pipeline("host").names, "precision", "fuse", "split-params", "plan",
)  # fmt: skip
"""Names of the steps that an observer of ``lower`` may be called with."""


@dataclass(frozen=True, slots=True)
class OptimizedModule:
    """A graph in the ops that a backend runs, simplified and fused; nothing has a place yet.

    Attributes:
        module: The graph.
        dispatch: Report of the backend on each op.
        precision: Report of the types that ops are computed in; None if all is computed as written.
        fusion: Report of fusion, and of its refusals; None if the options fuse nothing.
    """

    module: GraphModule
    dispatch: DispatchReport
    precision: PrecisionReport | None
    fusion: FusionReport | None


@dataclass(frozen=True, slots=True)
class HostModule:
    """A graph made ready for a backend.

    Attributes:
        module: The graph at stage LIR: with an order of execution and a place for every value.
        prologue: Computes parameters of the module from those of the given graph; it is run when
            these are set. None if there is nothing to compute.
        dispatch: As in ``OptimizedModule``.
        precision: As in ``OptimizedModule``.
        fusion: As in ``OptimizedModule``.
    """

    module: GraphModule
    prologue: Graph | None
    dispatch: DispatchReport
    precision: PrecisionReport | None = None
    fusion: FusionReport | None = None


def lower(
    graph: Graph, backend: Backend, options: CompileOptions, *, observe: Observer = unobserved
) -> HostModule:
    """Return ``graph`` as ``backend`` compiles it.

    After ``optimize``, nodes that depend on parameters alone are split off, and memory is planned.

    Args:
        graph: A graph of static shapes.
        backend: Backend that will run it.
        options: Options of compilation.
        observe: Is called with each step and its result, the plan last.

    Raises:
        UnsupportedOpError: The backend lacks an op that cannot be written in others.
        VerifyError: A step broke the graph.
    """
    optimized = optimize(graph, backend, options, observe=observe)
    split = split_params(optimized.module.graph)
    main = GraphModule(split.main, _stage(split.main))
    verifying(observe)(Step("split-params"), main)
    planned = backend.plan(main, options)
    verify(planned, where="after planning")
    observe(Step("plan"), planned)
    return HostModule(
        planned, split.prologue, optimized.dispatch, optimized.precision, optimized.fusion
    )


def optimize(
    graph: Graph, backend: Backend, options: CompileOptions, *, observe: Observer = unobserved
) -> OptimizedModule:
    """Return ``graph`` in as few ops as ``backend`` runs it in.

    The steps: ops that the backend lacks are written in others, constants folded, duplicate and
    unread nodes removed, element types narrowed and patterns fused as the options say.

    Args:
        graph: A graph; sizes may be symbols.
        backend: Backend that will run it.
        options: Options of compilation.
        observe: Is called with each step and its result.

    Raises:
        UnsupportedOpError: The backend lacks an op that cannot be written in others.
        VerifyError: A step broke the graph.
    """
    observe_verified = verifying(observe)
    observe(Step("given"), GraphModule(graph, Stage.HIR))
    fitted = fit_to_backend(with_layer_names(graph), backend, options.policies)
    fitted.report.require_ready()
    module = GraphModule(fitted.graph, _stage(fitted.graph))
    observe_verified(Step("fit"), module)
    if options.simplify:
        module = pipeline("host").run(module, observe=observe)
    precision = None
    if options.precision is not None:
        narrowed = apply_precision(module.graph, options.precision)
        module, precision = module.with_graph(narrowed.graph), narrowed.report
        observe_verified(Step("precision"), module)
    fusion = None
    if options.fusion is not None:
        fused, fusion = fuse(module.graph, options.fusion, backend.claims)
        module = module.with_graph(fused)
        observe_verified(Step("fuse"), module)
    return OptimizedModule(module, fitted.report, precision, fusion)


def _stage(graph: Graph) -> Stage:
    """Return the stage of a fitted graph: a backend may run model-level ops."""
    return Stage.HIR if any(isinstance(n.op, NnOp) for n in all_nodes(graph)) else Stage.MIR
