"""The public header in the hands of a firmware engineer."""

import re
import subprocess

import numpy as np
import pytest
from targets.cortexm.graph_builder import emit_graph, write
from targets.cortexm.kernel_graphs import classifier

from rlx_sim.firmware.host_c import WARNINGS
from support import require_program

SOURCES = ("src/tiny.c", "src/tiny_weights.c")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tiny"), emit_graph(classifier(), prefix="tiny"))


def run_program(folder, main, *options, sources=SOURCES):
    """Compile ``main`` with the network, run it, and return what it prints."""
    (folder / "main.c").write_text(main)
    program = folder / "program"
    files = [folder / "main.c", *(folder / s for s in sources)]
    command = [require_program("gcc", "clang"), *WARNINGS, "-g", "-fsanitize=address,undefined",
               "-I", folder / "include", *options, *files, "-o", program]  # fmt: skip
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()


def numbers(header):
    """Macros of the header that are numbers."""
    found = re.findall(r"^#define TINY_(\w+) \(?(-?\d+)\)?$", header, re.MULTILINE)
    return {name: int(value) for name, value in found}


def test_macros_tell_sizes_and_scales(folder):
    header = (folder / "include/tiny.h").read_text()
    found = numbers(header)
    assert found["INPUTS"] == found["OUTPUTS"] == 1
    assert found["INPUT_BYTES"] == 6 * 6 * 3
    assert found["OUTPUT_BYTES"] == 3
    assert found["INPUT_ZERO_POINT"] == -4
    assert found["OUTPUT_ZERO_POINT"] == -128
    assert found["LAYERS"] == 8
    assert found["ARENA_ALIGN"] == 4
    assert "#define TINY_INPUT_SHAPE {1, 6, 6, 3}\n" in header
    assert "#define TINY_INPUT_SCALE 0.05f\n" in header
    assert "#define TINY_OUTPUT_SCALE 0.00390625f\n" in header


STATUS = """\
#include <stdio.h>
#include "tiny.h"
static uint8_t arena[TINY_ARENA_BYTES + 4] __attribute__((aligned(16)));
static int8_t x[TINY_INPUT_BYTES], y[TINY_OUTPUT_BYTES];
int main(void)
{
  printf("%d %d %d %d %d", (int)tiny_run(x, y, arena), (int)tiny_run(NULL, y, arena),
      (int)tiny_run(x, NULL, arena), (int)tiny_run(x, y, NULL), (int)tiny_run(x, y, arena + 2));
  return 0;
}
"""


def test_null_and_misaligned_pointers_give_a_status(folder):
    assert run_program(folder, STATUS) == ["0", "-1", "-1", "-1", "-2"]


HOOK = """\
#include <stdio.h>
#include "tiny.h"
static uint8_t arena[TINY_ARENA_BYTES] __attribute__((aligned(TINY_ARENA_ALIGN)));
static int8_t x[TINY_INPUT_BYTES], y[TINY_OUTPUT_BYTES];
void tiny_layer(int32_t index, const char *name) { printf("%d:%s ", (int)index, name); }
int main(void) { return (int)tiny_run(x, y, arena); }
"""

SETTINGS = """\
#include <stdint.h>
void tiny_layer(int32_t index, const char *name);
#define TINY_LAYER_HOOK(index, name) tiny_layer(index, name)
"""


def test_the_hook_sees_every_layer_and_the_end(folder):
    (folder / "settings.h").write_text(SETTINGS)
    options = ('-DTINY_CONFIG="settings.h"', "-I", folder)
    assert run_program(folder, HOOK, *options) == [
        "0:conv", "1:depthwise", "2:pointwise", "3:shortcut", "4:pool",
        "5:flatten", "6:logits", "7:softmax", "8:end",
    ]  # fmt: skip


def test_weights_of_another_model_stop_the_build(folder, tmp_path):
    for name in ("include/tiny.h", *SOURCES, "src/tiny_weights.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    header = tmp_path / "include/tiny.h"
    header.write_text(re.sub(r"(MODEL_ID UINT32_C)\(0x\w+\)", r"\1(0x1)", header.read_text()))
    command = ["gcc", "-fsyntax-only", "-I", tmp_path / "include", tmp_path / "src/tiny.c"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "tiny_weights.h and tiny.h come from different models" in done.stderr


PRINTED = """\
#include <math.h>
#include <stdio.h>
#include "tiny.h"
int main(void)
{
  static const float reals[] = {%s};
  for (unsigned i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
    printf("%%d ", tiny_quantize_input(reals[i]));
  }
  for (int value = -128; value < 128; value++) {
    printf("%%a ", (double)tiny_dequantize_output((int8_t)value));
  }
  return 0;
}
"""


def test_helpers_quantize_and_dequantize(folder):
    scale, zero_point = np.float32(0.05), -4
    steps = np.array([-200, -123.5, -2.5, -1.5, -0.5, -0.49999997, 0, 0.49999997, 0.5, 1.25, 131.4,
                      131.5, 1e9], np.float32)  # fmt: skip
    reals = steps * scale
    ratio = (reals / scale).astype(np.float32).astype(np.float64)
    rounded = np.sign(ratio) * np.floor(np.abs(ratio) + 0.5)
    expected = np.clip(rounded + zero_point, -128, 127).astype(int)
    text = ", ".join(f"{float(r).hex()}f" for r in reals)
    printed = run_program(folder, PRINTED % f"{text}, INFINITY, -INFINITY, NAN")
    quantized, reals = printed[: len(steps) + 3], printed[len(steps) + 3 :]
    assert [int(c) for c in quantized[:-3]] == expected.tolist()
    assert quantized[-3:] == ["127", "-128", "-128"]
    assert [float.fromhex(v) for v in reals] == [(c + 128) / 256 for c in range(-128, 128)]


def test_the_header_is_cplusplus_too(folder):
    compiler = require_program("g++", "clang++")
    (folder / "use.cpp").write_text('#include "tiny.h"\nint main() { return tiny_run(0, 0, 0); }\n')
    options = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
    for standard in ("c++98", "c++11", "c++17"):
        # UINT32_C and friends are long long on some platforms, which C++98 does not know.
        own = ["-Wno-long-long"] if standard == "c++98" else []
        command = [compiler, f"-std={standard}", *options, *own, "-fsyntax-only",
                   "-I", folder / "include", folder / "use.cpp"]  # fmt: skip
        subprocess.run(command, check=True)


STATIC = """\
#include <stdio.h>
#include "tiny.h"
static int8_t x[TINY_INPUT_BYTES], y[TINY_OUTPUT_BYTES];
int main(void)
{
  printf("%d %d", (int)sizeof(tiny_arena), (int)tiny_run(x, y, tiny_arena));
  return 0;
}
"""


def test_a_static_arena_is_there_on_request(tmp_path):
    emission = emit_graph(classifier(), prefix="tiny", static_arena=True)
    folder = write(tmp_path, emission)
    printed = run_program(folder, STATIC, sources=(*SOURCES, "src/tiny_arena.c"))
    assert printed == [str(emission.report["arena_bytes"]), "0"]
    assert "tiny_arena" not in (emit_graph(classifier(), prefix="tiny").files["include/tiny.h"])
