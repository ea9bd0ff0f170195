"""Threads of native programs: the same bits for any number, and none that stays."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from targets.host.networks import convolutions, dense_stack
from targets.host.split_layers import Layers, PoolOfCalls, all_split_nodes, smallest_parts

import rlx
from benchmarks.host.networks.encoder import EncoderSizes, encoder
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Session
from rlx_host import kernels
from rlx_host.instruction_set import available
from rlx_host.pool import pool_of
from support import ROOT, missing, require_program

COUNTS = (2, 3, 8)
MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
FOLDER = Path(kernels.__file__).parent
SPLIT_TEMPLATES = {
    path.relative_to(FOLDER).as_posix().removesuffix(".c.j2")
    for path in FOLDER.rglob("*.c.j2")
    if "unit_parameters(split)" in path.read_text()
}
"""Templates of functions that compute chosen units."""


@pytest.fixture(autouse=True)
def _without_comparisons():
    """Nothing is compared with NumPy: the tests compare."""
    with rlx.config.override(check_compiled=False):
        yield


def compiled(graph, threads):
    return Session(options=CompileOptions(backend="native", threads=threads)).compile(graph)


def samples(graph):
    generator = np.random.default_rng(1)
    return [
        generator.integers(-128, 128, v.type.static_shape).astype(v.type.dtype.numpy)
        for v in graph.inputs
    ]


def test_bits_do_not_depend_on_the_number_of_threads_for_any_op():
    instructions = available()[0]
    nodes = all_split_nodes(instructions)
    expected = Layers(nodes, instructions).results()
    with smallest_parts():
        layers = Layers(nodes, instructions)
    assert layers.results() == expected
    for threads in COUNTS:
        pool = pool_of(threads)
        assert layers.results(pool.handle, threads) == expected
    backward = PoolOfCalls(lambda units: [(u, u % 3) for u in reversed(range(units))])
    assert layers.results(backward.pointer, 3) == expected


@pytest.mark.parametrize(
    "instructions", dict.fromkeys((available()[0], available()[-1])), ids=lambda one: one.name
)
def test_each_unit_writes_its_own_bytes(instructions):
    nodes = all_split_nodes(instructions)
    with smallest_parts():
        layers = Layers(nodes, instructions)
    sums = {"sum/kernel", "sum/float64"}
    assert {step.layer.kernel.template for step in layers.steps} | sums == SPLIT_TEMPLATES
    for step, (node, arrays) in zip(layers.steps, nodes, strict=True):
        units = step.layer.split.units
        written = 0
        for unit in range(min(units, 40)):
            only = PoolOfCalls(lambda _, unit=unit: [(unit, unit % 3)])
            found = [
                np.frombuffer(layers.result(step, arrays, only.pointer, 3, fill), np.uint8) != fill
                for fill in (0xA5, 0x5A)
            ]
            written = written + (found[0] | found[1]).astype(int)
        assert written.max() == 1, (node.op, units)
        assert units > 40 or written.min() == 1, (node.op, units)


@pytest.mark.models
@pytest.mark.parametrize("name", MODELS)
def test_integer_networks_give_the_same_bits(name, shared_models):
    graph = with_batch(rlx.load(shared_models / f"{name}.tflite").graph, 4)
    inputs = samples(graph)
    expected = compiled(graph, 1).run_slots(*inputs)[0].tobytes()
    for threads in COUNTS:
        net = compiled(graph, threads)
        for _ in range(20):
            assert net.run_slots(*inputs)[0].tobytes() == expected


def test_an_encoder_gives_the_same_bits():
    case = encoder(EncoderSizes(layers=2))
    expected = compiled(case.graph, 1).run(case.inputs)[0].tobytes()
    for threads in COUNTS:
        net = compiled(case.graph, threads)
        for _ in range(5):
            assert net.run(case.inputs)[0].tobytes() == expected


def test_eight_python_threads_call_one_session():
    graph = convolutions()
    inputs = samples(graph)
    expected = compiled(graph, 1).run_slots(*inputs)[0].tobytes()
    net = compiled(graph, 2)
    found = []

    def work():
        found.extend(net.run_slots(*inputs)[0].tobytes() == expected for _ in range(30))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 240


def count_threads():
    """Return the number of threads of this process, or None where the system does not list them."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else None


