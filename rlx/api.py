"""The commands from Python: ``rlx.emit``, ``rlx.quantize``, ``rlx.verify`` and others.

Each takes what the command of its name takes; options of a target are keyword arguments, with
underscores for hyphens.

Level 8.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx import targets
from rlx.calibration.own_scales import convert_graph
from rlx.calibration.quantize import quantize_graph
from rlx.calibration.settings import MIN_AGREEMENT, MIN_SQNR_DB, settings_of
from rlx.driver import driver, exporters
from rlx.driver.assumption import assume
from rlx.driver.sweep import estimate_values
from rlx.driver.verification.repeat import Request, verify_once
from rlx.driver.verification.requirement import required
from rlx.metrics import comparison, inference
from rlx.networks import Model, Network, bound_module, module_of
from rlx.passes import unobserved
from rlx.reports.gather import ReportRequest, gather
from rlx.runtime import CompiledGraph, latency
from rlx.runtime import Model as TracedModel
from rlx.runtime.needs import memory_needed, time_bound
from rlx.runtime.needs import pick_device as choose_device
from rlx.runtime.observation.machine import measure_machine
from rlx.support.files.outputs import read_manifest, write_file
from rlx.targets import verifier
from rlx.targets.estimation import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.calibration.quantize import Quantized
    from rlx.driver.exporters import Exported
    from rlx.ir import Array
    from rlx.metrics.compare import Comparison
    from rlx.metrics.criteria import Criteria
    from rlx.metrics.inference import Inputs, Layers, Result
    from rlx.passes import Observer, Policies
    from rlx.reports.report import Report
    from rlx.runtime import CompileOptions, Device
    from rlx.runtime.latency import Benchmark, Clock
    from rlx.runtime.needs import DeviceChoice
    from rlx.runtime.observation.machine import Machine
    from rlx.runtime.observation.memory import MemoryEstimate
    from rlx.runtime.observation.roofline import Roofline
    from rlx.samples.batches import Data
    from rlx.targets import Emission
    from rlx.targets.estimation import Estimates
    from rlx.targets.verifier import Verification

Compared: TypeAlias = "TracedModel | comparison.Comparable"
"""Other things to compare: networks that run, or their outputs."""


def emit(
    model: Model,
    target: str,
    folder: str | Path,
    *,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
    policies: Policies | None = None,
    force: bool = False,
    observe: Observer = unobserved,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Emission:
    """Compile a model for a target into an output folder, as ``rlx emit`` does.

    Args:
        model: Result of ``rlx.load``, a graph, or the path of a model file.
        target: Name of an installed target, such as ``"cortexm"``.
        folder: Appears complete, or not at all.
        vectors: Inputs to store as golden vectors, ``[frames, *shape]`` by input name (or ``x``
            where there is one input), and optionally the expected outputs ``y``; None for random
            ones. Floats for a quantized input are quantized by its scale.
        frames: Golden vectors to store; None for all given, or a number that suits the graph.
        policies: Policies: ops that are written in others although the target has them, or never.
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
    """
    module, source_sha256 = bound_module(model, vectors)
    plugin = targets.load(target)
    chosen_options = targets.options_of(plugin, options)
    return driver.emit(
        module,
        plugin,
        Path(folder),
        options=chosen_options,
        policies=policies,
        vectors=vectors,
        frames=frames,
        source_sha256=source_sha256,
        force=force,
        observe=observe,
    )


def export(model: Model, path: str | Path, *, opset: int | None = None) -> Exported:
    """Write an integer network as ``.tflite`` or ``.onnx``, as ``rlx export`` does.

    Args:
        model: Result of ``rlx.load`` or ``rlx.quantize``, a graph, or the path of a file.
        path: File to write; its end names the format.
        opset: Version of ai.onnx for ``.onnx``; None for 17.

    Returns:
        The bytes of the file, and for ``.onnx`` the differences that float arithmetic makes.

    Raises:
        UsageError: The end of the name is none of a format that is written.
        UnsupportedOpError: The network computes in float, or has ops without a form there.
        OutputError: The file cannot be written.
    """
    exported = exporters.export(bound_module(model)[0].graph, Path(path), opset)
    write_file(path, exported.content)
    return exported


def estimate(
    model: Model,
    target: str,
    *,
    weight_bits: int | None = None,
    policies: Policies | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Estimate:
    """Return the estimate of a model's needs on a target, as ``rlx estimate`` shows it.

    A float network is estimated as if it were quantized, with int8 activations: ``assumed`` says
    so. No samples are needed; what quantization loses, they alone tell.

    Args:
        model: As for :func:`emit`.
        target: Name of an installed target.
        weight_bits: 8, 4 or 2: width of the weights of a float network; None for 8.
        policies: As for :func:`emit`.
        options: Options of the target, as for :func:`emit`.

    Raises:
        UsageError: The target has no such option, or there is ``weight_bits`` for a network that
            is not float.
        UnsupportedOpError: The target, or the quantization of a float network, lacks ops.
        RlxError: Error of a step.

    Returns:
        An object with ``layers``, ``totals`` and ``fits``; also a mapping, with the keys of
        ``rlx estimate --json``.
    """
    module, _ = bound_module(model)
    plugin = targets.load(target)
    chosen_options = targets.options_of(plugin, options)
    assumed = assume(
        module, plugin, options=chosen_options, policies=policies, weight_bits=weight_bits
    )
    lowered = driver.lower(assumed.module, plugin, options=chosen_options, policies=policies)
    ports = assumed.ports(lowered.changes)
    figures = {
        **({} if assumed.assumption is None else {"assumed": assumed.assumption.as_json()}),
        "dispatch": lowered.dispatch.to_dict(),
        **plugin.estimate(lowered.module, chosen_options),
        **({"ports": ports} if ports else {}),
    }
    return Estimate(plugin.name, figures)


def estimate_all(
    model: Model,
    target: str,
    values: str = "all",
    *,
    over: str | None = None,
    weight_bits: int | None = None,
    policies: Policies | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Estimates:
    """Return a model's needs on every device or processor of a target, the best first.

    As ``rlx estimate MODEL --devices all`` and ``--cpu all`` show it. For an FPGA the architectures
    are tried in turn where one does not fit, unless ``architecture`` is given.

    Args:
        model: As for :func:`emit`.
        target: Name of an installed target that can be compared, such as ``"fpga"``.
        values: Devices or processors with commas between, or ``"all"``; for an FPGA also
            ``"boards"``.
        over: Option that has these values, such as ``"part"``; the target's first one by default.
        weight_bits: As for :func:`estimate`.
        policies: As for :func:`emit`.
        progress: Called with a description of each step.
        options: Options of the target, as for :func:`emit`.

    Returns:
        A sequence of rows, each a mapping, with ``best``; nothing that does not fit has ``fits``.

    Raises:
        UsageError: The target cannot be compared, or has no such value or option.
        RlxError: Error of a step, if the steps raise it for every value.
    """
    module, _ = bound_module(model)
    plugin = targets.load(target)
    return estimate_values(
        module,
        plugin,
        values,
        targets.options_of(plugin, options),
        option=over,
        user_options=frozenset(options),
        policies=policies,
        weight_bits=weight_bits,
        progress=progress,
    )


def verify(
    folder: str | Path,
    *,
    inputs: int | None = None,
    tools: Sequence[str] | None = None,
    require: Sequence[str] = (),
    timeout_s: float = verifier.DEFAULT_TIMEOUT_S,
    waves: Path | None = None,
    cache: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Run an output folder and compare every output with the reference, as ``rlx verify`` does.

    Args:
        folder: Folder that ``rlx.emit`` wrote.
        inputs: Golden vectors to run; None for all.
        tools: Simulators by name, each of which must be there; None for what is installed:
            ``not_run`` of the result says what could not run, and why.
        require: Simulators that must run, by name, or ``all`` for every one of the default. In
            tests and in CI give ``["all"]``: a missing tool is an error then.
        timeout_s: Wall-clock limit of each step, in seconds.
        waves: File for a waveform, if the simulators support it; None for none.
        cache: Take the result of an earlier run if nothing that it depends on has changed: folder,
            rlx, tools. ``as_json()["cached"]`` says when that was.
        progress: Called with a description of each step.

    Returns:
        An object with ``passed``, ``inputs``, ``equal``, ``mismatches``, ``figures`` and
        ``not_run``; ``as_json()`` returns them all. ``passed`` is about what ran.

    Raises:
        RlxError: The folder was not made by rlx or was changed; a tool that was named or is
            required is missing, or failed; or nothing can run.
    """
    folder = Path(folder)
    plugin = verifier.load(read_manifest(folder).producer.target)
    choice = required(plugin, folder, tools, require)

    def run() -> Verification:
        return plugin.verify(
            folder,
            inputs_limit=inputs,
            tools=choice.tools,
            timeout_s=timeout_s,
            waves=waves,
            progress=progress,
        )

    if waves is not None:
        return choice.completed(run())
    request = Request(folder, inputs, choice.tools)
    return choice.completed(verify_once(plugin, request, run, look=cache))


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
    timeout_s: float = verifier.DEFAULT_TIMEOUT_S,
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
        model_file=Path(model) if isinstance(model, str | Path) else None,
    )
    return gather(folder, request, progress=progress)


