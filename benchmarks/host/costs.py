"""Costs of the host runtime besides its runs: compilation, import and memory.

Seconds are of the processor, the minimum of some. Imports are measured in new processes, as a ratio
to that of NumPy; the check compares the number of modules that they load, because that repeats on
every machine. Peak memory is that of a process that loads a network, compiles it and runs it
three times; ``over_bytes`` is the part of it beyond the arena and the weights, the interpreter and
NumPy included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.host.machine import ROOT, RUNTIME, versions
from benchmarks.host.networks.encoder import encoder
from benchmarks.host.networks.mlp import mlp
from benchmarks.host.networks.resnet import resnet
from rlx.ir import Constant
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.runtime import CompileOptions, Device, Session, find_backend
from rlx.runtime.lowering import lower
from rlx.tracing import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STORED: Final = ROOT / "benchmarks" / "results" / "host_costs.jsonl"
KEY: Final = ("what", "runtime")
COSTS: Final = {"over_bytes": 8_000_000.0, "modules": 0.0}
"""Figures that must not grow. Allocators differ by a little."""

OPTIONS: Final = CompileOptions(backend="numpy")
BACKEND: Final = find_backend(Device.CPU, "numpy")

OPS: Final = (300, 3000)
PER_BLOCK: Final = 10
TIMES: Final = tuple(f"{what} {ops} ops" for what in ("compile", "plan") for ops in OPS)
IMPORTS: Final = {
    "import rlx": "import rlx",
    "import rlx and its session": "import rlx; rlx.Session, rlx.Graph",
}
MEMORY: Final = ("MLP", "ResNet-8, batch 64", "encoder")
IMPORT_PROCESSES: Final = 15
"""New processes for each import."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each cost."""
    for row in (*_compile_times(), *_import_times(), *_memory()):
        yield {"runtime": RUNTIME, **row, **versions()}


def blocks(ops: int, width: int = 16) -> Graph:
    """Return a graph of ``ops`` ops, :data:`PER_BLOCK` in each block; small, so only they cost."""
    graph = Graph("blocks")
    generator = np.random.default_rng(0)
    x = graph.input("x", (4, width))
    for _ in range(ops // PER_BLOCK):
        weights = generator.standard_normal((width, width)).astype(np.float32)
        bias = generator.standard_normal(width).astype(np.float32)
        hidden = (x @ weights + bias).maximum(0.0)
        total = x + hidden
        centred = total - total.mean(1, keep_dims=True)
        scale = (centred * centred).mean(1, keep_dims=True).sqrt()
        x = centred / scale
    graph.output(x, names=["y"])
    return graph


def _compile_times() -> Iterator[dict[str, Any]]:
    session = Session(Device.CPU, OPTIONS)
    session.compile(blocks(PER_BLOCK))

    def plan(module: GraphModule) -> None:
        BACKEND.plan(replace(module, stage=Stage.MIR, plan=None), OPTIONS)

    for ops in OPS:
        graph = blocks(ops)
        yield {
            "what": f"compile {ops} ops",
            "seconds": _seconds(lambda g=graph: session.compile(g)),
        }
        lowered = _lowered(graph)
        yield {"what": f"plan {ops} ops", "seconds": _seconds(lambda m=lowered: plan(m))}


def _lowered(graph: Graph) -> GraphModule:
    """Return a graph as the backend compiles it, with its plan."""
    return lower(graph.graph, BACKEND, OPTIONS).module


def _seconds(call: Callable[[], object], count: int = 3) -> float:
    """Return the minimum of processor seconds of some calls."""
    times = []
    for _ in range(count):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return round(min(times), 3)


_IMPORT: Final = """\
import json, sys, time
before = set(sys.modules)
start = time.process_time()
{code}
seconds = time.process_time() - start
foreign = [n for n in set(sys.modules) - before if n.split(".")[0] not in sys.stdlib_module_names]
print(json.dumps([seconds, len(foreign)]))
"""
"""Prints the processor time of an import, and the modules it loads apart from those of Python."""


def _import_times() -> Iterator[dict[str, Any]]:
    """Yield the ratios of imports, measured alternately with NumPy's, and the modules they load."""
    programs = {"import numpy": "import numpy", **IMPORTS}
    measurements: dict[str, list[tuple[float, int]]] = {name: [] for name in programs}
    for _ in range(IMPORT_PROCESSES):
        for name, code in programs.items():
            measurements[name].append(tuple(json.loads(_output(_IMPORT.format(code=code)))))
    fastest = {name: min(times) for name, times in measurements.items()}
    numpy, _ = fastest.pop("import numpy")
    for name, (seconds, modules) in fastest.items():
        yield {
            "what": name, "modules": modules, "seconds": round(seconds, 4),
            "ratio": round(seconds / numpy, 3),
        }  # fmt: skip


_MEMORY: Final = """\
import json, re, sys
from pathlib import Path
import numpy as np
import rlx

def peak():
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", text)[1]) * 1024

net = rlx.Session("cpu").compile(rlx.load(sys.argv[1]))
inputs = {n: np.zeros(t.static_shape, t.dtype.numpy) for n, t in net.input_types.items()}
whole = peak()
Path("/proc/self/clear_refs").write_text("5")  # reset the peak
for _ in range(3):
    net.run(inputs)
print(json.dumps([whole, peak()]))
"""
"""Prints the peak memory of loading and compiling, and that of three runs."""


def _memory() -> Iterator[dict[str, Any]]:
    """Yield the memory of some networks, where the system reports peaks."""
    if not Path("/proc/self/clear_refs").exists():
        return
    cases = (mlp(), resnet(64), encoder())
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as folder:
        for name, case in zip(MEMORY, cases, strict=True):
            file = Path(folder) / "net.rlx"
            save(case.graph.module, file)
            before, peak = json.loads(_output(_MEMORY, str(file)))
            arena = _lowered(case.graph).plan.arena_bytes
            weights = sum(
                n.op.value.nbytes for n in case.graph.graph.nodes if isinstance(n.op, Constant)
            )
            yield {
                "what": f"memory, {name}", "peak_bytes": peak, "compile_peak_bytes": before,
                "arena_bytes": arena, "weight_bytes": weights,
                "over_bytes": peak - arena - weights,
            }  # fmt: skip


def _output(code: str, *arguments: str) -> str:
    """Return the output of a new process."""
    completed = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=_environment(),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return completed.stdout


def _environment() -> dict[str, str]:
    """Return the variables of a measured process: one thread, and bytecode kept between starts."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}
