"""Two networks on the same data: how far their outputs and layers are apart, and their accuracy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.figures import Closeness, Scores
from rlx.calibration.runner import Runner
from rlx.calibration.samples import read_samples
from rlx.drawing.notebook import report_html
from rlx.errors import UsageError
from rlx.ir.graph import Source
from rlx.ops.nn import NnClamp, NnRelu

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.calibration.samples import Data, Samples
    from rlx.ir import Array, Graph, Node, QuantParams, Value

    Numbers = npt.NDArray[Any]
    Pair = tuple[float, float]
    Progress = Callable[[str, int, int], None]

WORST: Final = 3
"""Layers that a report names as the ones that lose most."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The same layer in both networks.

    Attributes:
        name: Its name.
        place: Where it comes from, such as ``operator 3 CONV_2D``.
        op: The op in the first network.
        values: Its result in the first and the second network.
        clamps: Activations that one of the networks may have made part of the layer.
    """

    name: str
    place: str
    op: str
    values: tuple[Value, Value]
    clamps: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """How close a layer's results are in both networks."""

    name: str
    place: str
    op: str
    closeness: Closeness

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the layer."""
        return self.name, self.place

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        own = {"name": self.name, "place": self.place, "op": self.op}
        return own | self.closeness.as_json()


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What comparing two networks found.

    Attributes:
        samples: Samples compared.
        agreement: Share of samples for which both give the same class; None without classes.
        top1: Shares of correct classes, of the first and the second network; None without labels.
        auc: Areas under the receiver operating characteristic, where labels are 0 and 1; else None.
        reconstruction: Mean squared difference between input and output of both, where the output
            has the input's shape; else None.
        output: How close the first outputs are.
        layers: Layers with the same name in both, in order.
    """

    samples: int
    agreement: float | None
    top1: tuple[float, float] | None
    auc: tuple[float, float] | None
    reconstruction: tuple[float, float] | None
    output: Closeness
    layers: tuple[LayerFigures, ...]

    @property
    def worst(self) -> tuple[LayerFigures, ...]:
        """The layers with the lowest ratios of signal to noise, the lowest first."""
        ranked = sorted(self.layers, key=lambda layer: layer.closeness.sqnr_db)
        return tuple(ranked[:WORST])

    @property
    def drop(self) -> float:
        """What the second network loses, as a share.

        Of correct classes, and of AUC where there are two classes (whatever loses more: with few
        samples a worse network may have as many right by chance); of reconstruction; without labels
        of agreement, else of precision.
        """
        labelled = [pair for pair in (self.top1, self.auc) if pair is not None]
        if (self.reconstruction is not None and self.auc is not None) or not labelled:
            return self._unlabelled_drop()
        return max(before - after for before, after in labelled)

    def _unlabelled_drop(self) -> float:
        if self.reconstruction is not None:
            before, after = self.reconstruction
            return after / before - 1 if before else 0.0
        if self.agreement is not None:
            return 1 - self.agreement
        ratio = 10 ** (-self.output.sqnr_db / 20)
        return min(ratio, 1.0)

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures().items())
        return f"<Comparison: {figures}>"

    def _repr_html_(self) -> str:
        """Return the figures and the table of layers that notebooks show."""
        rows = [layer.as_json() for layer in self.layers]
        return report_html("Comparison of two networks", self.figures(), rows)

    def figures(self) -> dict[str, str]:
        """Return what is known of the whole as text, by name."""
        pairs = {"top-1": self.top1, "AUC": self.auc, "reconstruction error": self.reconstruction}
        known = {name: f"{a:.4g} and {b:.4g}" for name, (a, b) in _given(pairs).items()}
        if self.agreement is not None:
            known["agreement"] = f"{self.agreement:.2%}"
        ratio = f"{self.output.sqnr_db:.1f} dB"
        return {"samples": f"{self.samples:,}", **known, "SQNR of the output": ratio}

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "samples": self.samples,
            "agreement": self.agreement,
            "top1": _pair(self.top1),
            "auc": _pair(self.auc),
            "reconstruction": _pair(self.reconstruction),
            "drop": self.drop,
            "output": self.output.as_json(),
            "layers": [layer.as_json() for layer in self.layers],
            "worst": [layer.name for layer in self.worst],
        }


def _given(pairs: Mapping[str, Pair | None]) -> dict[str, Pair]:
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _pair(figures: tuple[float, float] | None) -> dict[str, float] | None:
    return None if figures is None else {"first": figures[0], "second": figures[1]}


