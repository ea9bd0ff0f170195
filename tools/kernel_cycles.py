"""Measure the cycles of kernels by core with the cycle models: data that predictions are made from.

    python tools/kernel_cycles.py [--check | --errors] [CORE ...]

Layers of the sweep are emitted with the kernels that are chosen, and with others by force, built
with GCC and run under unicorn (QEMU for the Cortex-M55) with a trace. A kernel's cycles are fitted
as a sum of a rate per instruction and one per product, by regression of the relative errors. The
networks of `compared` are not part of the sweep: the errors of their predictions are stored with
the rates, and printed by network; they include those of MLPerf Tiny if their files are available
(``RLX_SHARED``). ``--check`` writes nothing, and exits with 1 if a rate differs from the stored
one; ``--errors`` measures the errors only. Takes 3 to 6 minutes a core.

Tests: tests/tools/test_kernel_cycles.py
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from campaign import networks as random_networks  # noqa: E402
from targets.cortexm.forced import chosen_by, named  # noqa: E402
from targets.cortexm.graph_builder import golden_of, planned, write  # noqa: E402
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS  # noqa: E402

from benchmarks.cortexm import networks as mlperf_tiny  # noqa: E402
from rlx import frontends  # noqa: E402
from rlx.driver import driver  # noqa: E402
from rlx_cortexm import TARGET, CortexMOptions  # noqa: E402
from rlx_cortexm.cycles import CyclePrediction  # noqa: E402
from rlx_cortexm.cycles.rates import (  # noqa: E402
    CACHE_BYTES,
    LINE_BYTES,
    OTHER,
    CoreRates,
    KernelRates,
    core_rates,
)
from rlx_cortexm.estimate import constant_bytes  # noqa: E402
from rlx_cortexm.parts import Flash, flash_of, part  # noqa: E402
from rlx_cortexm.planning import settings_of  # noqa: E402
from rlx_cortexm.program import program  # noqa: E402
from rlx_sim.cycles.folder import FIRST_LAYER, TracedRun, traced_run  # noqa: E402
from rlx_sim.cycles.model import CycleModel  # noqa: E402
from rlx_sim.cycles.timings import timings_of  # noqa: E402
from rlx_sim.firmware.firmware import FirmwareBuild  # noqa: E402
from support.networks import mlperf_like  # noqa: E402
from targets.cortexm import network_layers as layers  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rlx.ir import Graph, GraphModule
    from rlx_c.program import LayerStep
    from rlx_sim.cycles.trace import Interval

FILE: Final = ROOT / "targets" / "cortexm" / "rlx_cortexm" / "cycles" / "rates.json"
CORES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "cortex-m0": ("cortex-m0", ("stm32f072xb",)),
    "cortex-m0plus": ("cortex-m0", ("stm32g071xb",)),
    "cortex-m3": ("cortex-m3", ("stm32f103xb",)),
    "cortex-m4": ("cortex-m4", ("stm32f446xe", "stm32l4r5xi")),
    "cortex-m7": ("cortex-m7", ("stm32f746xg",)),
    "cortex-m33": ("cortex-m33", ("stm32u575xi",)),
    "cortex-m55": ("cortex-m55", ()),
}
"""Core that the code is built for, and parts whose waits are compared, by the core of a timing
table."""

FORCED: Final[Mapping[str, tuple[str, ...]]] = {
    "layers_of_networks": ("blocks", "ready blocks", "winograd", "conv2d"),
    "depthwise_of_networks": ("planes along", "planes down", "depthwise"),
    "dense_layers_of_networks": ("quads", "dense"),
    "elements": ("add table", "avg pool2d lanes", "plain"),
}
"""Beginnings of the names of kernels that layers are also computed with, by graph."""

RANDOM: Final = (14, 92, 65)
"""Seeds of random networks that predictions are compared for."""

MIN_INSTRUCTIONS: Final = 200
"""Instructions from which on a layer counts: the call is a small part of them."""
MIN_LAYERS: Final = 6
"""Layers with products from which on a kernel has a rate per product."""
TIMEOUT_S: Final = 300.0
PREFIX: Final = "net"


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced program.

    Attributes:
        steps: Its layers.
        run: The run.
    """

    steps: Sequence[LayerStep]
    run: TracedRun

    def intervals(self) -> Sequence[Interval]:
        """Return the execution of each layer, and at the end that of the hook alone."""
        following = self.run.trace.intervals[FIRST_LAYER:]
        return [*following[: len(self.steps)], following[len(self.steps) + 1]]

    def cycles(self, core: str, flash: Flash) -> list[int]:
        """Return the modelled cycles of each layer."""
        model = CycleModel(self.run.code, timings_of(core), flash)
        *counts, hook = (model.cycles(self.run.trace, one) for one in self.intervals())
        return [max(0, count - hook) for count in counts]


