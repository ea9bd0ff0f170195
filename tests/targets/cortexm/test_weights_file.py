"""Constants in a file: the same bits, files of other trainings accepted, all others refused."""

import re
import struct
import zlib

import numpy as np
import pytest
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import classifier
from targets.cortexm.negation import files_of

import rlx
from rlx.driver import driver
from rlx.ir import Graph, GraphModule, QuantParams, Stage, i8
from rlx.ops.q import QClamp
from rlx.support.errors import DoesNotFitError, SimulationError, UsageError
from rlx.support.files.golden import read_golden
from rlx.support.process import run
from rlx.targets import target
from rlx_cortexm import CortexMOptions
from rlx_cortexm.weights_file import CODE_BYTES, CRC_OFFSET, HEADER_BYTES
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import WARNINGS, HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from rlx_sim.verify import CORTEXM
from support import require_program
from support.messages import raises

TIMEOUT_S = 120
STORED = {"weights_at": "run-time"}
FILE = "tiny_weights.bin"


def emission(graph=None, prefix="tiny", **options):
    return emit_graph(graph or classifier(), prefix=prefix, **{**STORED, **options})


def stored(emitted):
    """Return the file of an emission."""
    (content,) = (each for name, each in emitted.files.items() if name.endswith("_weights.bin"))
    return content


def layout(emitted):
    return emitted.facts["weights_file"]["layout"]


def tables(emitted):
    """Return the arrays that the C code of a linked network holds, as text."""
    return re.findall(r"const \w+ \w+\[\d+\] \w+ALIGNED = ", emitted.files["src/tiny_weights.c"])


def build(folder, main, name="program", level="-O2"):
    (folder / f"{name}.c").write_text(main)
    command = [require_program("gcc"), *WARNINGS, "-Wfloat-equal", level, "-I", folder / "include",
               "-I", folder / "src", *sorted((folder / "src").glob("*.c")), folder / f"{name}.c",
               "-o", folder / name]  # fmt: skip
    run(command, timeout_s=TIMEOUT_S)
    return folder / name


def test_the_file_holds_every_table_and_the_code_none():
    linked, in_file = emit_graph(classifier(), prefix="tiny"), emission()
    assert len(tables(linked)) == 9
    assert tables(in_file) == []
    content = stored(in_file)
    magic, version, hash_, network, size, crc = struct.unpack("<4sI8s8sII", content[:HEADER_BYTES])
    assert (magic, version, size) == (b"RLXW", 1, len(content))
    assert hash_.hex() == layout(in_file)
    text = in_file.files["include/tiny.h"]
    assert f'#define TINY_MODEL_HASH "{network.hex()}' in text
    assert f'#define TINY_WEIGHTS_LAYOUT "{hash_.hex()}"' in text
    assert f"#define TINY_WEIGHTS_BYTES {size}u" in text
    assert crc == zlib.crc32(content[HEADER_BYTES:], zlib.crc32(content[:CRC_OFFSET]))
    assert in_file.facts["weights_file"] == {
        "name": FILE, "bytes": size, "layout": layout(in_file),
    }  # fmt: skip
    # Tables are aligned, and the last ones are the scales of the dense layer.
    text = in_file.files["src/tiny_weights.c"]
    offsets = [int(at) for at in re.findall(r"^ \* (\d+): \w+\[\d+\], Layer", text, re.M)]
    assert offsets[0] == HEADER_BYTES
    assert not [at for at in offsets if at % 4]
    assert size == offsets[-1] + 8


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m0", "cortex-m55"])
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_the_bits_are_those_of_the_linked_network(tmp_path, cpu, optimize):
    golden = golden_of(classifier())
    folder = write(tmp_path, emission(cpu=cpu, optimize=optimize))
    assert compare("", HostC(sanitize=True).simulate(folder, golden, timeout_s=120), golden) == []


@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_firmware_finds_the_file(tmp_path, cpu, compiler):
    if compiler == "gcc":
        require_program("arm-none-eabi-gcc")
    golden = golden_of(classifier())
    folder = write(tmp_path, emission(cpu=cpu))
    qemu = Qemu(FirmwareBuild(cpu=cpu, compiler=compiler))
    assert compare("", qemu.simulate(folder, golden, timeout_s=120), golden) == []


