"""Two networks on the same data: how far their outputs and layers are apart, and their accuracy.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir.inspect import printable
from rlx.metrics.classes import ClassForm, classes_of
from rlx.metrics.comparison_result import Comparison, LayerFigures, OutputFigures
from rlx.metrics.figures import Closeness, Scores
from rlx.metrics.node_match import matched_layers
from rlx.metrics.sides import GraphSide, match_outputs
from rlx.ops.numbers import reals
from rlx.passes.quantize.known_ranges import known_params
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.scheme import range_of
from rlx.samples.batches import read_samples
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph
    from rlx.metrics.node_match import LayerMatch
    from rlx.metrics.sides import OutputSide, Side
    from rlx.passes.quantize.masks import Mask
    from rlx.samples.batches import Samples
    from rlx.samples.given import Inputs

    Numbers = npt.NDArray[Any]
    Progress = Callable[[str, int, int], None]


def compare_graphs(
    first: Graph,
    second: Graph,
    data: Inputs,
    *,
    labels: npt.NDArray[Any] | None = None,
    what: str = "data",
    progress: Progress | None = None,
) -> Comparison:
    """Run two graphs on the same samples and return how far they are apart.

    Args:
        first: The reference, such as a float network.
        second: Such as the network that was quantized from it.
        data: As for :func:`rlx.samples.batches.read_samples`, for the inputs of both.
        labels: A class for each sample, if they are not in ``data``.
        what: Name of the data in messages.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit, or the networks have outputs of different sizes.
    """
    samples = tuple(read_samples(g, data, what=what, labels=labels) for g in (first, second))
    return compare_on(first, second, samples, progress=progress)


def compare_on(
    first: Graph,
    second: Graph,
    samples: tuple[Samples, Samples] | tuple[Samples, ...],
    *,
    layers: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Compare as :func:`compare_graphs`, on samples that were read for each graph.

    Args:
        first: The reference.
        second: The other network.
        samples: For the first and the second.
        layers: Whether to compare the layers too.
        progress: Called with a text, samples done and all samples.
    """
    matched = matched_layers(first, second) if layers else []
    a, b = (
        GraphSide(graph, samples[k], [layer.values[k] for layer in matched])
        for k, graph in enumerate((first, second))
    )
    return compare_sides(a, b, matched, labels=samples[0].labels, progress=progress)