@dataclass(frozen=True, slots=True)
class Sample:
    """A layer of the sweep.

    Attributes:
        template: Template of its kernel.
        instructions: Its instructions, counted.
        products: Its products.
        cycles: Its modelled cycles without wait states.
        code_bytes: Bytes of executed code.
        sequential: Lines of code entered from the line before, by width.
        jumps: Lines entered otherwise.
        uncached: Lines entered outside of those that a cache of :data:`CACHE_BYTES` keeps.
        constants: Reads of constants from another line.
    """

    template: str
    instructions: int
    products: int
    cycles: int
    code_bytes: int
    sequential: tuple[int, ...]
    jumps: tuple[int, ...]
    uncached: tuple[int, ...]
    constants: tuple[int, ...]


def sweep(cpu: str) -> Iterator[Traced]:
    """Yield the programs of the sweep."""
    graphs = [getattr(layers, name) for name in (*FORCED, "others_of_networks")]
    for make in (*graphs, *KERNEL_GRAPHS):
        for start in (None, *FORCED.get(make.__name__, ())):
            sys.stderr.write(f"{cpu} {make.__name__} {start or ''}\n")
            with nullcontext() if start is None else chosen_by(named(start)):
                yield traced_graph(make(), cpu)


def traced_graph(graph: Graph, cpu: str) -> Traced:
    """Return a traced program of a graph as it is."""
    return traced(planned(graph, cpu=cpu), cpu)


def traced(module: GraphModule, cpu: str) -> Traced:
    """Return a traced program of a module with a plan."""
    options = CortexMOptions(prefix=PREFIX, cpu=cpu)
    steps = program(module, settings_of(options)).steps
    with tempfile.TemporaryDirectory(prefix="rlx-kernels-") as work:
        folder = write(Path(work) / "net", TARGET.emit(module, options))
        for name, content in golden_of(module.graph, 1).files().items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        scratch = Path(work) / "run"
        scratch.mkdir()
        run = traced_run(folder, cpu, PREFIX, scratch, reads=True, timeout_s=TIMEOUT_S)
    return Traced(steps, run)


def samples(program: Traced, core: str) -> Iterator[Sample]:
    """Yield the layers of a program that are large enough."""
    cycles, run = program.cycles(core, Flash()), program.run
    rows = zip(program.steps, run.instructions, cycles, program.intervals(), strict=False)
    for step, instructions, expected, interval in rows:
        if step.layer.kernel is None or instructions < MIN_INSTRUCTIONS:
            continue
        lines = [_lines(run, interval, width) for width in LINE_BYTES]
        sequential, jumps, uncached = zip(*lines, strict=True)
        yield Sample(
            step.layer.kernel.template, instructions, step.layer.macs, expected,
            sum(run.trace.blocks[block][1] * count for _, block, count in interval.pairs),
            sequential, jumps, uncached,
            tuple(interval.line_changes[width] for width in LINE_BYTES if interval.line_changes),
        )  # fmt: skip


