"""Check of the backend ``xla`` on a GPU or TPU: equal integers, and times. Takes under 5 minutes.

    python tools/gpu_check.py [--device cuda] [--models FOLDER] [--networks 200]

It needs the packages of the tests, and ``jax`` with the plug-in of the device. It compares int8
products of 54 shapes (on Hopper GPUs XLA's Triton path is wrong for 12 of them), random integer
networks, and the int8 networks in a folder of ``.tflite`` files with NumPy, bit for bit. Then it
measures these networks, and the exchange with the device. It prints a table, and one line of JSON
with device and versions; the exit status is 1 if anything differs.

Tests: tests/tools/test_gpu_check.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from campaign import networks as random_networks  # noqa: E402

from rlx import frontends  # noqa: E402
from rlx.ir import DType, Graph, TensorType  # noqa: E402
from rlx.ops.numerics.fixed_point import Rescale  # noqa: E402
from rlx.ops.q import QDense  # noqa: E402
from rlx.ops.real import RealMatmul  # noqa: E402
from rlx.runtime import CompileOptions, Session, find_backend  # noqa: E402
from rlx.runtime.device import Device  # noqa: E402
from strategies.case import Case  # noqa: E402
from support.joined import join, results  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NETWORKS: Final = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
GROUP: Final = 20
"""Random networks that are compiled as one graph."""
BATCHES: Final = (1, 64)

SHAPES: Final = (
    (125, 40, 64), (125, 64, 64), (49, 9, 64), (1, 64, 12), (1024, 27, 16), (1024, 144, 16),
    (256, 288, 32), (64, 576, 64), (1, 64, 10), (1, 640, 128), (1, 128, 8), (1, 8, 128),
    (1, 128, 640), (2304, 27, 8), (2304, 8, 16), (576, 16, 32), (144, 32, 64), (36, 64, 128),
    (9, 128, 256), (9, 256, 256), (1, 256, 2), (64, 640, 128), (64, 128, 8), (64, 8, 128),
    (64, 64, 12), (64, 64, 10), (3, 17, 5), (50, 36, 24), (50, 33, 24), (128, 33, 6),
    (300, 39, 13), (77, 45, 30), (200, 12, 12), (128, 384, 1536), (128, 64, 128), (10, 10, 10),
    (33, 7, 3), (256, 50, 10), (1000, 784, 128), (1000, 30, 30), (256, 121, 9), (49, 1, 64),
    (16, 5, 16), (20, 20, 20), (512, 18, 24), (512, 22, 24), (99, 13, 32),
)  # fmt: skip
"""Rows, inner dimension and columns of products in real layers."""
BATCHED: Final = (
    (12, 32, 32, 32), (4, 17, 33, 65), (8, 49, 32, 49), (2, 10, 10, 10), (6, 64, 24, 64),
    (12, 128, 32, 128), (3, 5, 7, 9),
)  # fmt: skip
"""The same with a leading dimension."""


@dataclass
class Report:
    """Results.

    Attributes:
        rows: Lines of the table: subject, and result.
        times: Microseconds by name.
        different: Subjects that differ from NumPy.
    """

    rows: list[tuple[str, str]] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)

    def compare(self, subject: str, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Add the comparison of arrays with the right ones."""
        equal = [np.array_equal(a, b) for a, b in pairs]
        if not all(equal):
            self.different.append(subject)
        self.rows.append((subject, f"{sum(equal)} of {len(equal)} outputs equal"))


def product_case(shape: tuple[int, ...], random: np.random.Generator) -> Case:
    """Return an int8 product: a dense layer, or a batched product whose sums wrap."""
    *batch, rows, inner, columns = shape
    graph = Graph("product")
    x = graph.input("x", TensorType((*batch, rows, inner), DType.I8))
    second = (*batch, inner, columns) if batch else (columns, inner)
    w = graph.input("w", TensorType(second, DType.I8))
    if batch:
        graph.output(graph.apply(RealMatmul(), x, w))
    else:
        bias = graph.constant(np.zeros(columns, np.int32))
        op = QDense(x_zero_point=0, rescale=Rescale.of(1 / (32 * inner)), zero_point=0)
        graph.output(graph.apply(op, x, w, bias))
    inputs = {v.name: random_int8(v.type.static_shape, random) for v in graph.inputs}
    return Case(graph, inputs)


