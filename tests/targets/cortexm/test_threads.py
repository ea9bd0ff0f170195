"""Emitted networks are re-entrant: threads run two of them at once, one in two contexts."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import classifier, convolutions

from rlx.support.process import run
from rlx_sim.firmware.host_c import WARNINGS
from support import require_program

pytestmark = pytest.mark.sim

FRAMES = 4
TIMEOUT_S = 300
NETWORKS = {"one": classifier, "two": convolutions}
# The first network twice: the second context takes the frames in the other order.
CONTEXTS = [("one", 1), ("one", FRAMES - 1), ("two", 1)]

THREAD = """
static void *thread_{index}(void *unused)
{{
  static _Alignas({macro}_ARENA_ALIGN) uint8_t arena[{macro}_ARENA_BYTES];
  {outputs}
  (void)unused;
  pthread_barrier_wait(&start);
  for (int step = 0; step < ROUNDS * FRAMES; step++) {{
    const int frame = step * {stride} % FRAMES;
    int wrong = {prefix}_run({arguments}, arena) != {macro}_OK;
    {compare}
    different_{index} += wrong;
  }}
  return NULL;
}}
"""

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
{headers}
#define FRAMES {frames}
#define ROUNDS 50
static pthread_barrier_t start;
{threads}
int main(void)
{{
  void *(*const runs[])(void *) = {{{runs}}};
  pthread_t threads[{count}];
  if (pthread_barrier_init(&start, NULL, {count})) {{ return 2; }}
  for (int i = 0; i < {count}; i++) {{
    if (pthread_create(&threads[i], NULL, runs[i], NULL)) {{ return 2; }}
  }}
  for (int i = 0; i < {count}; i++) {{
    if (pthread_join(threads[i], NULL)) {{ return 2; }}
  }}
  printf("different:{formats}\\n", {differences});
  return 0;
}}
"""


def array(name, frames):
    """Return a C array of the values of all frames, frame by frame."""
    flat = frames.reshape(len(frames), -1)
    rows = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in flat.tolist())
    kind = {1: "int8_t", 4: "int32_t"}[flat.itemsize]
    return f"static const {kind} {name}[{len(flat)}][{flat.shape[1]}] = {{\n{rows}}};\n"


def vectors(prefix, golden):
    """Return the header with a network's inputs and expected outputs."""
    inputs = [array(f"{prefix}_x{i}", x) for i, x in enumerate(golden.inputs)]
    outputs = [array(f"{prefix}_y{i}", y) for i, y in enumerate(golden.outputs)]
    return f'#include "{prefix}.h"\n' + "".join(inputs + outputs)


def thread(index, prefix, stride, golden):
    """Return the C code of one context of a network: an arena, outputs and a loop over frames."""
    results = range(len(golden.outputs))
    declared = [f"int{8 * y.itemsize}_t y{i}[{y[0].size}];" for i, y in enumerate(golden.outputs)]
    arguments = [f"{prefix}_x{i}[frame]" for i in range(len(golden.inputs))]
    compared = [f"wrong |= memcmp(y{i}, {prefix}_y{i}[frame], sizeof y{i}) != 0;" for i in results]
    code = THREAD.format(
        index=index, prefix=prefix, macro=prefix.upper(), stride=stride,
        outputs="\n  ".join(declared), compare="\n    ".join(compared),
        arguments=", ".join([*arguments, *(f"y{i}" for i in results)]),
    )  # fmt: skip
    return f"static int different_{index};\n{code}"


def program(goldens):
    """Return the C program that runs every context in a thread of its own, all at once."""
    indices = range(len(CONTEXTS))
    return PROGRAM.format(
        headers="".join(vectors(prefix, golden) for prefix, golden in goldens.items()),
        frames=FRAMES,
        threads="".join(thread(i, p, s, goldens[p]) for i, (p, s) in enumerate(CONTEXTS)),
        runs=", ".join(f"thread_{i}" for i in indices),
        count=len(CONTEXTS),
        formats=" %d" * len(CONTEXTS),
        differences=", ".join(f"different_{i}" for i in indices),
    )


def changed(golden):
    """Return golden vectors whose last output of the last frame is another one."""
    outputs = [y.copy() for y in golden.outputs]
    outputs[-1][-1] = np.bitwise_xor(outputs[-1][-1], 1)
    return type(golden)(golden.inputs, tuple(outputs))


def counted(place, goldens, sanitizer):
    """Return the number of runs of each context that differed from the reference."""
    compiler = require_program("gcc", "cc")
    (place / "main.c").write_text(program(goldens))
    folders = [place / prefix for prefix in NETWORKS]
    sources = [source for folder in folders for source in sorted((folder / "src").glob("*.c"))]
    includes = [part for folder in folders for part in ("-I", str(folder / "include"))]
    flags = [*(f for f in WARNINGS if f != "-std=c99"), "-std=gnu11", "-O1", "-g", "-pthread"]
    command = [compiler, *flags, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", *includes]
    run([*command, place / "main.c", *sources, "-o", place / "threads"], timeout_s=TIMEOUT_S)
    done = run([place / "threads"], timeout_s=TIMEOUT_S, check=False)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this kernel places memory where ThreadSanitizer cannot work")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_threads_get_the_reference_results(tmp_path, sanitizer):
    goldens = {}
    for prefix, make in NETWORKS.items():
        graph = make()
        goldens[prefix] = golden_of(graph, FRAMES)
        write(tmp_path / prefix, emit_graph(graph, prefix))
    assert counted(tmp_path, goldens, sanitizer) == "different: 0 0 0\n"
    # The comparison sees one code of one frame, in each context of the network.
    goldens["one"] = changed(goldens["one"])
    assert counted(tmp_path, goldens, sanitizer) == "different: 50 50 0\n"