def quantize(
    model: Model,
    calib: Data,
    *,
    test: Data | None = None,
    weights: str | int = "8",
    observer: str = "mse",
    symmetric: bool = False,
    equalize: bool | None = None,
    bias_correction: bool = True,
    max_drop: float | None = None,
    min_sqnr: float = MIN_SQNR_DB,
    min_agreement: float = MIN_AGREEMENT,
    bits: float | None = None,
    flash: int | None = None,
    settings: str | Path | Mapping[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Quantized:
    """Return the integer network of a float network, as ``rlx quantize`` does.

    Args:
        model: A float network: what ``rlx.load`` returned, a graph, or the path of a model file.
        calib: Samples from which ranges are taken: a ``.npz``, ``.npy`` or ``.csv`` file, a folder
            of pictures or sounds, an array for the only input, or arrays by name; ``y`` or
            ``labels`` holds labels.
        test: Other samples, on which the loss is measured; None for the calibration data.
        weights: Bits of every weight, 8, 4 or 2 (ternary), or ``"auto"`` for a width for each
            layer, chosen by what the layer bears.
        observer: Method that chooses ranges of activations: ``min-max``, ``moving-average``,
            ``percentile``, ``mse`` or ``kl``.
        symmetric: Whether activations have the zero point 0.
        equalize: Whether channels are balanced across layers; None for where it helps.
        bias_correction: Whether biases make up for what weights lose on average.
        max_drop: Allowed loss, as a share: 0.005 for half a point of correct classes (and of
            AUC, where there are two), or of agreement where there are no labels; of the output that
            loses most.
        min_sqnr: Ratio of signal to noise, in decibels, that every output must have.
        min_agreement: Share of samples whose class must be that of the float network, where an
            output is a softmax or an index.
        bits: Mean bits of a weight that ``auto`` must reach.
        flash: Bytes of weights that ``auto`` must reach.
        settings: Settings layer by layer: a file of ``rlx quantize --write-settings``, or a mapping
            of the same form: ``{"layers": {"conv1": {"bits": 4, "observer": "min-max"}}}``.
            ``report.settings_text()`` is such a file.
        progress: Called with a text, what is done and what there is to do.

    Returns:
        An object with ``module`` and ``report``.

    Raises:
        UsageError: The data or an option do not fit.
        UnsupportedOpError: Something in the network has no integer form.
        DoesNotFitError: The limits cannot be kept.
    """
    used = settings_of(
        settings, weights=weights, observer=observer, symmetric=symmetric, equalize=equalize,
        bias_correction=bias_correction, max_drop=max_drop, min_sqnr=min_sqnr,
        min_agreement=min_agreement, bits=bits, flash=flash,
    )  # fmt: skip
    module, _ = bound_module(model, calib)
    return quantize_graph(module.graph, calib, test=test, settings=used, progress=progress)


def run(
    model: Model, data: Inputs, *, progress: Callable[[str, int, int], None] | None = None
) -> Result:
    """Return the results of a network for a sample or a batch of them, computed on this machine.

    Integers are those of the reference, bit for bit; floats are as near as the order of
    additions allows. ``network.run(data)`` is the same.

    Args:
        model: Result of ``rlx.load``, a graph, or the path of a model file.
        data: Numbers for the only input, numbers for each input by name, or a file of samples.
            Numbers of an input's own element type are taken as they are; floats for a
            quantized input are quantized by its scale. Without an axis of samples it is one sample.
        progress: Called with a text, samples done and all samples.

    Returns:
        An object with ``values``, ``top(3)``, ``outputs`` by name, and the integers as
        :attr:`~rlx.Result.codes`; every array has an axis of samples first.

    Raises:
        UsageError: The data do not fit the inputs.
        FrontendError: A file is damaged.
    """
    return inference.run(bound_module(model, data)[0].graph, data, progress=progress)


def layers(
    model: Model,
    data: Inputs,
    *,
    against: Model | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Layers:
    """Return the results of every layer of a network for data.

    Args:
        model: Result of ``rlx.load``, a graph, or the path of a model file.
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
    """
    other = None if against is None else bound_module(against, data)[0].graph
    graph = bound_module(model, data)[0].graph
    return inference.layers(graph, data, against=other, progress=progress)


def convert(
    model: Model,
    *,
    test: Data | None = None,
    min_sqnr: float = MIN_SQNR_DB,
    min_agreement: float = MIN_AGREEMENT,
) -> Network:
    """Return the integer network of a network that holds its own scales.

    Such as an ONNX file with QuantizeLinear and DequantizeLinear nodes, or a QONNX file: their
    scales, zero points and stored weights are taken as they are, without calibration.

    Args:
        model: Result of ``rlx.load``, a graph, or the path of a model file.
        test: Samples on which the network is measured, as for :func:`quantize`; None for random
            ones over the range of the input's scale.
        min_sqnr: Ratio of signal to noise, in decibels, that every output must have.
        min_agreement: Share of samples whose class must be that of the network, where an output is
            a softmax or an index.

    Raises:
        UnsupportedOpError: Something in the network has no integer form.
        QuantizationError: A value has no scale: the network needs :func:`quantize`.
        DoesNotFitError: The limits are not kept.
    """
    module, _ = bound_module(model)
    settings = settings_of(min_sqnr=min_sqnr, min_agreement=min_agreement)
    return Network(convert_graph(module.graph, test, settings).module)


def compare(
    a: Model | Compared,
    b: Model | Compared,
    data: Inputs | None = None,
    *,
    labels: Array | None = None,
    criteria: Criteria | str | None = None,
    nodes: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Return the comparison of two networks on the same data, as ``rlx compare`` shows it.

    Args:
        a: The reference, such as a float network: as for :func:`run`, or a compiled graph, a
            function with ``rlx.model``, what ``rlx.run`` returned, or outputs that something else
            computed, ``[samples, *shape]`` by name.
        b: Such as the integer network that was made of it, or the same network compiled.
        data: As for :func:`run`; None if nothing is run. ``y`` or ``labels`` holds labels.
        labels: A class for each sample, if they are not in ``data``.
        criteria: Criteria that the outputs must keep, a :class:`~rlx.Criteria`, or ``"exact"``,
            ``"strict"`` or ``"half"``; then the result has ``passed`` and ``require()``.
        nodes: Whether to compare the nodes too, where both are graphs.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit, or the outputs cannot be compared.
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


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def bench(
    model: Model,
    *,
    batch: int = 1,
    seconds: float = 2.0,
    against: str | None = None,
    options: CompileOptions | None = None,
    clock: Clock = time.perf_counter_ns,
) -> Benchmark:
    """Return the times of a network's calls on this machine, as ``rlx bench`` shows them.

    Inputs are random, the same every time; integers of more than 8 bits are 0, since they may be
    indices. With another engine both take turns of some milliseconds, so that whatever else the
    machine does meets both; it uses as many threads as ``OPENBLAS_NUM_THREADS`` says.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        batch: Inputs in one call, for a network that takes one.
        seconds: Time to measure, of each engine; at least ten calls are measured.
        against: ``"onnxruntime"`` to run the model there too; it must be the path of an ONNX file.
        options: Options of compilation.
        clock: Returns nanoseconds.

    Raises:
        UsageError: A dimension is a symbol, a parameter has no value, the engine is unknown, it
            cannot run the model, or the time is not a number from 0.
        ToolMissingError: The other engine is not installed.
    """
    file = model if isinstance(model, str | Path) else None
    return latency.bench(
        module_of(model)[0].graph, batch=batch, seconds=seconds, against=against, file=file,
        options=options, clock=clock,
    )  # fmt: skip


def memory_estimate(
    model: Model,
    *,
    device: Device | str = "cpu",
    options: CompileOptions | None = None,
    workspace: bool = True,
) -> MemoryEstimate:
    """Return the memory that a model will need on the host, as ``rlx host --memory`` shows it.

    It is planned as ``rlx.Session.compile`` plans it, but not run.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        device: Device that it will run on.
        options: Options of compilation.
        workspace: Whether to compile the model, and drop it, to find what single steps need: else
            the plan alone is read.

    Returns:
        An object with the bytes of each part, ``total``, ``fits(limit)`` and ``require(limit)``.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.
    """
    return memory_needed(module_of(model)[0], device=device, options=options, workspace=workspace)


def roofline(
    model: Model, machine: Machine | None = None, *, options: CompileOptions | None = None
) -> Roofline:
    """Return the minimum time that a model takes on a machine, as ``rlx host --roofline`` does.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        machine: Limits of the machine; None to measure this processor, which takes a second.
        options: Options of compilation.

    Returns:
        An object with ``seconds``, and for each node its work, its lower bound and what it is
        bound by.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.
    """
    return time_bound(module_of(model)[0], machine or measure_machine(), options=options)


def pick_device(
    model: Model, machines: Sequence[Machine], *, options: CompileOptions | None = None
) -> DeviceChoice:
    """Return the available device on which a model can be fastest, and why.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        machines: Devices to choose from, with their limits.
        options: Options of compilation.

    Raises:
        TargetNotFoundError: None of them is available here and runs the model.
        UsageError: A size is a symbol, or no machine is given.
    """
    return choose_device(module_of(model)[0], machines, options=options)