def test_trainings_of_one_structure_exchange_their_files(tmp_path):
    graphs = [classifier(seed) for seed in (7, 8)]
    emitted = [emission(graph) for graph in graphs]
    goldens = [golden_of(graph) for graph in graphs]
    assert layout(emitted[0]) == layout(emitted[1])
    assert stored(emitted[0]) != stored(emitted[1])
    folder = write(tmp_path, emitted[0])
    (folder / FILE).write_bytes(stored(emitted[1]))
    assert compare("", HostC().simulate(folder, goldens[1], timeout_s=120), goldens[1]) == []
    assert compare("", HostC().simulate(folder, goldens[0], timeout_s=120), goldens[0]) != []


def test_a_file_of_another_structure_is_refused(tmp_path):
    graph = Graph("other")
    x = graph.input("image", i8(1, 6, 6, 3, quant=QuantParams.per_tensor(0.05, -4)))
    graph.output(graph.apply(QClamp(low=0), x), graph.constant(np.zeros((2, 3), np.int8)))
    golden = golden_of(classifier())
    folder = write(tmp_path, emission())
    (folder / FILE).write_bytes(stored(emission(graph)))
    with pytest.raises(SimulationError, match=r"the test program stopped: the network refused"):
        HostC().simulate(folder, golden, timeout_s=120)


def test_the_layout_says_what_must_be_equal():
    """Names may differ; kernels, sizes and the meaning of inputs may not."""
    same = layout(emission())
    assert layout(emission(prefix="Other_net", static_arena=True, self_check=True)) == same
    assert layout(emission(optimize="size")) != same
    assert layout(emission(cpu="cortex-m0")) != same
    assert layout(emission(io="arena")) != same
    assert layout(emission(classifier(scale=0.06))) != same


FLIP = """\
#include "tiny.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static union { uint32_t word; uint8_t bytes[TINY_WEIGHTS_BYTES + 8u]; } memory;
static int8_t input[TINY_INPUT_BYTES], output[TINY_OUTPUT_BYTES];
static uint32_t arena[TINY_ARENA_BYTES / 4u + 1u];

static int32_t ran(void)
{
  return tiny_run(input, output, arena);
}

static void show(int32_t status)
{
  printf("%d:%d ", (int)status, (int)ran());
}

static int32_t set(size_t bytes)
{
  return tiny_set_weights(memory.bytes, bytes);
}

int main(void)
{
  FILE *file = fopen("tiny_weights.bin", "rb");
  int32_t wrong = 0;
  show(0);
  if (file == NULL || fread(memory.bytes, 1, TINY_WEIGHTS_BYTES, file) != TINY_WEIGHTS_BYTES) {
    return 1;
  }
  show(set(TINY_WEIGHTS_BYTES));
  show(tiny_set_weights(NULL, 99u));
  memmove(memory.bytes + 2, memory.bytes, TINY_WEIGHTS_BYTES);
  show(tiny_set_weights(memory.bytes + 2, TINY_WEIGHTS_BYTES));
  memmove(memory.bytes, memory.bytes + 2, TINY_WEIGHTS_BYTES);
  show(set(31u));
  show(set(TINY_WEIGHTS_BYTES - 1u));
  show(set(SIZE_MAX));
  for (size_t at = 0; at < TINY_WEIGHTS_BYTES; at++) {
    for (int32_t bit = 0; bit < 8; bit++) {
      const int32_t expected = at < 8u ? TINY_ERROR_FORMAT : at < 16u ? TINY_ERROR_LAYOUT
          : at >= 24u && at < 28u ? TINY_ERROR_SIZE : TINY_ERROR_CONSTANTS;
      memory.bytes[at] = (uint8_t)(memory.bytes[at] ^ (1u << bit));
      wrong += set(TINY_WEIGHTS_BYTES) != expected || ran() != TINY_ERROR_NO_WEIGHTS;
      memory.bytes[at] = (uint8_t)(memory.bytes[at] ^ (1u << bit));
    }
  }
  show(wrong);
  show(set(TINY_WEIGHTS_BYTES));
  return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_every_flipped_bit_is_refused(tmp_path, level):
    """Null, misaligned and short files too; an erased or absent one is never run."""
    program = build(write(tmp_path, emission()), FLIP, level=level)
    printed = run([program], cwd=tmp_path, timeout_s=60).stdout
    assert printed == "0:-4 0:0 -1:-4 -2:-4 -5:-4 -5:-4 0:0 0:-4 0:0 "


CHECK = """\
#include "tiny.h"
#include <stdio.h>

static union { uint32_t word; uint8_t bytes[TINY_WEIGHTS_BYTES]; } memory;

static int32_t in_slices(uint32_t bytes)
{
  tiny_self_check_state state = {0u, 0u, 0u};
  int32_t status = TINY_CHECK_MORE;
  for (uint32_t k = 0; k <= TINY_CHECKED_BYTES && status == TINY_CHECK_MORE; k++) {
    status = tiny_self_check_step(&state, bytes);
  }
  return status;
}

