"""Emitted hardware in a 4-state simulator, disturbed: cases by number, each a network.

Icarus runs a bench of its own (``axi_bench.sv.j2``) around the emitted core: valid and ready at
random, x on whatever is not valid, resets inside of frames. It counts wrong, unknown and unstable
outputs, dropped offers, wrong ``tlast``, and frames that begin before their input.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from campaign.part import Outcome, Part
from rlx.driver.driver import emit
from rlx.driver.reference import reference_outputs
from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAveragePool2d, QClamp, QConcat, QConv2d, QDense, QPad, QReshape, Window
from rlx.support.errors import RlxError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.architectures import ARCHITECTURES
from rlx_sim.hardware.icarus import build_testbench
from strategies import random_graphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Array

FRAMES: Final = 6
"""Different frames that a network is given."""

ROUNDS: Final = 8
"""Seeds of each network in each architecture."""

DRAWN: Final = 12
"""Random networks beside those written here."""

WRITTEN: Final = 3
"""Networks written here."""

CYCLES: Final = 10_000
"""Cycles of a case."""

STUCK_CYCLES: Final = 4_000
"""Cycles without a transfer on any port after which a design counts as stuck."""

RESET_EVERY: Final = 1_000
"""Cycles between resets, on average."""

TIMEOUT_S: Final = 900.0

_DONE: Final = re.compile(r"^DONE cycles=(\d+) frames=(\d+) resets=(\d+) violations=(\d+)$", re.M)
_FINDING: Final = re.compile(r"^FINDING (.*)$", re.M)


@dataclass
class Result:
    """Result of one case.

    Attributes:
        cycles: Simulated; 0 if the architecture refuses the network.
        frames: That came out of the first output.
        resets: Inside of frames.
        violations: Checks that failed.
        findings: The first of them, a line each.
    """

    cycles: int = 0
    frames: int = 0
    resets: int = 0
    violations: int = 0
    findings: list[str] = field(default_factory=list)


def cases(rounds: int = ROUNDS) -> Iterable[str]:
    """Yield the names of all cases, the same ones in the same order every time."""
    for number, name, architecture in itertools.product(range(rounds), networks(), ARCHITECTURES):
        yield f"{name}/{architecture}/{number}"


def run(case: str, cycles: int = CYCLES) -> Result:
    """Emit the network of a case, simulate it, and return the counts."""
    name, architecture, number = case.split("/")
    graph = networks()[name]
    frames = _frames(graph, int(number))
    golden = reference_outputs(graph, frames)
    module, options = (
        GraphModule(graph, Stage.MIR),
        FpgaOptions(architecture=architecture, prefix="net"),
    )
    with tempfile.TemporaryDirectory(prefix="rlx-bench-") as root:
        folder = Path(root) / "net"
        try:
            emit(module, TARGET, folder, options=options, golden=golden)
        except RlxError:
            return Result()
        ports = json.loads((folder / "report.json").read_text())["interface"]
        return _simulated(folder, ports, (*frames, *golden.outputs), int(number), cycles)


def _simulated(
    folder: Path, ports: dict[str, Any], arrays: Sequence[Array], seed: int, cycles: int
) -> Result:
    """Write the bench beside a design, and run it."""
    described = [_port(port) for port in (*ports["inputs"], *ports["outputs"])]
    for port, array in zip(described, arrays, strict=True):
        (folder / port["file"]).write_text(_words(array, port))
    count = len(ports["inputs"])
    source = Path(__file__).with_name("axi_bench.sv.j2").read_text()
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, autoescape=False
    )
    text = environment.from_string(source).render(
        inputs=described[:count], outputs=described[count:], top=ports["top"], frames=FRAMES,
        cycles=cycles, stuck=STUCK_CYCLES, seed=seed + 1, reset_every=RESET_EVERY,
    )  # fmt: skip
    (folder / "bench.sv").write_text(text)
    sources = [*ports["sources"], "bench.sv"]
    argv = build_testbench(sources, "bench", cwd=folder, output=folder, timeout_s=TIMEOUT_S)
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    verdict = _DONE.search(done.stdout)
    if verdict is None:
        return Result(violations=1, findings=[f"no verdict: {(done.stdout + done.stderr)[-300:]}"])
    return Result(*map(int, verdict.groups()), findings=_FINDING.findall(done.stdout))


def _port(port: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": port["name"], "bits": port["tdata_bits"], "beats": port["beats"],
        "lanes": port["lanes"], "file": f"{port['name']}.hex",
    }  # fmt: skip


def _words(array: Array, port: dict[str, Any]) -> str:
    """Return the beats of all frames as hexadecimal numbers, a line each."""
    beats = array.reshape(-1, port["lanes"])
    return "".join(f"{int.from_bytes(beat.tobytes(), 'little'):x}\n" for beat in beats)


def _frames(graph: Graph, seed: int) -> tuple[Array, ...]:
    """Return random codes for each input, one frame of extremes among them."""
    random = np.random.default_rng(seed)
    found = []
    for value in graph.inputs:
        codes = random.integers(-128, 128, (FRAMES, *value.type.static_shape)).astype(np.int8)
        codes[0] = np.where(codes[0] < 0, -128, 127)
        found.append(codes)
    return tuple(found)


@cache
def networks() -> dict[str, Graph]:
    """Return the networks by name: some with what was wrong once, and random ones."""
    found = {
        "classifier": _classifier(),
        "constants": _constants(),
        "one_tap": _one_tap(),
    }

    @settings(
        max_examples=4 * DRAWN, phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
        derandomize=True, database=None,
    )  # fmt: skip
    @given(random_graphs(size=3))
    def collect(case: Any) -> None:
        if len(found) < WRITTEN + DRAWN and len(list(case.graph.op_nodes)) > 1:
            found[f"random{len(found) - WRITTEN}"] = case.graph

    collect()
    return found


def _classifier() -> Graph:
    """Return a padded convolution and a dense layer."""
    random = np.random.default_rng(1)
    graph = Graph("classifier")
    x = graph.input("x", i8(1, 3, 3, 2))
    weights = graph.constant(random.integers(-127, 128, (2, 2, 2, 2)).astype(np.int8))
    bias = graph.constant(random.integers(-500, 500, 2).astype(np.int32))
    window = Window.same((3, 3), (2, 2))
    scale = {"x_zero_point": 3, "rescale": Rescale.of(0.003), "zero_point": -4}
    y = graph.apply(QConv2d(window=window, **scale), x, weights, bias)
    y = graph.apply(QReshape(shape=(1, 18)), y)
    weights = graph.constant(random.integers(-127, 128, (3, 18)).astype(np.int8))
    bias = graph.constant(random.integers(-500, 500, 3).astype(np.int32))
    graph.output(graph.apply(QDense(**scale), y, weights, bias))
    return graph


def _constants() -> Graph:
    """Return padding, and constants before a tensor along two axes."""
    random = np.random.default_rng(2)
    graph = Graph("constants")
    x = graph.input("x", i8(1, 2, 2, 2))
    y = graph.apply(QPad(before=(0, 1, 0, 0), after=(0, 0, 1, 0), value=7), x)
    for axis, shape in ((3, (1, 3, 3, 1)), (1, (1, 2, 3, 3))):
        constant = graph.constant(random.integers(-128, 128, shape).astype(np.int8))
        y = graph.apply(QConcat(axis=axis), constant, y)
    graph.output(y)
    return graph


def _one_tap() -> Graph:
    """Return two branches of one beat a pixel, joined along channels."""
    graph = Graph("one_tap")
    x = graph.input("x", i8(1, 2, 2, 1))
    pool = graph.apply(QAveragePool2d(window=Window((1, 1))), x)
    graph.output(graph.apply(QConcat(axis=3), pool, graph.apply(QClamp(low=0), x)))
    return graph


@cache
def _listed() -> tuple[str, ...]:
    return tuple(cases())


def _run_numbered(number: int) -> Outcome:
    found = run(_listed()[number])
    amounts = {"cycles": found.cycles, "frames": found.frames, "resets": found.resets}
    finding = f"{_listed()[number]}: {found.findings}" if found.violations else ""
    return Outcome("clean" if found.cycles else "refused", finding, amounts)


DISTURBED = Part(
    name="bench",
    title="hardware in a 4-state bench: pauses, X on idle buses, resets in frames",
    goal="1,000,000 cycles, 0 violations",
    run=_run_numbered,
    cases=ROUNDS * (DRAWN + WRITTEN) * len(ARCHITECTURES),
    short=0,
    deadline_s=TIMEOUT_S,
    marks=("sim",),
)
