"""From a graph of integer ops to the stages of a pipeline, one for each op."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rlx.ir import DType
from rlx.support.errors import EmitError
from rlx_fpga.architectures.dataflow.early import needs_input
from rlx_fpga.architectures.dataflow.lower import Alias, plan_of
from rlx_fpga.architectures.instances import named_instances
from rlx_fpga.architectures.refusals import INT8_INPUT
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Graph, Node, Value
    from rlx_fpga.architectures.dataflow.lower import LayerHardware, Plan
    from rlx_fpga.explore.fold import Fold


@dataclass(frozen=True)
class PipelineStage:
    """An op of the pipeline, before its folding is chosen.

    Attributes:
        name: Identifier, unique in the pipeline.
        layer_name: Name of the layer (see ``rlx.ir.layer_names``), of which the identifier is made.
        node: The op.
        plan: Its possible implementations.
        sources: For each operand, the value whose stream it is (aliases resolved).
    """

    name: str
    layer_name: str
    node: Node
    plan: Plan
    sources: tuple[Value, ...]

    def choices(self, *, logic: bool, few: int, packing: Packing, store: Store) -> list[Fold]:
        """Return the foldings to choose from.

        Args:
            logic: Include foldings with LUT multipliers, and with weights in LUTs.
            few: Include LUT multipliers for layers of at most :data:`FEW_PRODUCTS` products.
            packing: Packing of two products in a DSP slice of the device.
            store: Storage of weights on the device.
        """
        key = logic, few, packing, store
        if key not in self._choices:
            plain = [fold.stored_in(store) for fold in self.folds]
            folds = [fold.packed(packing) for fold in plain]
            folds += [
                fold.with_lut_multipliers()
                for fold in plain
                if fold.products and (logic or fold.products <= few)
            ]
            if logic:
                folds += [fold.stored_in(Store.TABLES) for fold in folds if fold.weight_bits]
            self._choices[key] = folds
        return self._choices[key]

    @cached_property
    def _choices(self) -> dict[tuple[bool, int, Packing, Store], list[Fold]]:
        """Choices that have been made."""
        return {}

    @cached_property
    def folds(self) -> list[Fold]:
        """Foldings of the plan."""
        return self.plan.folds()

    @cached_property
    def _layers(self) -> dict[Fold, LayerHardware]:
        """Layers that have been built."""
        return {}

    def layer(self, fold: Fold) -> LayerHardware:
        """Return the layer for a folding: the same one for the same folding."""
        if fold not in self._layers:
            self._layers[fold] = self.plan.build(fold)
        return self._layers[fold]


@dataclass(frozen=True, slots=True)
class StagedGraph:
    """The stages of a graph, before any folding is chosen.

    Attributes:
        graph: The graph.
        stages: In the order of the graph.
        outputs: For each output of a run, the value whose stream it is.
        states: For each state, the value whose stream is its next value.
    """

    graph: Graph
    stages: tuple[PipelineStage, ...]
    outputs: tuple[Value, ...]
    states: Mapping[Value, Value] = field(default_factory=dict)

    def choices(
        self,
        *,
        logic: bool = False,
        few: int = 0,
        packing: Packing = Packing.NONE,
        store: Store = Store.FREE,
    ) -> dict[str, list[Fold]]:
        """Return the foldings to choose from by name of the stage; see its ``choices``."""
        return {
            stage.name: stage.choices(logic=logic, few=few, packing=packing, store=store)
            for stage in self.stages
        }


MAX_INPUT_LANES: Final = 8_192
"""Maximum int8 values in a beat of an input: 65,536 data wires."""


def staged_graph(graph: Graph) -> StagedGraph:
    """Return the stages of ``graph``.

    Raises:
        UnsupportedOpError: An op lacks a rule, or cannot be built in its present form.
        EmitError: Inputs, outputs or parameters cannot become streams.
    """
    if graph.params:
        names = ", ".join(repr(param.name) for param in graph.params)
        raise EmitError(
            f"expected bound parameters, got unbound {names}",
            hint="bind them: rlx.bind(module, values), or rlx import MODEL --weights FILE",
        )
    for value in graph.inputs:
        _check_input(value)
    stream_of_value: dict[Value, Value] = {value: value for value in graph.inputs}
    stages: list[PipelineStage] = []
    instances = named_instances(graph)
    for node in graph.op_nodes:
        plan = plan_of(node)
        sources = tuple(stream_of_value[operand] for operand in plan.operands)
        if isinstance(plan, Alias):
            stream_of_value[node.result] = sources[0]
            continue
        layer, name = instances[node]
        stages.append(PipelineStage(name, layer, node, plan, sources))
        stream_of_value[node.result] = node.result
    _check_outputs(graph, stream_of_value)
    outputs = tuple(stream_of_value[value] for _, value in graph.run_outputs)
    states = {state: stream_of_value[after] for state, after in graph.states}
    return StagedGraph(graph, tuple(stages), outputs, states)


def _check_outputs(graph: Graph, stream_of_value: Mapping[Value, Value]) -> None:
    """Refuse outputs without a stream, and those that come before their frame."""
    for value in graph.outputs:
        if value not in stream_of_value:
            raise EmitError(
                "expected a computed value, got a constant",
                where=f"output {value.node.label}",
                hint="remove it from the outputs of the model: it is the same for every input",
            )
    for name, value in graph.run_outputs:
        if not needs_input(value):
            raise EmitError(
                "expected an output that depends on an input, got one of states alone: it would"
                " come before the frame",
                where=f"output {name!r}",
                hint="remove it from the outputs of the model",
            )


def _check_input(value: Value) -> None:
    """Refuse an input that no stream can carry."""
    type_ = value.type
    if type_.dtype is not DType.I8 or not type_.is_static:
        raise EmitError(
            f"expected an int8 tensor of fixed shape, got {type_}",
            where=f"input {value.name!r}",
            hint=INT8_INPUT,
        )
    # All channels of a pixel come in one beat.
    if type_.rank > 2 and (lanes := type_.static_shape[-1]) > MAX_INPUT_LANES:
        raise EmitError(
            f"expected at most {MAX_INPUT_LANES} int8 values in a beat, got {lanes}",
            where=f"input {value.name!r}",
            hint="use fewer channels and more pixels, or --architecture engine",
        )