int main(void)
{
  FILE *file = fopen("tiny_weights.bin", "rb");
  int32_t missed = 0;
  if (file == NULL || fread(memory.bytes, 1, TINY_WEIGHTS_BYTES, file) != TINY_WEIGHTS_BYTES) {
    return 1;
  }
  printf("%d ", (int)tiny_self_check());
  printf("%d ", (int)tiny_set_weights(memory.bytes, TINY_WEIGHTS_BYTES));
  for (uint32_t at = 0; at < TINY_WEIGHTS_BYTES; at++) {
    memory.bytes[at] = (uint8_t)(memory.bytes[at] ^ (1u << (at % 8u)));
    missed += tiny_self_check() != TINY_ERROR_CONSTANTS;
    missed += in_slices(1u + at % 200u) != TINY_ERROR_CONSTANTS;
    memory.bytes[at] = (uint8_t)(memory.bytes[at] ^ (1u << (at % 8u)));
  }
  printf("%d ", (int)missed);
  printf("%d ", (int)tiny_self_check());
  printf("%d\\n", (int)in_slices(7u));
  return 0;
}
"""


def test_the_self_check_reads_the_file_in_place(tmp_path):
    folder = write(tmp_path, emission(self_check=True))
    printed = run([build(folder, CHECK)], cwd=folder, timeout_s=60).stdout
    assert printed == "-4 0 0 0 0\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_code_compiles_without_a_word(tmp_path, compiler):
    folder = write(tmp_path, emission(self_check=True))
    more = ("-Wfloat-equal", "-Wcast-qual", "-Wundef", "-Wmissing-prototypes", "-Wredundant-decls",
            *(["-Wcast-align=strict"] if compiler == "gcc" else []))  # fmt: skip
    ended = run(
        [require_program(compiler), *WARNINGS, *more, "-fsyntax-only", "-I", folder / "include",
         *sorted((folder / "src").glob("*.c"))], timeout_s=TIMEOUT_S,
    )  # fmt: skip
    assert ended.stdout + ended.stderr == ""
    # One translation unit, as the CMake functions of rlx make it.
    unit = "".join(f'#include "{path.name}"\n' for path in sorted((folder / "src").glob("*.c")))
    (folder / "src/all.c").write_text(unit)
    run([require_program(compiler), *WARNINGS, "-fsyntax-only", "-I", folder / "include",
         folder / "src/all.c"], timeout_s=TIMEOUT_S)  # fmt: skip


@pytest.mark.qemu
def test_flash_is_the_code_and_the_file_is_counted_apart(tmp_path):
    graph = classifier()
    folder = tmp_path / "tiny"
    driver.emit(
        GraphModule(graph, Stage.MIR), target.load("cortexm"), folder, golden=golden_of(graph, 2),
        options=CortexMOptions(prefix="tiny", **STORED),
    )  # fmt: skip
    report = CORTEXM.verify(folder, tools=("qemu",))
    assert report.passed
    size = (folder / FILE).stat().st_size
    assert report.figures["weights_file_bytes"] == size
    assert report.figures["ram_bytes"] == report.figures["arena_bytes"] + 4
    assert report.figures["flash_bytes"] < 400 + emission().report["code_bytes"]


@pytest.mark.qemu
def test_the_flash_of_the_check_is_predicted(tmp_path):
    plain, in_file = emit_graph(classifier(), prefix="tiny"), emission()
    assert in_file.report["code_bytes"] - plain.report["code_bytes"] == CODE_BYTES
    assert in_file.report["constant_bytes"] == 0
    assert in_file.report["weights_file_bytes"] == len(stored(in_file))
    sizes = [
        FirmwareBuild().build(write(tmp_path / name, each), tmp_path / f"{name}_built").sizes
        for name, each in (("plain", plain), ("stored", in_file))
    ]
    taken = [s.text + s.const for s in sizes]
    growth = taken[1] - (taken[0] - plain.report["constant_bytes"])
    assert abs(growth - CODE_BYTES) <= 64


def test_limits_are_those_of_the_code_and_of_arena_with_address():
    report = emission().report
    code, ram = report["code_bytes"], report["arena_bytes"] + 4
    assert emission(flash=2 * code, ram=ram).report["code_bytes"] == code
    with raises(DoesNotFitError):
        emission(flash=1000)
    with pytest.raises(DoesNotFitError) as refusal:
        emission(flash=code // 2)
    small = int(re.findall(r"=(\d+)", refusal.value.hint)[0])
    assert emission(flash=small).report["code_bytes"] < min(small, code)


def test_no_constants_no_file():
    graph = Graph("net")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(1, 4))))
    with raises(UsageError):
        emission(graph)
    with raises(UsageError):
        CortexMOptions(weights_at="boot")


def test_nothing_of_it_is_emitted_unless_it_is_asked_for():
    files = emit_graph(classifier(), prefix="tiny").files
    assert not [name for name in files if name.endswith((".bin", ".S"))]
    text = "".join(text for name, text in files.items() if name.startswith(("src", "include")))
    assert "set_weights" not in text
    assert "stored_weights" not in text


def test_packages_name_the_file(tmp_path):
    files = files_of(**STORED)
    name = "net_weights.bin"
    assert f'<file category="other" name="{name}"/>' in files["rlx.net.pdsc"]
    assert "net_set_weights(" in files["examples/Run/Run.ino"]
    assert name in files["README.md"]
    for path, content in files.items():
        (tmp_path / "net" / path).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "net" / path).write_bytes(data)
    cmake, place = require_program("cmake"), tmp_path / "installed"
    run([cmake, "-S", tmp_path / "net", "-B", tmp_path / "b", f"-DCMAKE_INSTALL_PREFIX={place}"],
        timeout_s=TIMEOUT_S)  # fmt: skip
    run([cmake, "--build", tmp_path / "b", "--target", "install"], timeout_s=TIMEOUT_S)
    assert (place / "share/net" / name).read_bytes() == files[name]


def test_meson_knows_where_the_file_is(tmp_path):
    meson = require_program("meson")
    for path, content in files_of(package=("meson",), **STORED).items():
        (tmp_path / "subprojects/net" / path).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "subprojects/net" / path).write_bytes(data)
    (tmp_path / "meson.build").write_text(
        "project('user', 'c', meson_version: '>=0.56.0')\n"
        "message('at ' + dependency('net', fallback: 'net').get_variable('weights_file'))\n"
    )
    printed = run([meson, "setup", "build"], cwd=tmp_path, timeout_s=TIMEOUT_S).stdout
    assert f"at {tmp_path}/subprojects/net/net_weights.bin" in printed


def trained_again(file):
    """Return a .tflite file's bytes with other weights, biases, and scale of its dense layer."""
    content, random = bytearray(file.read_bytes()), np.random.default_rng(3)

    def replace(old, new):
        at = bytes(content).find(old.tobytes())
        assert at >= 0
        content[at : at + old.nbytes] = new.astype(old.dtype).tobytes()

    for node in rlx.load(file).graph.nodes:
        for value in node.operands[1:]:
            old = np.asarray(value.constant)
            if old.dtype == np.int8:
                replace(stored_order(node, old), stored_order(node, random.permutation(old.ravel())
                        .reshape(old.shape)))  # fmt: skip
            else:
                replace(old, old + random.integers(-40, 40, old.shape))
            if node.op.name == "q.dense":
                scale = np.array(value.type.quant.scale, np.float32)
                replace(scale, scale * np.float32(1.1))
    return bytes(content)


