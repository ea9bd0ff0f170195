"""Check of the constants of an emitted network: every flipped bit is noticed."""

import re
import zlib

import pytest
from elftools.elf.elffile import ELFFile
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import classifier

from rlx.driver import driver
from rlx.ir import Graph, GraphModule, Stage, i8
from rlx.ops.q import QClamp
from rlx.support.errors import UsageError
from rlx.support.process import run
from rlx.targets import target
from rlx_cortexm import CortexMOptions
from rlx_cortexm.self_check import check_bytes, table_bytes
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import WARNINGS, HostC
from rlx_sim.protocol import compare
from support import require_program

FLIPS = 100
TIMEOUT_S = 120

# Flips a bit of a table, which the program may write to: in the memory of a host after mprotect,
# and in that of QEMU's board, whose flash is RAM.
FLIP = """\
#include "tiny_weights.h"

typedef struct { const void *begin; uint32_t bytes; } span_t;
static const span_t spans[] = {%s};
#define SPANS (sizeof(spans) / sizeof(spans[0]))

static uint32_t seed = 12345u;
static uint32_t drawn(uint32_t limit)
{
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)seed * limit) >> 32);
}

static int32_t in_slices(uint32_t bytes)
{
  tiny_self_check_state state = {0u, 0u, 0u};
  int32_t status = TINY_CHECK_MORE;
  for (uint32_t k = 0; k <= TINY_CHECKED_BYTES && status == TINY_CHECK_MORE; k++) {
    status = tiny_self_check_step(&state, bytes);
  }
  return state.table + state.offset + state.crc == 0u ? status : 99;
}

/* Return how many of %d flipped bits both ways of checking notice, and nothing else. */
static uint32_t noticed(void)
{
  uint32_t count = 0;
  for (uint32_t k = 0; k < %d; k++) {
    const span_t *span = &spans[k < SPANS ? k : drawn(SPANS)];
    volatile uint8_t *byte = (volatile uint8_t *)(uintptr_t)span->begin + drawn(span->bytes);
    const uint8_t bit = (uint8_t)(1u << drawn(8));
    *byte ^= bit;
    const int32_t at_once = tiny_self_check();
    const int32_t slices = in_slices(1u + drawn(200));
    *byte ^= bit;
    count += at_once == TINY_ERROR_CONSTANTS && slices == TINY_ERROR_CONSTANTS
        && tiny_self_check() == TINY_OK;
  }
  return count;
}
"""

HOST_MAIN = """\
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
%s
int main(void)
{
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (uint32_t k = 0; k < SPANS; k++) {
    const uintptr_t begin = (uintptr_t)spans[k].begin / page * page;
    const uintptr_t end = (uintptr_t)spans[k].begin + spans[k].bytes;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
      return 1;
    }
  }
  printf("%%d %%u %%d %%d\\n", (int)tiny_self_check(), (unsigned)noticed(), (int)in_slices(7u),
      (int)tiny_self_check_step(NULL, 1u));
  return 0;
}
"""

