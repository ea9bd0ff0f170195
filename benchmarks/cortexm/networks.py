"""Networks as C on an emulated Cortex-M4: instructions by layer, bytes, stack.

Counts are exact and the same on every machine with the same compiler (QEMU, ``-icount shift=6``).
The digits network is in the repository; those of MLPerf Tiny are read from ``RLX_SHARED`` (or
``../shared``) if available.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import reference
from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.targets import target
from rlx_cortexm import CortexMOptions
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.profile import profile
from rlx_sim.protocol import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import GraphModule

ROOT = Path(__file__).parents[2]
STORED = ROOT / "benchmarks" / "results" / "cortexm.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = ("network", "cpu", "compiler", "optimization")
"""Entries of a row that identify the measurement."""

COSTS = (
    "instructions", "text_bytes", "const_bytes",
    "arena_bytes", "arena_with_io_bytes", "stack_bytes",
)  # fmt: skip
"""Entries of a row that must not grow."""

NETWORKS = {
    "KWS": "kws_ref_model.tflite",
    "IC": "pretrainedResnet_quant.tflite",
    "VWW": "vww_96_int8.tflite",
    "AD": "ad01_int8.tflite",
}
"""Short names of MLPerf Tiny to the files of its int8 models."""

TIMEOUT_S = 300.0
PREFIX = "net"


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each available network."""
    for name, file in files().items():
        yield row(name, file)


def files() -> dict[str, Path]:
    """Return the available networks, by name."""
    paths = {name: reference.tiny() / file for name, file in NETWORKS.items()}
    paths["digits"] = ROOT / "examples" / "digits" / "digits.rlx"
    return {name: path for name, path in sorted(paths.items()) if path.is_file()}


def row(name: str, file: Path, build: FirmwareBuild | None = None) -> dict[str, Any]:
    """Return the costs of one network, with a row for each layer.

    Raises:
        AssertionError: Its outputs differ from the reference's.
    """
    build = build or FirmwareBuild()
    module = frontends.load(file)
    golden = reference_outputs(module.graph, random_inputs(module.graph, 1))
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work) / "net"
        options = CortexMOptions(prefix=PREFIX, cpu=build.cpu)
        emission = driver.emit(
            module, target.load("cortexm"), folder, options=options, golden=golden
        )
        costs = profile(folder, PREFIX, golden, build=build, timeout_s=TIMEOUT_S)
    if compare(name, costs.simulation, golden) or costs.simulation.instructions is None:
        raise AssertionError(f"{name} does not compute the reference's bits")
    layers = zip(emission.report["layers"], costs.layers, strict=True)
    return {
        "network": name,
        "cpu": build.cpu,
        "compiler": f"{build.compiler} {build.tool().version}",
        "optimization": build.optimization,
        "instructions": costs.simulation.instructions[0],
        "text_bytes": costs.text_bytes,
        "const_bytes": costs.const_bytes,
        "arena_bytes": emission.report["arena_bytes"],
        "stack_bytes": costs.stack_bytes,
        "arena_with_io_bytes": arena_with_ports(module, build.cpu),
        "io_bytes": sum(v.type.nbytes for v in (*module.graph.inputs, *module.graph.outputs)),
        "macs": emission.report["macs"],
        "layers": [
            {
                "op": layer["op"],
                "name": layer["name"],
                "result": layer["result"],
                "macs": layer["macs"],
                "estimate": layer["instructions"],
                "instructions": count,
            }
            for layer, count in layers
        ],
    }


def arena_with_ports(module: GraphModule, cpu: str) -> int:
    """Return the bytes of an arena with inputs and outputs in it."""
    cortexm, options = target.load("cortexm"), CortexMOptions(prefix=PREFIX, cpu=cpu, io="arena")
    planned = driver.lower(module, cortexm, options=options).module
    return int(cortexm.estimate(planned, options)["arena_bytes"])