def random_int8(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return random int8 values."""
    return np.asarray(random.integers(-128, 128, shape)).astype(np.int8)


def network_case(seed: int, folder: Path, random: np.random.Generator) -> Case:
    """Return a random integer network with random inputs."""
    path = folder / f"{seed}.tflite"
    path.write_bytes(random_networks.make(seed))
    graph = frontends.load(path).graph
    inputs = {v.name: random_int8(v.type.static_shape, random) for v in graph.inputs}
    return Case(graph, inputs)


def check_cases(report: Report, subject: str, cases: Sequence[Case], device: str) -> None:
    """Compare cases with NumPy, some of them compiled together."""
    pairs: list[tuple[Any, Any]] = []
    begin = time.perf_counter()
    for start in range(0, len(cases), GROUP):
        graph, inputs, expected = join(cases[start : start + GROUP])
        options = CompileOptions(backend="xla")
        pairs += zip(results(graph, inputs, options, device), expected, strict=True)
    report.compare(subject, pairs)
    report.times[f"{subject}: seconds"] = round(time.perf_counter() - begin, 1)


def microseconds(run: Callable[[], object], minimum_s: float = 0.3) -> float:
    """Return the median time of a call."""
    run()
    times = []
    end = time.perf_counter() + minimum_s
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return round(1e6 * statistics.median(times), 1)


def check_models(report: Report, folder: Path, device: str) -> None:
    """Compare the networks with their vectors, and measure them."""
    for name in NETWORKS:
        graph = frontends.load(folder / f"{name}.tflite")
        begin = time.perf_counter()
        compiled = Session(device, CompileOptions(backend="xla")).compile(graph)
        report.times[f"{name}: seconds of compilation"] = round(time.perf_counter() - begin, 2)
        ((port, type_),) = compiled.input_types.items()
        with np.load(folder / "vectors" / f"{name}.npz") as vectors:
            x, y = vectors["x"].reshape(-1, *type_.shape[1:]), vectors["y"]
        (outputs,) = compiled.run({port: x})
        report.compare(name, zip(outputs.reshape(len(y), -1), y.reshape(len(y), -1), strict=True))
        for batch in BATCHES:
            samples = np.resize(x, (batch, *x.shape[1:]))
            time_us = microseconds(lambda c=compiled, p=port, s=samples: c.run({p: s}))
            report.times[f"{name}: us, batch of {batch}"] = time_us


def checked(device: str, models: Path | None, networks: int) -> Report:
    """Return the results on a device."""
    report, random = Report(), np.random.default_rng(7)
    products = [product_case(shape, random) for shape in (*SHAPES, *BATCHED)]
    check_cases(report, "int8 products", products, device)
    with tempfile.TemporaryDirectory() as folder:
        cases = [network_case(seed, Path(folder), random) for seed in range(networks)]
    check_cases(report, "random integer networks", cases, device)
    if models is not None:
        check_models(report, models, device)
    report.rows += [(name, str(value)) for name, value in report.times.items()]
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "rocm", "tpu", "cpu"])
    parser.add_argument("--models", type=Path, help="folder with .tflite files and vectors/")
    parser.add_argument("--networks", type=int, default=200, help="number of random networks")
    options = parser.parse_args(arguments)
    backend: Any = find_backend(Device(options.device), "xla")
    begin = time.perf_counter()
    report = checked(options.device, options.models, options.networks)
    seconds = round(time.perf_counter() - begin, 1)
    width = max(len(subject) for subject, _ in report.rows)
    sys.stdout.writelines(f"{subject:{width}}  {result}\n" for subject, result in report.rows)
    line = {
        "device": options.device, "compiler": backend.compiler(), "seconds": seconds,
        "different": report.different, "times": report.times,
    }  # fmt: skip
    sys.stdout.write(json.dumps(line) + "\n")
    return 1 if report.different else 0


if __name__ == "__main__":
    sys.exit(main())
