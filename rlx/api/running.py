"""Run networks on the host, layer by layer, and compare them.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from rlx.metrics import comparison, inference
from rlx.networks import Model, bound_module
from rlx.runtime import CompiledGraph, CompileOptions, Session
from rlx.runtime import Model as TracedModel
from rlx.support.calls import checked_call

if TYPE_CHECKING:
    from os import PathLike

    from rlx.api.types import CriteriaLike, DeviceLike, Progress
    from rlx.ir import Array
    from rlx.metrics.comparison_result import Comparison
    from rlx.metrics.inference import Inputs, Layers, Result
    from rlx.support.annotations import Count


Compared: TypeAlias = "TracedModel | comparison.Comparable"
"""Other things to compare: networks that run, or their outputs."""


@checked_call
def run(
    model: Model,
    data: Inputs,
    *,
    device: DeviceLike = "cpu",
    backend: str | None = None,
    threads: Count | None = None,
    batch: Count | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the results of a network for a sample or a batch of them, computed on this machine.

    Integers are those of the reference, bit for bit; floats are as near as the order of
    additions allows. ``network.run(data)`` is the same.

    Args:
        model: Result of ``rlx.load`` or ``rlx.quantize``, a graph, or the path of a model file.
        data: Samples: numbers for the only input, numbers for each input by name, or the path of a
            ``.npz``, ``.npy`` or ``.csv`` file, or of a folder of pictures or sounds.
            Numbers of an input's own element type are taken as they are; floats for a
            quantized input are quantized by its scale. Without an axis of samples it is one sample.
        device: Device to run on.
        backend: Backend that runs the model there; None for the best one of the device.
        threads: Threads of the backend ``native``, at most 256; None for the setting. Results do
            not depend on it.
        batch: Samples that run together at most; None for as many as memory suggests.
        progress: Called with a text, samples done and all samples.

    Returns:
        An object with ``values``, ``top(3)``, ``outputs`` by name, and the integers as
        :attr:`~rlx.Result.codes`; every array has an axis of samples first.

    Raises:
        UsageError: The data do not fit the inputs, or samples cannot run together.
        TargetNotFoundError: The backend is not installed, or cannot use the device.
        FrontendError: A file is damaged.

    Example:
        >>> result = rlx.run("digits/digits.rlx", "digits/samples.npz")
        >>> result.values.shape, result.top(1)[0][0].number
        ((397, 10), 2)
        >>> rlx.run("digits/digits.rlx", np.zeros((8, 8))).values.shape
        (1, 10)
        >>> rlx.run("digits/digits.rlx", np.zeros((4, 8, 8)), backend="numpy", batch=2).values.shape
        (4, 10)
    """
    graph = bound_module(model, data)[0].graph
    session = Session(device, CompileOptions().changed(backend=backend, threads=threads))
    return inference.run(graph, data, session=session, batch=batch, progress=progress)


@checked_call
def layers(
    model: Model,
    data: Inputs,
    *,
    against: Model | None = None,
    progress: Progress | None = None,
) -> Layers:
    """Return the results of every layer of a network for data.

    Args:
        model: As for :func:`run`.
        data: As for :func:`run`.
        against: Another network, such as the float one that the network was quantized from: the
            layers of both are compared.
        progress: Called with a text, samples done and all samples.

    Returns:
        By name and in order: range, share of saturated values and histogram of each layer, and its
        numbers, which are computed again when they are asked for.

    Raises:
        UsageError: The data do not fit the inputs, or a layer gives NaN or infinite numbers.
        FrontendError: A file is damaged.

    Example:
        >>> layers = rlx.layers("digits/digits.rlx", "digits/samples.npz")
        >>> list(layers)
        ['image', 'conv1', 'pool', 'conv2', 'flatten', 'dense', 'probabilities']
        >>> layers["dense"].values.shape
        (397, 10)
    """
    other = None if against is None else bound_module(against, data)[0].graph
    graph = bound_module(model, data)[0].graph
    return inference.layers(graph, data, against=other, progress=progress)


@checked_call
def compare(
    a: Model | Compared,
    b: Model | Compared,
    data: Inputs | None = None,
    *,
    labels: Array | str | PathLike[str] | None = None,
    criteria: CriteriaLike | None = None,
    nodes: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Return the comparison of two networks on the same data, as ``rlx compare`` shows it.

    Args:
        a: The reference, such as a float network: as for :func:`run`, or a compiled graph, a
            function with ``rlx.model``, what ``rlx.run`` returned, or outputs that something else
            computed, ``[samples, *shape]`` by name.
        b: Such as the integer network that was made of it, or the same network compiled.
        data: As for :func:`run`; None if nothing is run. ``y`` or ``labels`` holds labels.
        labels: A class for each sample or the path of a file of them, if they are not in ``data``.
        criteria: Criteria that the outputs must keep, a :class:`~rlx.Criteria`, or ``"exact"``,
            ``"strict"`` or ``"half"``; then the result has ``passed`` and ``require()``.
        nodes: Whether to compare the nodes too, where both are graphs.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit, or the outputs cannot be compared.

    Example:
        >>> floating = rlx.load("onnx_to_firmware/digits.onnx")
        >>> quantized = rlx.quantize(floating, "onnx_to_firmware/calib.npz")
        >>> comparison = rlx.compare(floating, quantized, "onnx_to_firmware/test.npz")
        >>> comparison.samples, comparison.agreement > 0.98
        (397, True)
    """
    return comparison.compare(
        _comparable(a, data),
        _comparable(b, data),
        data,
        labels=labels,
        criteria=criteria,
        nodes=nodes,
        progress=progress,
    )


def _comparable(network: Model | Compared, data: Inputs | None) -> comparison.Comparable:
    if isinstance(network, TracedModel):
        return network.compiled()
    if isinstance(network, CompiledGraph | inference.Result | Mapping):
        return network
    return bound_module(network, data)[0].graph
