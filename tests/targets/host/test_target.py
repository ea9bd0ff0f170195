"""The target ``host``: options, refusals, files, equal bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from targets.cortexm.kernel_graphs import classifier
from targets.host.networks import dense_stack, mixed, streaming

from rlx import frontends
from rlx.driver import driver
from rlx.ir import DType, Graph, GraphModule, TensorType
from rlx.ops import ALL_OPS
from rlx.ops.control import CONTROL_OPS
from rlx.ops.real import RealTopK, RealTranspose
from rlx.support.errors import EmitError, UnsupportedOpError, UsageError
from rlx.targets import target
from rlx_host.emission import REFERENCE_NETWORK
from rlx_host.emission.constants import ALIGNMENT, ConstantFile
from rlx_host.emission.options import HostOptions
from rlx_host.emission.planning import plan
from rlx_host.emission.program import host_program
from rlx_host.emission.target import TARGET
from rlx_host.instruction_set import INSTRUCTION_SETS, available, baseline
from rlx_host.kernels.rules import NO_KERNEL, RULES
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"


def emitted(graph, **options):
    """Return the emission of a graph, portable C by default."""
    chosen = HostOptions(**{"instruction_set": "scalar", **options})
    lowered = driver.lower(GraphModule.hir(graph), TARGET, options=chosen)
    return TARGET.emit(lowered.module, chosen)


def test_the_target_is_installed():
    assert target.load("host") is TARGET


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_every_op_has_a_kernel_or_a_reason(op):
    assert TARGET.knows(op) == (op not in CONTROL_OPS)
    assert TARGET.reason(op, HostOptions()) == (None if op in RULES else NO_KERNEL)


def test_instruction_sets_are_those_of_the_machine_or_named():
    assert HostOptions().instructions is baseline()
    assert HostOptions(instruction_set="native").instructions is available()[0]
    for one in INSTRUCTION_SETS:
        assert HostOptions(instruction_set=one.name).instructions is one
    assert not baseline().features


@pytest.mark.parametrize(
    "options", [{"instruction_set": "avx"}, {"io": "int16"}, {"prefix": "math"}]
)
def test_unknown_values_are_refused(options):
    with raises(UsageError):
        HostOptions(**options)


def test_all_ops_without_a_kernel_are_refused_in_one_message():
    graph = mixed()
    best, _ = graph.append(RealTopK(count=2), graph.outputs[0]).results
    graph.output(best, names=["best"])
    with raises(UnsupportedOpError):
        driver.lower(GraphModule.hir(graph), TARGET)


def test_nodes_that_cannot_be_emitted_after_planning_are_all_named():
    planned = plan(GraphModule.mir(mixed()))
    with raises(UnsupportedOpError):
        host_program(planned, baseline())


def test_ports_of_other_types_are_refused():
    graph = Graph("wide")
    x = graph.input("x", TensorType((4, 2), DType.F64))
    graph.output(graph.apply(RealTranspose(axes=(1, 0)), x), names=["y"])
    with raises(EmitError):
        emitted(graph)


def test_golden_classifier(golden):
    golden("host/classifier", emitted(classifier(), prefix="tiny").files)


def test_golden_streaming(golden):
    files = emitted(streaming(), prefix="stream").files
    kept = ("include/stream.h", "src/stream_main.c", "README.md", "src/stream.c")
    code = files["src/stream.c"]
    start = code.index("int32_t stream_reset")
    golden(
        "host/streaming", {n: code[start:] if n.endswith("stream.c") else files[n] for n in kept}
    )


DIGEST = """
import hashlib, sys
from rlx import frontends
from rlx.driver import driver
from rlx_host.emission.options import HostOptions
from rlx_host.emission.target import TARGET
options = HostOptions(instruction_set="scalar")
lowered = driver.lower(frontends.load(sys.argv[1]), TARGET, options=options)
files = TARGET.emit(lowered.module, options).files
text = repr(sorted(files.items()))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_the_same_network_gives_the_same_bytes():
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [sys.executable, "-c", DIGEST, str(DIGITS)], env=environment, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("graph", [dense_stack, streaming], ids=lambda make: make.__name__)
def test_emitted_text_is_plain(graph):
    for name, content in emitted(graph()).files.items():
        if isinstance(content, bytes):
            continue
        assert content.isascii(), name
        assert content.endswith("\n"), name
        assert not re.search(r"[ \t]$", content, re.MULTILINE), name


def test_code_is_the_backend_s():
    lowered = driver.lower(frontends.load(DIGITS), TARGET, options=HostOptions())
    program = host_program(lowered.module, baseline())
    code = TARGET.emit(lowered.module, HostOptions()).files["src/digits.c"]
    assert program.source.code in code
    assert program.source.code in program.source.text.replace("__attribute__((noinline)) ", "")


def test_a_network_of_integers_needs_no_network_to_compare_with():
    assert REFERENCE_NETWORK not in emitted(dense_stack()).files
    assert emitted(dense_stack()).facts["compared_with"] == "NumPy"


def test_a_network_of_floats_has_the_network_to_compare_with():
    assert isinstance(emitted(streaming()).files[REFERENCE_NETWORK], bytes)
    assert emitted(streaming()).facts["compared_with"] == "native"


def test_figures_are_those_of_the_program():
    emission = emitted(dense_stack(layers=3), prefix="net")
    assert [row["op"] for row in emission.report["layers"]] == ["q.dense"] * 3
    assert emission.report["macs"] == 3 * 2 * 24 * 24
    assert emission.report["constant_bytes"] == len(emission.files["src/net_weights.bin"])
    assert (
        f"#define NET_ARENA_BYTES {emission.report['arena_bytes']}\n"
        in (emission.files["include/net.h"])
    )
    assert json.loads(json.dumps(emission.report)) == emission.report


def test_equal_constants_are_stored_once_and_aligned():
    file = ConstantFile()
    ones, twos = np.ones(3, np.int8), np.full(3, 2, np.int8)
    assert [file.add(a) for a in (ones, twos, ones)] == [0, ALIGNMENT, 0]
    assert file.content == bytes(ones) + bytes(ALIGNMENT - 3) + bytes(twos)
    assert len(file) == ALIGNMENT + 3
