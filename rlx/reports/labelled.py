"""Correct classes of an emitted network on labelled samples.

Tests: tests/unit/samples/test_layout.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir import DType, Graph, Origin, QuantParams, TensorType
from rlx.metrics.inference import run
from rlx.metrics.inference.accuracy import Accuracy as Counted
from rlx.metrics.inference.data import samples_of
from rlx.passes.channels_last_ports import ChannelsLastPorts
from rlx.reports.model import Accuracy
from rlx.samples.batches import LABELS, checked_labels
from rlx.support.errors import UsageError
from rlx.support.files.golden import Golden
from rlx.support.text.units import counted
from rlx.targets import verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.metrics.inference.data import Inputs
    from rlx.samples.batches import Samples

    Array = np.ndarray[Any, Any]

_WHAT: Final = "data"
_BATCH: Final = 256
"""Samples that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSamples:
    """Labelled samples that fit a network.

    Attributes:
        network: Description of the network; see :func:`rlx.driver.description.describe`.
        data: The samples as they were given.
        samples: The same for the inputs of the network.
        truth: Class of each sample.
        names: Name of each class.
    """

    network: Mapping[str, Any]
    data: Inputs
    samples: Samples
    truth: Array
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, network: Mapping[str, Any], data: Inputs, *, labels: Sequence[str] = ()
    ) -> LabelledSamples:
        """Return the samples in ``data``.

        Args:
            network: Description of the network.
            data: Samples with labels, as for ``rlx.run``; ``y`` or ``labels`` holds a class for
                each.
            labels: Name of each class; none for their indices.

        Raises:
            UsageError: The data do not fit, hold no labels, or the outputs of the network are not
                classes.
        """
        samples, classes = samples_of(_ports_alone(network), data), _classes(network)
        if samples.labels is None:
            raise UsageError(
                "holds no labels",
                where=_WHAT,
                hint=f"add an array {' or '.join(map(repr, LABELS))}",
            )
        truth = checked_labels(samples.labels, classes, samples.count, where=_WHAT)
        return cls(
            network=network, data=data, samples=samples, truth=truth, names=_names(labels, classes)
        )


def accuracy_of(
    folder: Path,
    target: str,
    labelled: LabelledSamples,
    *,
    model: Graph | None = None,
    timeout_s: float = verifier.DEFAULT_TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> Accuracy:
    """Run the content of an output folder on labelled samples.

    Args:
        folder: Folder that ``rlx emit`` wrote.
        target: Name of the target that emitted it.
        labelled: The samples.
        model: The model, to compute the same with the reference; None to leave that out.
        timeout_s: Wall-clock limit of the run, in seconds.
        progress: Called with a description of each step.

    Raises:
        RlxError: A tool is missing or failed.
    """
    network, samples, truth = labelled.network, labelled.samples, labelled.truth
    classes = len(labelled.names)
    name, simulator = next(iter(verifier.load(target).simulators().items()))
    if progress is not None:
        progress(f"{name}: {counted(samples.count, 'sample')}")
    vectors = Golden(_frames(samples, network["inputs"]), _no_outputs(network, samples.count))
    emitted_output = simulator.simulate(folder, vectors, timeout_s=timeout_s).outputs[0]
    emitted = Counted.of(truth, _best(emitted_output, classes), classes)
    correct = {name: emitted.correct}
    if model is not None:
        computed = run(model, labelled.data).output.scores
        correct = {"reference": Counted.of(truth, _best(computed, classes), classes).correct,
                   **correct}  # fmt: skip
    return Accuracy(
        samples=samples.count,
        correct=correct,
        labels=labelled.names,
        confusion=tuple(tuple(int(c) for c in row) for row in emitted.confusion),
    )


def _ports_alone(network: Mapping[str, Any]) -> Graph:
    """Return a graph with the inputs and outputs of a network and nothing between them.

    Images that are channels last in the emitted program may be channels first in the model, and so
    in the samples.
    """
    graph, origin = Graph(str(network["name"])), Origin(passes=(ChannelsLastPorts.name,))
    for port in network["inputs"]:
        quant = None if port["quant"] is None else QuantParams.per_tensor(*port["quant"])
        graph.input(
            port["name"],
            TensorType(tuple(port["shape"]), DType(port["dtype"]), quant),
            origin=origin,
        )
    for port in network["outputs"]:
        zeros = np.zeros(tuple(port["shape"]), DType(port["dtype"]).numpy)
        graph.output(graph.constant(zeros), names=[port["name"]])
    return graph


def _frames(samples: Samples, inputs: Sequence[Mapping[str, Any]]) -> tuple[Array, ...]:
    """Return all samples of each input as ``[frames, *shape]``."""
    batches = list(samples.batches(_BATCH))
    return tuple(
        np.concatenate([batch[one["name"]] for batch in batches]).reshape(-1, *one["shape"])
        for one in inputs
    )


def _no_outputs(network: Mapping[str, Any], frames: int) -> tuple[Array, ...]:
    """Return zeros of the shapes and element types of the outputs, which a simulator fills."""
    return tuple(
        np.zeros((frames, *one["shape"]), DType(one["dtype"]).numpy) for one in network["outputs"]
    )


def _classes(network: Mapping[str, Any]) -> int:
    """Return the number of classes.

    Raises:
        UsageError: The first output is not one score for each class.
    """
    shape = network["outputs"][0]["shape"]
    sizes = [size for size in shape if size != 1]
    if len(sizes) != 1:
        raise UsageError(
            f"its output of shape {shape} is not one score for each class",
            where="network",
            hint="leave the labels out: they are for networks that classify",
        )
    return int(sizes[0])


def _best(scores: Array, classes: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    best: np.ndarray[Any, np.dtype[np.int64]] = np.asarray(scores).reshape(-1, classes).argmax(1)
    return best


def _names(labels: Sequence[str], classes: int) -> tuple[str, ...]:
    """Return the name of each class.

    Raises:
        UsageError: There are more or fewer names than classes.
    """
    if labels and len(labels) != classes:
        raise UsageError(
            f"{counted(len(labels), 'label')} for {counted(classes, 'class')}",
            where="labels",
            hint="give a name for each class, in the order of the network's output",
        )
    return tuple(labels) or tuple(str(number) for number in range(classes))
