"""The register map: one table for hardware, driver, report and README; the driver in C."""

from __future__ import annotations

import re

import pytest

from rlx.support.process import run
from rlx_fpga.options import FpgaOptions
from rlx_fpga.packaging.axi import Interface, StreamPort, control_files, pins_verilog, top_verilog
from rlx_fpga.packaging.registers import ADDRESS_BITS, MAGIC, REGISTERS, Control, packed_version
from rlx_sim.toolchain import search
from support import missing
from support.messages import raises

MODEL = 0x0123456789ABCDEF
CONTROL = Control(MODEL, packed_version("1.22.3rc4"))


def interface(inputs=1, outputs=1):
    def ports(letter, member, direction, count):
        return tuple(
            StreamPort(
                name=f"{letter}{n}_axis", member=f"{member}{n}", direction=direction,
                shape=(1, 4), bits=8, lanes=1 + 3 * (n == 0),
            )
            for n in range(count)
        )  # fmt: skip

    return Interface("net", ports("s", "i", "in", inputs), ports("m", "o", "out", outputs), CONTROL)


def header():
    return control_files(interface())["driver/net_regs.h"]


def test_registers_lie_one_after_the_other_and_are_reachable():
    assert [one.offset for one in REGISTERS] == list(range(0, 4 * len(REGISTERS), 4))
    assert REGISTERS[-1].offset < 1 << ADDRESS_BITS
    assert len({one.name for one in REGISTERS}) == len(REGISTERS)
    # Hardware looks at the lowest two bits of what is written, in the lowest byte.
    assert all(field.bit < 2 for one in REGISTERS for field in one.fields)


def test_version_is_packed():
    assert packed_version("1.22.3rc4") == 1 << 16 | 22 << 8 | 34
    assert packed_version("0.5") == 0x000500


def test_constants():
    assert CONTROL.constants == {
        "ID": MAGIC, "VERSION": CONTROL.version, "MODEL_LO": 0x89ABCDEF, "MODEL_HI": 0x01234567,
    }  # fmt: skip


def test_driver_has_the_same_addresses_as_report_and_hardware():
    defined = {
        name: int(value, 16)
        for name, value in re.findall(
            r"#define NET_(\w+) UINT32_C\((0x[0-9A-F]+)\) /\* (?:RO|RW|W1C)", header()
        )
    }
    rows = interface().to_json()["registers"]
    assert defined == {row["name"]: row["offset"] for row in rows}
    hardware = control_files(interface())["rtl/net_control.sv"]
    words = {
        name.upper(): 4 * int(word)
        for name, word in re.findall(r"localparam word_t Word(\w+) = \d+'d(\d+);", hardware)
    }
    assert words == {name.replace("_", ""): offset for name, offset in defined.items()}


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "net_regs.h"

static uint32_t memory[32];

int main(void) {
  const uintptr_t base = (uintptr_t)memory;
  for (uint32_t i = 0; i < 32U; i++) memory[i] = i;
  printf("%d", net_is_there(base));
  memory[NET_ID / 4U] = NET_ID_VALUE;
  memory[NET_MODEL_LO / 4U] = NET_MODEL_LO_VALUE;
  memory[NET_MODEL_HI / 4U] = NET_MODEL_HI_VALUE;
  printf("%d", net_is_there(base));
  net_enable(base, true);
  printf(" %u", (unsigned)memory[NET_CONTROL / 4U]);
  net_enable(base, false);
  printf("%u", (unsigned)memory[NET_CONTROL / 4U]);
  memory[NET_STATUS / 4U] = 1;
  printf("%d", net_busy(base));
  memory[NET_STATUS / 4U] = 2;
  printf("%d", net_busy(base));
  memory[NET_CYCLES_LO / 4U] = 0xFFFFFFF0U;
  memory[NET_CYCLES_HI / 4U] = 5;
  printf(" %llx", (unsigned long long)net_cycles(base));
  net_irq_enable(base, true);
  printf(" %u", (unsigned)memory[NET_IRQ_ENABLE / 4U]);
  memory[NET_IRQ_STATUS / 4U] = 0;
  printf("%d", net_irq_acknowledge(base));
  memory[NET_IRQ_STATUS / 4U] = 1;
  printf("%d\n", net_irq_acknowledge(base));
  return 0;
}
"""
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-O1")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_driver_is_strict_c_and_does_what_it_says(compiler, tmp_path):
    tool = search(compiler)
    if tool is None:
        missing(f"{compiler} is not installed")
    (tmp_path / "net_regs.h").write_text(header())
    (tmp_path / "main.c").write_text(PROGRAM)
    build = [*tool.command, "-std=c99", *STRICT, "main.c", "-o", "main"]
    run(build, cwd=tmp_path, timeout_s=60)
    assert run(["./main"], cwd=tmp_path, timeout_s=10).stdout == "01 1010 5fffffff0 101\n"


def test_driver_is_cxx_too(tmp_path):
    tool = search("c++")
    if tool is None:
        missing("a C++ compiler is not installed")
    (tmp_path / "net_regs.h").write_text(header())
    (tmp_path / "main.cpp").write_text('#include "net_regs.h"\nint main() { return 0; }\n')
    build = [*tool.command, "-std=c++11", *STRICT, "-fsyntax-only", "main.cpp"]
    run(build, cwd=tmp_path, timeout_s=60)


def test_control_files_are_golden(golden):
    ports = interface(2, 2)
    files = {
        "rtl/net_top.sv": top_verilog(ports),
        "synth/net_top_pins.sv": pins_verilog(ports, "ecp5"),
    }
    golden("fpga/control", files | control_files(ports))


def test_core_without_control_has_no_registers():
    plain = Interface("net", interface().inputs, interface().outputs)
    assert control_files(plain) == {}
    assert "registers" not in plain.to_json()
    assert not any("axil" in signal.name for signal in plain.signals)


def test_option_is_checked():
    with raises(Exception):
        FpgaOptions(control="apb")
    with raises(Exception):
        FpgaOptions(weights="flash")


@pytest.mark.parametrize(
    ("text", "parts"),
    [("0.0.0", (0, 0, 0)), ("7", (7, 0, 0)), ("1.2.3.4", (1, 2, 3)), ("2.257.258", (2, 1, 2)),
     ("2.0.0.dev1+g12ab", (2, 0, 0)), ("3.dev.5", (3, 0, 5)), ("256.1.1", (0, 1, 1))],
)  # fmt: skip
def test_every_part_of_a_version_has_a_byte(text, parts):
    assert packed_version(text).to_bytes(4, "big") == bytes((0, *parts))


def test_the_hash_of_the_model_is_two_registers():
    for model in (0, 1, 0xFFFFFFFF, 1 << 32, (1 << 64) - 1, 0x8000000180000001):
        constants = Control(model, 0).constants
        assert constants["MODEL_HI"] << 32 | constants["MODEL_LO"] == model
        assert constants["MODEL_LO"] < 1 << 32


def test_only_status_of_framed_streams_has_the_framing_error():
    plain, framed = (Control(1, 2, framed=framed).registers for framed in (False, True))
    assert [one.name for one, other in zip(plain, framed, strict=True) if one != other] == [
        "STATUS"
    ]
    (status,) = (one for one in framed if one.name == "STATUS")
    assert [(field.name, field.bit) for field in status.fields] == [("BUSY", 0), ("FRAME_ERROR", 1)]
