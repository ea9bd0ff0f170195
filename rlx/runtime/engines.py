"""Engines that a network is measured in: backends of rlx, and ONNX Runtime.

Tests: tests/unit/runtime/test_latency.py
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rlx.ir import DType
from rlx.ir.graph import Constant
from rlx.runtime.backend import backends
from rlx.runtime.checking import Compiled
from rlx.runtime.device import Device
from rlx.runtime.observation.processor import blas, multiplies_bytes_exactly
from rlx.runtime.session import Session
from rlx.support.errors import ToolMissingError, UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import counted
from rlx.support.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from rlx.ir import Array, Graph
    from rlx.runtime.options import CompileOptions

Call: TypeAlias = "Callable[[], Sequence[Array]]"

ONNXRUNTIME: Final = "onnxruntime"

_LEVEL: Final = "ORT_ENABLE_ALL"
"""Optimization level of ONNX Runtime, its default; most users run it so."""

_THREADED: Final = "native"
"""Backend that computes with the threads of the options; others ignore them."""

_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Settings of NumPy's threads, the first one that is set counts."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A network that is ready to run.

    Attributes:
        name: Name of the engine.
        version: Its version, and those of its libraries.
        settings: Settings that its speed and its results depend on; may be empty.
        call: Runs the network: NumPy arrays in, NumPy arrays out.
        exact_call: Runs it without optimizations that change results; None if there are none.
        check_seconds: Time of the comparison of its compiled code with NumPy; None without one.
        threads: Its threads, if they are those of the options; else None.
    """

    name: str
    version: str
    settings: str
    call: Call
    exact_call: Call | None = None
    check_seconds: float | None = None
    threads: int | None = None


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines."""
    return (ONNXRUNTIME, *sorted(backend.name for backend in backends()))


def backend_engine(
    graph: Graph, inputs: Mapping[str, Array], device: Device, options: CompileOptions
) -> Engine:
    """Return a network in the backend of some options.

    States keep their values from call to call; they are not among the outputs.

    Raises:
        TargetNotFoundError: The backend cannot use the device.
    """
    net = Session(device, options).compile(graph)
    states = {state.name for state, _ in graph.states}
    indices = [i for i, name in enumerate(net.output_names) if name not in states]
    net.run(inputs, outputs=indices)  # a program that differs from NumPy is replaced here
    for name in states:
        net.reset_state(name)
    backend = next(b for b in backends() if b.name == net.backend)
    threads = options.threads if net.backend == _THREADED else None
    by = "" if threads is None else f", {counted(threads, 'thread')}"
    settings = f"on {device}" + ("" if device is Device.CPU else ", results copied to the host")
    return Engine(
        net.backend,
        f"{version_of(backend, device)}{by}",
        settings,
        lambda: net.run(inputs, outputs=indices),
        check_seconds=net.check_seconds,
        threads=threads,
    )


def version_of(backend: object, device: Device) -> str:
    """Return the versions that results and times of a backend depend on."""
    bind = getattr(backend, "on", None)
    bound = backend if bind is None else bind(device)
    if isinstance(bound, Compiled):
        return f"rlx {__version__}, {bound.compiler()}"
    kernels = blas()
    by = "" if kernels == "-" else f" with OpenBLAS for {kernels}"
    return f"rlx {__version__}, NumPy {np.__version__}{by}, {_thread_text()}"


def device_for(name: str, device: Device) -> Device:
    """Return the device on which a backend is measured: ``device`` if it can be, else its own.

    Raises:
        UsageError: No engine has the name.
    """
    for backend in backends():
        if backend.name == name:
            usable = [one for one in backend.devices if backend.unavailable(one) is None]
            return device if device in usable else (*usable, *backend.devices)[0]
    raise UsageError(
        f"no engine is called {name!r}", hint=did_you_mean(name, engine_names(), what="engines")
    )


def onnxruntime_engine(
    file: str | PathLike[str] | None, inputs: Mapping[str, Array], batch: int
) -> Engine:
    """Return the network of an ONNX file in ONNX Runtime.

    Args:
        file: The file that the network was read from.
        inputs: Inputs in the order of the file.
        batch: Samples that they hold.

    Raises:
        UsageError: It is not an ONNX file, or cannot run these inputs.
        ToolMissingError: ONNX Runtime is not installed.
    """
    if file is None or Path(file).suffix != ".onnx":
        raise UsageError(
            f"{ONNXRUNTIME} runs ONNX files only",
            hint="give the .onnx file that the model was read from",
        )
    try:
        ort = import_module("onnxruntime")
    except ImportError:
        raise ToolMissingError(
            "the package onnxruntime is not installed", hint="pip install onnxruntime"
        ) from None
    session = _session(ort, Path(file), _LEVEL)
    if batch > 1 and any(isinstance(one.shape[0], int) for one in session.get_inputs()):
        raise UsageError(
            f"{ONNXRUNTIME} runs the file as it is, not batches of {batch}",
            hint="export the model for that batch, or with an open batch",
        )
    call = _ort_call(session, inputs)
    return Engine(
        ONNXRUNTIME,
        f"onnxruntime {ort.__version__}",
        f"{_LEVEL}, {_thread_text()}",
        call,
        lambda: _ort_call(_session(ort, Path(file), "ORT_DISABLE_ALL"), inputs)(),
    )


def _session(ort: Any, path: Path, level: str) -> Any:  # noqa: ANN401 - of an optional package
    """Return a session of ONNX Runtime.

    Raises:
        UsageError: It cannot load the file.
    """
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.intra_op_num_threads = _threads()
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise _failed(error) from error


def _ort_call(session: Any, inputs: Mapping[str, Array]) -> Call:  # noqa: ANN401
    """Return a call of a session, which was run once.

    Raises:
        UsageError: It does not accept the inputs.
    """
    names = [value.name for value in session.get_inputs()]
    if len(names) != len(inputs):
        raise UsageError(
            f"the file has {len(names)} inputs, but the network {len(inputs)}",
            where=ONNXRUNTIME,
            hint="compare with a backend: --against numpy",
        )
    feeds = dict(zip(names, inputs.values(), strict=True))
    try:
        session.run(None, feeds)
    except Exception as error:
        raise _failed(error) from error
    return lambda: session.run(None, feeds)


def _failed(error: Exception) -> UsageError:
    lines = str(error).splitlines() or [type(error).__name__]
    return UsageError(
        f"it cannot run the model: {lines[0]}",
        where=ONNXRUNTIME,
        hint="compare with a backend: --against numpy",
    )


def saturates(graph: Graph) -> bool:
    """Whether ONNX Runtime may saturate products of a network on this processor.

    That concerns products of uint8 by int8 on x86-64 without VNNI.
    """
    values = [value for node in graph.nodes for value in node.results]
    unsigned = any(v.type.dtype is DType.U8 and v.type.quant is not None for v in values)
    signed = any(v.type.dtype is DType.I8 and isinstance(v.node.op, Constant) for v in values)
    return unsigned and signed and multiplies_bytes_exactly() is not True


def _threads() -> int:
    """Return the threads of NumPy that the environment sets; 0 for all."""
    text = next((os.environ[name] for name in _THREADS if os.environ.get(name)), "0")
    return int(text) if text.isdecimal() else 0


def _thread_text() -> str:
    count = _threads()
    return counted(count, "thread") if count else "threads for all cores"