def stored_order(node, weights):
    """Return weights as a .tflite file has them: of depthwise layers [1, H, W, C]."""
    if node.op.name == "q.conv2d" and node.op.groups > 1:
        return np.ascontiguousarray(np.moveaxis(weights, 0, -1).reshape(-1))
    return np.ascontiguousarray(weights)


@pytest.mark.models
@pytest.mark.qemu
def test_keyword_spotting_takes_the_file_of_another_training(tmp_path, shared_models):
    """Weights and biases may change, and the scale of a layer that has one for all channels."""
    file, again = shared_models / "kws_ref_model.tflite", tmp_path / "again.tflite"
    again.write_bytes(trained_again(file))
    for name, model in (("one", file), ("two", again)):
        rlx.emit(rlx.load(model), "cortexm", tmp_path / name, prefix=name, frames=2, **STORED)
    layouts = [
        re.search(r'LAYOUT "(\w+)"', (tmp_path / f"{name}/include/{name}.h").read_text())[1]
        for name in ("one", "two")
    ]
    assert layouts[0] == layouts[1]
    one, two = (tmp_path / f"{name}/{name}_weights.bin" for name in ("one", "two"))
    assert one.read_bytes() != two.read_bytes()
    one.write_bytes(two.read_bytes())
    golden = read_golden(tmp_path / "two")
    for simulator in (HostC(), Qemu()):
        folder = tmp_path / "one"
        assert compare("", simulator.simulate(folder, golden, timeout_s=120), golden) == []
