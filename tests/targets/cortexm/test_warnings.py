"""Emitted C under warnings beyond those that every build of it runs with."""

import pytest
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import emit_graph, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.support.process import run
from rlx_sim.firmware.host_c import WARNINGS
from support import require_program

MORE = (
    "-Wcast-qual", "-Wundef", "-Wdouble-promotion", "-Wstrict-prototypes", "-Wmissing-prototypes",
    "-Wwrite-strings", "-Wpointer-arith", "-Wformat=2", "-Wswitch-enum", "-Wvla",
    "-Wfloat-equal",
)  # fmt: skip
COMPILERS = {
    "gcc": (*MORE, "-Wcast-align=strict", "-Wlogical-op", "-Wduplicated-cond"),
    "clang": MORE,
}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("make_graph", KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def test_nothing_is_said(make_graph, cpu, compiler, tmp_path):
    with chosen_by(named("mve" if cpu == "cortex-m55" else "")):
        emission = emit_graph(make_graph(), cpu=cpu, self_test=0)
    folder = write(tmp_path, emission)
    command = [require_program(compiler), *WARNINGS, *COMPILERS[compiler], "-fsyntax-only"]
    done = run(
        [*command, "-I", str(folder / "include"), *map(str, sorted((folder / "src").glob("*.c")))],
        timeout_s=120,
    )
    assert (done.stdout, done.stderr) == ("", "")