BARE_MAIN = """\
#include "platform.h"
%s
int main(void)
{
  const uint32_t count = noticed();
  platform_print(count == 100u && tiny_self_check() == TINY_OK ? "all noticed\\n" : "missed\\n");
  platform_exit(0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def emission():
    return emit_graph(classifier(), prefix="tiny", self_check=True)


@pytest.fixture
def folder(tmp_path, emission):
    return write(tmp_path / "tiny", emission)


def tables(emission):
    """Return the symbols of the tables in the order of their file."""
    text = emission.files["src/tiny_weights.c"]
    return re.findall(r"const \w+ (\w+)\[\d+\] TINY_WEIGHTS_ALIGNED", text)


def flips(emission):
    spans = ", ".join(f"{{{name}, sizeof({name})}}" for name in tables(emission))
    return FLIP % (spans, FLIPS, FLIPS)


def macros(emission):
    return dict(re.findall(r"^#define TINY_(\w+) (.+)$", emission.files["include/tiny.h"], re.M))


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_every_flipped_bit_is_noticed_on_the_host(folder, emission, level):
    (folder / "main.c").write_text(HOST_MAIN % flips(emission))
    command = [require_program("gcc"), "-std=c99", "-Wall", "-Wextra", "-Werror", level,
               "-DRLX_ALLOW_O0", "-I", folder / "include", "-I", folder / "src",
               *sorted((folder / "src").glob("*.c")), folder / "main.c"]  # fmt: skip
    run([*command, "-o", folder / "program"], timeout_s=TIMEOUT_S)
    assert run([folder / "program"], timeout_s=60).stdout == f"0 {FLIPS} 0 -1\n"


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m0plus"])
def test_every_flipped_bit_is_noticed_in_firmware(folder, emission, cpu):
    require_program("arm-none-eabi-gcc"), require_program("qemu-system-arm")
    (folder / "test/main.c").write_text(BARE_MAIN % flips(emission))
    command = [require_program("make"), "-C", "test", "qemu", f"CPU={cpu}", "OPTIMIZE=-O2 -I../src"]
    ended = run(command, cwd=folder, timeout_s=300)
    assert "all noticed\n" in ended.stdout + ended.stderr


def test_the_crc_is_that_of_the_bytes_in_the_object(folder, emission):
    built = folder / "weights.o"
    run(
        [require_program("gcc"), *WARNINGS, "-I", folder / "include", "-c",
         folder / "src/tiny_weights.c", "-o", built], timeout_s=TIMEOUT_S,
    )  # fmt: skip
    content = b""
    with built.open("rb") as file:
        elf = ELFFile(file)
        symbols = {s.name: s for s in elf.get_section_by_name(".symtab").iter_symbols()}
        for name in tables(emission):
            symbol = symbols[name]
            data = elf.get_section(symbol["st_shndx"]).data()
            content += data[symbol["st_value"] : symbol["st_value"] + symbol["st_size"]]
    assert macros(emission)["CONSTANTS_CRC"] == f"UINT32_C(0x{zlib.crc32(content):08x})"
    assert macros(emission)["CHECKED_BYTES"] == str(len(content))
    assert macros(emission)["CHECKED_TABLES"] == f"{len(tables(emission))}u"


@pytest.mark.parametrize(
    ("type_", "data", "expected"),
    [
        ("int8_t", [-1, 2], b"\xff\x02"),
        ("int16_t", [-2, 258], b"\xfe\xff\x02\x01"),
        ("uint16_t", [65535], b"\xff\xff"),
        ("int32_t", [-(2**31), 1], b"\x00\x00\x00\x80\x01\x00\x00\x00"),
        ("uint32_t", [2**32 - 1], b"\xff\xff\xff\xff"),
    ],
)
def test_bytes_of_a_table_are_little_endian(type_, data, expected):
    assert table_bytes({"type": type_, "data": data, "channel": False}) == expected


def test_the_test_program_runs_the_check(tmp_path):
    graph = classifier()
    golden = golden_of(graph, 2)
    folder = tmp_path / "tiny"
    driver.emit(
        GraphModule(graph, Stage.MIR), target.load("cortexm"), folder, golden=golden,
        options=CortexMOptions(prefix="tiny", self_check=True, self_test=1),
    )  # fmt: skip
    assert compare("", HostC(sanitize=True).simulate(folder, golden, timeout_s=120), golden) == []
    path = folder / "include/tiny.h"
    path.write_text(re.sub(r"(CONSTANTS_CRC UINT32_C)\(\w+\)", r"\1(0x1)", path.read_text()))
    ended = run([require_program("make"), "-C", "test", "host"], cwd=folder, timeout_s=120,
               check=False)  # fmt: skip
    assert "the constants differ from" in ended.stdout + ended.stderr
    assert ended.returncode != 0


@pytest.mark.qemu
def test_the_flash_that_it_takes_is_predicted(tmp_path, emission):
    plain = emit_graph(classifier(), prefix="tiny")
    built = [
        FirmwareBuild().build(write(tmp_path / name, each), tmp_path / f"{name}_built").sizes
        for name, each in (("plain", plain), ("check", emission))
    ]
    predicted = check_bytes(len(tables(emission)))
    assert emission.report["self_check_bytes"] == predicted
    assert emission.report["code_bytes"] - plain.report["code_bytes"] == predicted
    plain_bytes, check_bytes_ = (sizes.text + sizes.const for sizes in built)
    assert abs(check_bytes_ - plain_bytes - predicted) <= 16


def test_nothing_of_it_is_emitted_unless_it_is_asked_for(emission):
    plain = emit_graph(classifier(), prefix="tiny").files
    assert not [name for name in plain if "check" in name]
    assert "check" not in plain["include/tiny.h"].lower()
    same = {"src/tiny.c", "src/tiny_weights.c", "src/tiny_weights.h"}
    assert all(plain[name] == emission.files[name] for name in same)


def test_a_network_without_constants_is_refused():
    graph = Graph("net")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(1, 4))))
    with pytest.raises(UsageError, match=r"^self_check=True: the network has no constants\n"):
        emit_graph(graph, self_check=True)


def test_the_check_compiles_without_a_word_and_as_cplusplus(folder):
    more = ("-Wcast-qual", "-Wundef", "-Wmissing-prototypes", "-Wfloat-equal", "-Wredundant-decls")
    for compiler in ("gcc", "clang"):
        command = [require_program(compiler), *WARNINGS, *more, "-fsyntax-only", "-I",
                   folder / "include", folder / "src/tiny_self_check.c"]  # fmt: skip
        ended = run(command, timeout_s=TIMEOUT_S)
        assert ended.stdout + ended.stderr == ""
    (folder / "use.cpp").write_text('#include "tiny.h"\nint main() { return tiny_self_check(); }\n')
    command = [require_program("g++"), "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    run([*command, "-fsyntax-only", "-I", folder / "include", folder / "use.cpp"], timeout_s=60)