def _lines(run: TracedRun, interval: Interval, width: int) -> tuple[int, int, int]:
    """Return lines entered in sequence and otherwise, and those outside of a cache."""
    entries = CycleModel(run.code, timings_of("cortex-m4"), Flash(1, width)).entries(
        run.trace, interval
    )
    sequential, jumps = Counter[int](), Counter[int]()
    for entry in entries:
        sequential.update(entry.next_lines)
        (sequential if entry.is_sequential else jumps)[entry.line] += entry.count
    total = sequential + jumps
    cached = sum(count for _, count in total.most_common(CACHE_BYTES // width))
    return sequential.total(), jumps.total(), total.total() - cached


def fitted(rows: Sequence[Sample]) -> KernelRates:
    """Return the rates of a kernel by its layers."""
    instructions = sum(row.instructions for row in rows)
    each = [row.cycles / row.instructions for row in rows]
    instruction, product = sum(row.cycles for row in rows) / instructions, 0.0
    if sum(row.products > 0 for row in rows) >= MIN_LAYERS:
        matrix = np.array([[r.instructions / r.cycles, r.products / r.cycles] for r in rows])
        instruction, product = np.linalg.lstsq(matrix, np.ones(len(rows)), rcond=None)[0].tolist()
    columns = {
        name: np.sum([getattr(row, name) for row in rows], axis=0)
        for name in ("sequential", "jumps", "uncached", "constants")
    }
    columns["uncached"] = columns["uncached"] / (columns["sequential"] + columns["jumps"])
    per_instruction = ("sequential", "jumps", "constants")
    return KernelRates(
        instruction=_rounded(instruction), product=_rounded(product), low=_rounded(min(each)),
        high=_rounded(max(each)),
        code_bytes=_rounded(sum(row.code_bytes for row in rows) / instructions),
        **{
            name: tuple(_rounded(v / (instructions if name in per_instruction else 1)) for v in row)
            for name, row in columns.items()
        },
    )  # fmt: skip


def _rounded(value: float) -> float:
    return round(float(value), 4)


def rates_of(rows: Iterable[Sample]) -> dict[str, KernelRates]:
    """Return the rates of each kernel, and of all together."""
    by_kernel: dict[str, list[Sample]] = defaultdict(list)
    for row in rows:
        by_kernel[row.template].append(row)
        by_kernel[OTHER].append(row)
    return {template: fitted(group) for template, group in sorted(by_kernel.items())}


def compared() -> Iterator[tuple[str, GraphModule]]:
    """Yield the networks that predictions are compared for, by name."""
    with tempfile.TemporaryDirectory(prefix="rlx-kernels-") as work:
        path = Path(work) / "net.tflite"
        contents = {name: mlperf_like.network(name) for name in mlperf_like.NETWORKS}
        contents |= {f"random {seed}": random_networks.make(seed) for seed in RANDOM}
        for name, content in contents.items():
            path.write_bytes(content)
            yield name, frontends.load(path)
    for name, file in mlperf_tiny.files().items():
        yield name, frontends.load(file)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted next to modelled cycles of a network.

    Attributes:
        network: Its name.
        memory: Memory with code and constants, in words.
        modelled: Cycles by the model of the core.
        predicted: Cycles from estimated instructions.
    """

    network: str
    memory: str
    modelled: int
    predicted: int

    @property
    def error(self) -> float:
        """Error of the prediction, relative to the modelled cycles."""
        return self.predicted / self.modelled - 1


def comparisons(
    name: str, program: Traced, rates: CoreRates, flashes: Iterable[Flash]
) -> Iterator[Comparison]:
    """Yield predicted next to modelled cycles of a program with each memory."""
    for flash in flashes:
        prediction = CyclePrediction(rates, flash)
        predicted = sum(prediction.layer(step, constant_bytes(step)) for step in program.steps)
        modelled = sum(program.cycles(rates.core, flash))
        yield Comparison(name, str(flash), modelled, predicted)


def measured(cores: Sequence[str]) -> dict[str, Any]:
    """Return the entries of the file for some cores."""
    entries = {}
    for code in dict.fromkeys(CORES[core][0] for core in cores):
        rows: dict[str, list[Sample]] = {core: [] for core in cores if CORES[core][0] == code}
        for program_of_graph in sweep(code):
            for core, core_rows in rows.items():
                core_rows += samples(program_of_graph, core)
        build = FirmwareBuild(code)
        compiler = f"{build.compiler} {build.tool().version}"
        entries |= {
            core: {"code": code, "compiler": compiler, "kernels": rates_of(core_rows)}
            for core, core_rows in rows.items()
        }
        _compare(code, entries)
    return entries


def compared_again(cores: Sequence[str]) -> dict[str, Any]:
    """Return the entries of the file for some cores, with the stored rates and new errors."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    entries = {}
    for core in cores:
        rates = core_rates(core)
        assert rates is not None
        entries[core] = {**stored[core], "kernels": dict(rates.kernels)}
    for code in dict.fromkeys(CORES[core][0] for core in cores):
        _compare(code, entries)
    return entries


def _compare(code: str, entries: dict[str, Any]) -> None:
    """Add the errors of predictions to the entries of a code's cores, and print each."""
    programs = {
        name: traced(driver.lower(module, TARGET, options=CortexMOptions(cpu=code)).module, code)
        for name, module in compared()
    }
    for core, entry in entries.items():
        if entry["code"] != code:
            continue
        flashes = [Flash(), *(flash_of(part(key), None) for key in CORES[core][1])]
        rates = CoreRates(core, entry["kernels"], 0, 0, entry["compiler"])  # errors: not yet known
        rows = [
            row for name, one in programs.items() for row in comparisons(name, one, rates, flashes)
        ]
        for row in rows:
            sys.stdout.write(
                f"{core} {row.network}, {row.memory}: modelled {row.modelled},"
                f" predicted {row.predicted}, {100 * row.error:+.1f} %\n"
            )
            sys.stdout.flush()
        real = [row for row in rows if not row.network.startswith("random")]
        entry["error"] = _worst(row for row in real if row.memory == str(Flash()))
        entry["wait_error"] = _worst(row for row in real if row.memory != str(Flash()))


def _worst(rows: Iterable[Comparison]) -> float | None:
    """Return the largest error, rounded up to a percent; None without any."""
    errors = [abs(row.error) for row in rows]
    return math.ceil(100 * max(errors)) / 100 if errors else None


def text_of(entries: Mapping[str, Any]) -> str:
    """Return the content of the file: a line for each kernel."""
    plain = json.loads(json.dumps(entries, default=_as_json))
    cores = [
        f"{json.dumps(core)}: {{\n"
        + "".join(f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in row.items() if k != "kernels")
        + ' "kernels": {\n'
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in row["kernels"].items())
        + "\n }\n}"
        for core, row in plain.items()
    ]
    return "{\n" + ",\n".join(cores) + "\n}\n"


def _as_json(rates: KernelRates) -> dict[str, Any]:
    names = KernelRates.__dataclass_fields__
    return {name: value for name in names if (value := getattr(rates, name)) not in ((), None)}


def main() -> int:
    """Measure and write or compare; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--errors", action="store_true", help="compare networks, keep the rates")
    parser.add_argument("cores", nargs="*", metavar="CORE", choices=[*CORES, []])
    arguments = parser.parse_args()
    cores = arguments.cores or list(CORES)
    entries = compared_again(cores) if arguments.errors else measured(cores)
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    entries = {**stored, **entries}
    text = text_of({core: entries[core] for core in CORES if core in entries})
    if arguments.check:
        return int(text != FILE.read_text(encoding="utf-8"))
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