def compare_graphs(
    first: Graph,
    second: Graph,
    data: Data,
    *,
    labels: npt.NDArray[Any] | None = None,
    what: str = "data",
    progress: Progress | None = None,
) -> Comparison:
    """Run two graphs on the same samples and return how far they are apart.

    Args:
        first: The reference, such as a float network.
        second: Such as the network that was quantized from it.
        data: As for :func:`rlx.calibration.samples.read_samples`, for the inputs of both.
        labels: A class for each sample, if they are not in ``data``.
        what: How messages call the data.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit, or the networks have outputs of different sizes.
    """
    samples = tuple(read_samples(g, data, what=what, labels=labels) for g in (first, second))
    if first.outputs[0].type.size != second.outputs[0].type.size:
        raise UsageError(
            f"the first outputs are {first.outputs[0].type} and {second.outputs[0].type}",
            where="compared models",
            hint="compare a model with one that was made of it",
        )
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
    runners = [
        Runner(graph, [graph.outputs[0], *(layer.values[k] for layer in matched)])
        for k, graph in enumerate((first, second))
    ]
    size = min(runner.batch for runner in runners)
    closeness, found = Closeness(), [Closeness() for _ in matched]
    scores, done = Scores(), 0
    batches = zip(samples[0].batches(size), samples[1].batches(size), strict=True)
    for inputs in batches:
        arrays = [runner.run_batch(given) for runner, given in zip(runners, inputs, strict=True)]
        count = len(arrays[0][0])
        outputs = tuple(
            reals(array[0], graph.outputs[0].type.quant).reshape(count, -1)
            for array, graph in zip(arrays, (first, second), strict=True)
        )
        closeness.add(*outputs)
        scores.add(
            (outputs[0], outputs[1]),
            None if samples[0].labels is None else samples[0].labels[done : done + count],
            _reconstructed(first, inputs[0], count),
        )
        for layer, one, a, b in zip(matched, found, arrays[0][1:], arrays[1][1:], strict=True):
            _add_layer(one, layer, a, b)
        done += count
        if progress is not None:
            progress("comparing", done, samples[0].count)
    figures = tuple(
        LayerFigures(layer.name, layer.place, layer.op, one)
        for layer, one in zip(matched, found, strict=True)
    )
    return _summary(scores, closeness, figures, classes=outputs[0].shape[1] > 1)


def _summary(
    scores: Scores, output: Closeness, layers: tuple[LayerFigures, ...], *, classes: bool
) -> Comparison:
    rebuilt = any(scores.reconstruction)
    n = scores.samples
    auc = (scores.auc(0), scores.auc(1)) if scores.two_classes else (None, None)
    labelled = scores.labelled and classes and not rebuilt
    return Comparison(
        samples=n,
        agreement=scores.agree / n if classes and not rebuilt else None,
        top1=(scores.right[0] / n, scores.right[1] / n) if labelled else None,
        auc=(auc[0], auc[1]) if auc[0] is not None and auc[1] is not None else None,
        reconstruction=(
            (scores.reconstruction[0] / n, scores.reconstruction[1] / n) if rebuilt else None
        ),
        output=output,
        layers=layers,
    )


def _reconstructed(graph: Graph, inputs: dict[str, Array], count: int) -> Numbers | None:
    """Return the inputs of a network whose output has the only input's shape, else None."""
    if len(graph.inputs) != 1 or graph.inputs[0].type.shape != graph.outputs[0].type.shape:
        return None
    (array,) = inputs.values()
    return reals(array, graph.inputs[0].type.quant).reshape(count, -1)


def _add_layer(closeness: Closeness, layer: Layer, a: Array, b: Array) -> None:
    first, second = (
        reals(array, value.type.quant) for array, value in zip((a, b), layer.values, strict=True)
    )
    for node in layer.clamps:
        first, second = (
            node.op.evaluate(np.asarray(array, np.float32))[0] for array in (first, second)
        )
    closeness.add(first, second)


def reals(array: Array, quant: QuantParams | None) -> Numbers:
    """Return the numbers that quantized values stand for; others as they are."""
    if quant is None:
        return np.asarray(array)
    scale, zero = np.asarray(quant.scale), np.asarray(quant.zero_point)
    if quant.axis is not None:
        shape = [1] * array.ndim
        shape[quant.axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    result: Numbers = (array.astype(np.float64) - zero) * scale
    return result


def matched_layers(first: Graph, second: Graph) -> list[Layer]:
    """Return the layers that both graphs have, in the order of the first.

    They have the same name and come from the same place; or the same name, where it is one
    layer's only.
    """
    mine, theirs = _by_place(first), _by_place(second)
    named = {name: value for (name, _), value in theirs.items()}
    users = first.users()
    counts = Counter(name for name, _ in mine)
    found = []
    for (name, place), value in mine.items():
        other = theirs.get((name, place)) or (named.get(name) if counts[name] == 1 else None)
        if other is None or other.type.size != value.type.size:
            continue
        op = value.node.op.name
        found.append(Layer(name, place, op, (value, other), _clamps(value, users)))
    return found


def _by_place(graph: Graph) -> dict[tuple[str, str], Value]:
    """Return the last result of each layer, by its name and where it comes from."""
    found: dict[tuple[str, str], Value] = {}
    for node in graph.nodes:
        if isinstance(node.op, Source) or not node.name or len(node.types) != 1:
            continue
        type_, key = node.types[0], (node.name, node.origin.location)
        if type_.is_static and (type_.dtype.is_float or type_.quant is not None):
            found.pop(key, None)
            found[key] = node.result
    return found


def _clamps(value: Value, users: dict[Value, list[Node]]) -> tuple[Node, ...]:
    """Return the clamping activations that alone read a value, one after the other."""
    clamps: list[Node] = []
    reading: Sequence[Node] = users[value]
    while len(reading) == 1 and isinstance(reading[0].op, NnRelu | NnClamp):
        clamps.append(reading[0])
        reading = users[reading[0].result]
    return tuple(clamps)
