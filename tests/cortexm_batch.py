"""Many small networks in one emitted folder, so that a compiler starts once for all of them.

The folder looks like that of one network with one input and one output: the frames of all cases one
after the other. Every simulator of ``rlx_sim`` can run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.firmware import Port, firmware_files

from rlx.golden import Golden
from rlx.ir import GraphModule, Stage
from rlx.ir.evaluate import evaluate
from rlx.ir.printer import format_graph
from rlx.plan import to_lir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from strategies import Case

    from rlx.ir import Array, Graph
    from rlx.target import Emission
    from rlx_sim.protocol import Simulator

ALIGNMENT = 4


def planned(graph: Graph) -> GraphModule:
    """Return ``graph`` with a memory plan, as it is: no pass runs."""
    return to_lir(GraphModule(graph, Stage.MIR), in_place=TARGET.in_place)


def emit_graph(graph: Graph, prefix: str = "net", **options: object) -> Emission:
    """Return the emission of ``graph``, as it is."""
    return TARGET.emit(planned(graph), CortexMOptions(prefix=prefix, **options))


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write emitted files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@dataclass(frozen=True)
class Slot:
    """The bytes of one array in the batch's frame."""

    begin: int
    nbytes: int


class Batch:
    """Cases, emitted, with the frame that holds all their inputs and outputs."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.emissions = [emit_graph(c.graph, f"c{i}") for i, c in enumerate(cases)]
        self._inputs = [[c.inputs[v.name] for v in c.graph.inputs] for c in cases]
        self._expected = [evaluate(c.graph, c.inputs) for c in cases]
        self._input_slots, self.input_bytes = _slots(self._inputs)
        self._output_slots, self.output_bytes = _slots(self._expected)
        self.arena_bytes = max(e.report["arena_bytes"] for e in self.emissions)

    def check(self, folder: Path, *simulators: Simulator, timeout_s: float = 120) -> None:
        """Run the batch on each simulator; fail with the graph of the first case that differs."""
        write(folder, self.files())
        for simulator in simulators:
            (frames,) = simulator.simulate(folder, self.golden(), timeout_s=timeout_s).outputs
            for case, slots, expected in zip(
                self.cases, self._output_slots, self._expected, strict=True
            ):
                for slot, array in zip(slots, expected, strict=True):
                    raw = frames[0, slot.begin : slot.begin + slot.nbytes].tobytes()
                    actual = np.frombuffer(raw, array.dtype).reshape(array.shape)
                    text = format_graph(case.graph)
                    np.testing.assert_array_equal(actual, array, f"{simulator.name}\n{text}")

    def golden(self) -> Golden:
        """Return the frame with all inputs, and the one with all outputs."""
        return Golden(
            (_frame(self._inputs, self._input_slots, self.input_bytes),),
            (_frame(self._expected, self._output_slots, self.output_bytes),),
        )

    def files(self) -> dict[str, str]:
        """Return the folder's files."""
        files = {
            name: content
            for emission in self.emissions
            for name, content in emission.files.items()
            if name.startswith(("src/", "include/"))
        }
        sizes = [Port(str(self.input_bytes))], [Port(str(self.output_bytes))]
        return {
            **files,
            "include/batch.h": "#include <stdint.h>\n"
            "int32_t batch_run(const int8_t *input, int8_t *output, void *arena);\n",
            "src/batch.c": self._source(),
            **firmware_files("batch", *sizes, arena_bytes=str(self.arena_bytes)),
        }

    def _source(self) -> str:
        includes = "".join(f'#include "c{i}.h"\n' for i in range(len(self.cases)))
        calls = "".join(f"  status |= {self._call(i)};\n" for i in range(len(self.cases)))
        return (
            f'#include "batch.h"\n{includes}'
            "int32_t batch_run(const int8_t *input, int8_t *output, void *arena)\n"
            "{\n  int8_t *const memory = (int8_t *)arena;\n  int32_t status = 0;\n"
            f"{calls}  return status;\n}}\n"
        )

    def _call(self, index: int) -> str:
        """Return the call of one case; its arena ends where the batch's does, before the guard."""
        inputs = [f"input + {s.begin}" for s in self._input_slots[index]]
        outputs = [
            f"({'int32_t' if a.dtype == np.int32 else 'int8_t'} *)(void *)(output + {s.begin})"
            for s, a in zip(self._output_slots[index], self._expected[index], strict=True)
        ]
        arena = f"memory + {self.arena_bytes} - C{index}_ARENA_BYTES"
        return f"c{index}_run({', '.join([*inputs, *outputs, arena])})"


def _slots(arrays: Sequence[Sequence[Array]]) -> tuple[list[list[Slot]], int]:
    """Return a place for each array of each case, and the size of the frame."""
    slots, end = [], 0
    for group in arrays:
        row = []
        for array in group:
            row.append(Slot(end, array.nbytes))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        slots.append(row)
    return slots, end


def _frame(arrays: Sequence[Sequence[Array]], slots: list[list[Slot]], nbytes: int) -> Array:
    """Return the arrays in one frame [1, nbytes]."""
    frame = np.full((1, nbytes), 0x55, np.int8)
    for group, row in zip(arrays, slots, strict=True):
        for array, slot in zip(group, row, strict=True):
            codes = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.int8)
            frame[0, slot.begin : slot.begin + slot.nbytes] = codes
    return frame