def compare_sides(
    a: Side,
    b: Side,
    matched: Sequence[LayerMatch] = (),
    *,
    labels: npt.NDArray[np.int64] | None = None,
    partial: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two sides on the same number of samples.

    Args:
        a: The reference.
        b: The other one.
        matched: The nodes that both watch, in this order.
        labels: A class for each sample.
        partial: Whether one side may have only some of the outputs, by name.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: Outputs cannot be compared, or the sides have different numbers of samples.
    """
    pairs = match_outputs(a.ports, b.ports, partial=partial)
    _require_same_count(a, b)
    size = min(a.batch, b.batch)
    closeness = [Closeness() for _ in pairs]
    nodes = [Closeness() for _ in matched]
    masking = masks(a.graph) if matched and a.graph is not None else {}
    classes = [classes_of(a, i, labelled=labels is not None) for i, _ in pairs]
    main = next((k for k, pair_closeness in enumerate(classes) if pair_closeness is not None), 0)
    rebuilds = not main and (classes[0] is None or classes[0].form is ClassForm.LARGEST)
    scores, count_so_far = Scores(), 0
    for (inputs, left), (_, right) in zip(a.batches(size), b.batches(size), strict=True):
        count = len(left[0])
        outputs = [_output_pair((a.ports[i], left[i]), (b.ports[k], right[k])) for i, k in pairs]
        for pair_closeness, output_classes, (x, y) in zip(closeness, classes, outputs, strict=True):
            pair_closeness.add(x, y)
            if output_classes is not None:
                output_classes.add(x, y)
        flat = outputs[main][0].reshape(count, -1), outputs[main][1].reshape(count, -1)
        part = None if labels is None else labels[count_so_far : count_so_far + count]
        scores.add(flat, part, _reconstructed(a.graph, inputs, count) if rebuilds else None)
        arrays = zip(left[len(a.ports) :], right[len(b.ports) :], strict=True)
        for layer, pair_closeness, (x, y) in zip(matched, nodes, arrays, strict=True):
            _add_layer(pair_closeness, layer, x, y, masking.get(layer.values[0]))
        count_so_far += count
        if progress is not None:
            progress("comparing", count_so_far, a.count)
    return _summary(
        scores,
        tuple(
            OutputFigures(a.ports[i].name, pair_closeness, classes=output_classes, span=_span(a, i))
            for (i, _), pair_closeness, output_classes in zip(
                pairs, closeness, classes, strict=True
            )
        ),
        _layer_figures(matched, nodes),
        main=main,
    )


def _require_same_count(a: Side, b: Side) -> None:
    if a.count != b.count:
        raise UsageError(
            f"there are {a.count} and {b.count} samples",
            where="compared models",
            hint="give the outputs for the same samples",
        )


def _layer_figures(
    layers: Sequence[LayerMatch], figures: Sequence[Closeness]
) -> tuple[LayerFigures, ...]:
    return tuple(
        LayerFigures(
            layer.name, layer.origin, layer.op, one, layer.key, layer.origins, layer.moves_only
        )
        for layer, one in zip(layers, figures, strict=True)
    )


def _span(side: Side, index: int) -> float:
    """Return the magnitude that an output reaches by definition, 0 if nothing says it."""
    params = None if side.graph is None else known_params(side.graph.outputs[index])
    return 0.0 if params is None else max(map(abs, range_of(params)))


def _output_pair(
    a: tuple[OutputSide, Array], b: tuple[OutputSide, Array]
) -> tuple[Numbers, Numbers]:
    """Return an output of both sides: unchanged where the types are equal, else as floats."""
    (a_port, x), (other, y) = a, b
    if np.size(x) != np.size(y):
        raise UsageError(
            f"the arrays are {list(x.shape)} and {list(y.shape)}",
            where=f"output {printable(a_port.name)!r}",
            hint="give [samples, *shape of the output]",
        )
    quants = [None if p.type is None else p.type.quant for p in (a_port, other)]
    return reals(x, quants[0]), reals(y, quants[1])


def _summary(
    scores: Scores,
    outputs: tuple[OutputFigures, ...],
    layers: tuple[LayerFigures, ...],
    *,
    main: int,
) -> Comparison:
    rebuilt = any(scores.reconstruction)
    n = scores.samples
    auc = (scores.auc(0), scores.auc(1)) if scores.two_classes else (None, None)
    labelled = scores.labelled and outputs[main].classes is not None and not rebuilt
    if rebuilt:
        outputs = (replace(outputs[0], classes=None), *outputs[1:])
    agreements = [o.agreement for o in outputs if o.agreement is not None]
    return Comparison(
        samples=n,
        agreement=min(agreements, default=None),
        top1=(scores.right[0] / n, scores.right[1] / n) if labelled else None,
        auc=(auc[0], auc[1]) if auc[0] is not None and auc[1] is not None else None,
        reconstruction=(
            (scores.reconstruction[0] / n, scores.reconstruction[1] / n) if rebuilt else None
        ),
        outputs=outputs,
        layers=layers,
        main=main,
    )


def _reconstructed(graph: Graph | None, inputs: Mapping[str, Array], count: int) -> Numbers | None:
    """Return the inputs of a network whose output has the only input's shape, else None."""
    if graph is None or len(graph.inputs) != 1:
        return None
    if graph.inputs[0].type.shape != graph.outputs[0].type.shape:
        return None
    (array,) = inputs.values()
    return reals(array, graph.inputs[0].type.quant).reshape(count, -1)


def _add_layer(
    closeness: Closeness, layer: LayerMatch, a: Array, b: Array, mask: Mask | None
) -> None:
    """Compare a layer's results, without elements that only mask others."""
    first, second = (
        reals(array, value.type.quant) for array, value in zip((a, b), layer.values, strict=True)
    )
    if mask is not None:
        masked = mask.where(first)
        first, second = (np.where(masked, 0, array) for array in (first, second))
    for node in layer.clamps:
        first, second = (
            node.op.evaluate(np.asarray(array, np.float32))[0] for array in (first, second)
        )
    closeness.add(first, second)