def test_small_layers_start_no_thread():
    graph = dense_stack()
    compiled(graph, 7).run_slots(*samples(graph))
    assert pool_of(7).started == 0


def test_programs_share_threads_which_end_with_the_last_one():
    assert pool_of(1) is None
    graph = convolutions()
    nets = [compiled(graph, 5), compiled(graph, 5)]
    for net in nets:
        net.run_slots(*samples(graph))
    assert pool_of(5).started == 4
    before = count_threads()
    rlx.runtime.compilations.COMPILATIONS.clear()
    del nets, net
    gc.collect()
    assert pool_of(5).started == 0
    assert count_threads() in (None, before - 4)


SCRIPT = """
import os, sys, time
from targets.host.networks import convolutions
from targets.host.test_pool import compiled, samples
from rlx_host.pool import pool_of
graph = convolutions()
inputs = samples(graph)
net = compiled(graph, 3)
expected = net.run_slots(*inputs)[0].tobytes()
assert pool_of(3).started == 2
"""

FORK = """
child = os.fork()
for _ in range(20):
    assert net.run_slots(*inputs)[0].tobytes() == expected
assert pool_of(3).started == 2
if child == 0:
    del net
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

# Programs that a shell starts in the background ignore the signal, and their children with them.
FOREVER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
print("runs", flush=True)
while True:
    net.run_slots(*inputs)
"""


def started(script):
    """Start a script in a process of its own."""
    environment = {**os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), str(ROOT), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SCRIPT + script],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_forked_child_has_threads_of_its_own():
    out, err = started(FORK).communicate(timeout=60)
    assert (out, err) == ("7\n", "")


def test_an_interrupt_ends_the_process():
    process = started(FOREVER)
    assert process.stdout.readline() == "runs\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err.endswith("KeyboardInterrupt\n")


MAIN = """
#include <stdio.h>
enum { UNITS = 97 };
static int compute(void *const *p, int step, long thread, long first, long last)
{
  (void)thread;
  long *counts = *p;
  for (long i = first; i < last; ++i) counts[i] += step;
  return step != 3 || first > 0;
}
static void *call(void *pool)
{
  long counts[UNITS] = {0}, *p = counts, sum = 0;
  for (int round = 0; round < 2000; ++round) {
    if (!share(pool, compute, (void *const *)&p, 1, UNITS, 1)) return "failed";
    if (share(pool, compute, (void *const *)&p, 3, UNITS, 1)) return "did not fail";
    if (round % 200 == 0) nanosleep(&(struct timespec){0, 1000000}, 0);
  }
  for (int i = 0; i < UNITS; ++i) sum += counts[i];
  return sum == 4L * 2000 * UNITS ? "right" : "wrong";
}
int main(void)
{
  struct pool *pool = rlx_pool_new(3);
  pthread_t other;
  pthread_create(&other, 0, call, pool);
  const char *own = call(pool);
  void *result;
  pthread_join(other, &result);
  printf("%s %s %d\\n", own, (const char *)result, rlx_pool_members(pool));
  rlx_pool_free(pool);
}
"""


def test_the_thread_sanitizer_finds_nothing(tmp_path):
    from rlx_host.render import render

    require_program("gcc")
    source, program = tmp_path / "pool.c", tmp_path / "pool"
    source.write_text("#include <time.h>\n" + render("pool.c", {}) + MAIN)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", "-g", "-pthread"]
    build = subprocess.run(
        ["gcc", *flags, "-fsanitize=thread", "-o", program, source], capture_output=True, text=True
    )
    if "cannot find" in build.stderr:
        missing("the compiler has no thread sanitizer")
    assert build.stderr == ""
    done = subprocess.run([program], capture_output=True, text=True, timeout=100)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not start on this system")
    assert (done.stdout, done.stderr) == ("right right 2\n", "")
