"""Integer networks written in the formats of other programs: ``.tflite`` and ``.onnx``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.driver.exporters.onnx import DEFAULT_OPSET, to_onnx
from rlx.driver.exporters.tflite import to_tflite
from rlx.driver.reference import random_frames, random_inputs
from rlx.frontends.onnx import frontend as onnx_frontend
from rlx.ir.evaluate import evaluate
from rlx.ops.q import Q_OPS
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.dead_code import DeadCode
from rlx.passes.transforms.bind import check_bound
from rlx.runtime import CompileOptions, Device, Session
from rlx.support.errors import UnsupportedOpError, UsageError
from rlx.support.text.units import counted
from rlx.targets import quantize_hint

if TYPE_CHECKING:
    from pathlib import PurePath

    from rlx.ir import Graph

FORMATS: Final = (".tflite", ".onnx")
"""Ends of the names of files that can be written."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Values that an exported network and the integer one do not share, on random inputs.

    Attributes:
        values: Output values that were compared.
        differing: Output values that differ.
        largest: Their largest difference, in steps of quantized values.
    """

    values: int
    differing: int
    largest: float


@dataclass(frozen=True, slots=True, repr=False)
class Exported:
    """A network in another format.

    Attributes:
        content: The bytes of the file.
        differences: Effect of float arithmetic on the outputs; None where the operators of the
            format have bit-identical results.
    """

    content: bytes
    differences: Differences | None = None

    def __repr__(self) -> str:
        return f"<Exported: {counted(len(self.content), 'byte')}>"


def export(graph: Graph, path: PurePath, opset: int | None = None) -> Exported:
    """Return an integer network in the format that the end of a file's name says.

    Args:
        graph: ``q.*`` ops, with ``real.quantize`` and ``real.dequantize`` at the ends.
        path: The name; nothing is written.
        opset: Version of ai.onnx for ``.onnx``; None for :data:`DEFAULT_OPSET`.

    Raises:
        UsageError: The name has another end, or the option does not belong to the format.
        UnsupportedOpError: The network is not one of integers, or has ops without a form there.
        ToolMissingError: The package that writes the format is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"cannot write {suffix or 'a file without an ending'}",
            where=str(path),
            hint=f"end the name of the file in {' or '.join(FORMATS)}",
        )
    if opset is not None and suffix != ".onnx":
        raise UsageError(
            "belongs to .onnx", where="--opset", hint="leave it out, or name a file .onnx"
        )
    check_bound(graph)
    graph = DeadCode().apply(graph)
    _check_integer(graph)
    if suffix == ".tflite":
        return Exported(to_tflite(graph))
    content = to_onnx(graph, DEFAULT_OPSET if opset is None else opset)
    return Exported(content, _differences(graph, content))


def _check_integer(graph: Graph) -> None:
    """Refuse a float network with one sentence in place of a line for each op."""
    ends = RealQuantize | RealDequantize
    floats = [n for n in graph.op_nodes if not isinstance(n.op, (*Q_OPS, ends))]
    if not floats:
        return
    names = sorted({node.op.name for node in floats})
    raise UnsupportedOpError(
        f"the network computes in float ({', '.join(names[:5])}{' ...' if names[5:] else ''}), "
        "and only integer networks are exported",
        where=f"{floats[0].op.name} {floats[0].label}",
        hint=quantize_hint(graph),
    )


def _differences(graph: Graph, content: bytes) -> Differences:
    """Return the differences between the file's own float arithmetic and the integer ops."""
    read = onnx_frontend.load(content).graph
    program = Session(Device.CPU, CompileOptions(backend="numpy")).compile(read)
    frames = random_inputs(graph, random_frames(graph))
    values, differing, largest = 0, 0, 0.0
    names = [v.name for v in graph.inputs], [v.name for v in read.inputs]
    for frame in range(len(frames[0])):
        sample = [array[frame] for array in frames]
        expected = evaluate(graph, dict(zip(names[0], sample, strict=True)))
        computed = program.run(dict(zip(names[1], sample, strict=True)))
        for y, other in zip(expected, computed, strict=True):
            apart = np.abs(np.asarray(y, np.float64) - np.asarray(other, np.float64))
            values += apart.size
            differing += int(np.count_nonzero(apart))
            largest = max(largest, float(apart.max(initial=0.0)))
    return Differences(values, differing, largest)
