"""Microcontrollers: the table, ``--part`` and what it changes."""

import tomllib
from importlib.resources import files

import pytest
from targets.cortexm.graph_builder import planned
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.cli import main
from rlx.support.errors import DoesNotFitError, UsageError
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.budget import check_budget
from rlx_cortexm.options import CPU_NAMES
from rlx_cortexm.parts import Flash, boards, flash_of, part, parts
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
KIB = 1024
REPORT = {"arena_bytes": 0, "constant_bytes": 0}


def test_table_has_no_unknown_keys():
    data = tomllib.loads(files("rlx_cortexm.parts").joinpath("parts.toml").read_text("utf-8"))
    keys = {key for row in data["part"].values() for key in row}
    assert keys == {
        "name", "vendor", "core", "fpu", "clock_mhz", "flash_kib", "ram_kib", "block_kib",
        "ram_note", "wait_states", "read_bits", "cache", "source",
        "prefetch", "code_cache_bytes", "data_cache_bytes",
    }  # fmt: skip
    assert {key for row in data["board"].values() for key in row} == {"name", "part", "flash_kib"}


def test_no_two_parts_or_boards_have_one_name():
    names = [entry.name.lower() for entry in (*parts().values(), *boards().values())]
    keys = [*parts(), *boards()]
    assert len(set(names)) == len(names) == len(set(keys)) == len(keys)
    assert len(parts()) >= 20


@pytest.mark.parametrize("key", parts())
def test_part_makes_sense(key):
    chip = part(key)
    assert chip.key == key == key.lower()
    assert chip.core in CPU_NAMES
    assert chip.source
    assert 16 <= chip.clock_mhz <= 1000
    assert 16 * KIB <= chip.block_bytes <= chip.ram_bytes <= 2048 * KIB
    assert (chip.block_bytes == chip.ram_bytes) or chip.ram_note
    assert chip.flash_bytes is None or 1.9 <= chip.flash_bytes / chip.ram_bytes <= 16
    assert chip.read_bits in (32, 64, 128, 256)
    assert chip.wait_states is None or 1 <= chip.wait_states <= 8
    widest = {
        "cortex-m7": ("single", "double"),
        "cortex-m4": ("single",),
        "cortex-m33": ("single",),
    }
    assert chip.fpu in widest.get(chip.core, ("none",))


@pytest.mark.parametrize("key", boards())
def test_board_is_its_part_with_flash(key):
    board = part(key)
    assert board.key == key
    same = ("core", "source", "block_bytes", "clock_mhz", "wait_states")
    (bare,) = [
        entry
        for entry in parts().values()
        if all(getattr(entry, name) == getattr(board, name) for name in same)
        and entry.flash_bytes in (None, board.flash_bytes)
    ]
    assert bare.name != board.name
    assert board.flash_bytes is not None


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("rp2040", "Raspberry Pi RP2040: cortex-m0plus, 133 MHz, external flash, 264 KiB RAM"),
        ("blue-pill", "Blue Pill with STM32F103x8: cortex-m3, 72 MHz, 64 KiB flash, 20 KiB RAM"),
        (
            "nucleo-h743zi",
            "NUCLEO-H743ZI with STM32H743xI: cortex-m7, 480 MHz, 2048 KiB flash, 1056 KiB RAM"
            " (512 KiB contiguous)",
        ),
    ],
)
def test_a_summary_names_the_maker_of_a_part_and_the_part_of_a_board(name, summary):
    assert part(name).summary == summary


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("STM32F746", "stm32f746xg"),
        ("stm32f746ZG", "stm32f746xg"),
        ("STM32F103C8T6", "stm32f103x8"),
        ("NUCLEO-F446RE", "nucleo-f446re"),
        ("nucleo_f446re", "nucleo-f446re"),
        ("ATSAMD51J19A", "samd51x19"),
        ("i.MX RT1062", "imxrt1062"),
        ("Raspberry Pi Pico", "raspberry-pi-pico"),
    ],
)
def test_capitals_hyphens_and_order_numbers(typed, key):
    assert part(typed).key == key
    assert CortexMOptions(part=typed).part == key


def test_unknown_part_names_similar_ones():
    with raises(UsageError):
        part("STM32F764")
    with pytest.raises(UsageError, match="did you mean 'stm32f103x8' or 'stm32f103xb'"):
        part("STM32F103")
    for name in ("nucleo", "stm32f4", "stm32", "raspberry", "all", "boards"):
        with raises(UsageError):
            part(name)
    for name in ("", "pdp-11"):
        with pytest.raises(UsageError) as caught:
            part(name)
        assert caught.value.hint == "'rlx targets cortexm' lists them"


def test_part_sets_the_core():
    assert CortexMOptions(part="rp2040").cpu == "cortex-m0plus"
    assert CortexMOptions(part="nrf52840", cpu="cortex-m4+nofp").cpu == "cortex-m4+nofp"
    assert CortexMOptions().cpu == "cortex-m4"
    assert CortexMOptions(part="rp2350").device == "cortex-m33 (RP2350)"
    assert CortexMOptions(cpu="cortex-m3").device == "cortex-m3"


def test_another_core_or_a_faster_clock_is_refused():
    with raises(UsageError):
        CortexMOptions(part="rp2040", cpu="cortex-m4")
    with raises(UsageError):
        CortexMOptions(part="nrf52840", clock=100e6)


def test_memory_of_a_part_is_a_limit():
    chip = part("stm32f407")
    fitting = {**REPORT, "arena_bytes": 128 * KIB, "constant_bytes": 1000 * KIB}
    check_budget("net", fitting, 24 * KIB, ram=None, flash=None, chip=chip)
    with raises(DoesNotFitError):
        check_budget(
            "net",
            {**fitting, "arena_bytes": 128 * KIB + 1},
            24 * KIB + 1,
            ram=None, flash=None, chip=chip,
        )  # fmt: skip
    with raises(DoesNotFitError):
        large = {**REPORT, "constant_bytes": 1025 * KIB}
        check_budget("net", large, KIB, ram=None, flash=None, chip=chip)
    outside = {**REPORT, "constant_bytes": 1 << 30}
    check_budget("net", outside, 0, ram=None, flash=None, chip=part("rp2040"))
    with pytest.raises(DoesNotFitError, match="it does not fit Raspberry Pi Pico\n  flash: "):
        check_budget("net", outside, 0, ram=None, flash=None, chip=part("raspberry-pi-pico"))


def test_a_limit_on_flash_is_the_advice_if_only_tables_of_channels_exceed_a_part():
    layers = [
        {"kernel": "channel table", "constant_bytes": 20 * KIB},
        {"kernel": "conv2d", "constant_bytes": 1010 * KIB},
    ]
    report = {**REPORT, "layers": layers, "constant_bytes": 1030 * KIB}
    with raises(DoesNotFitError):
        check_budget("net", report, KIB, ram=None, flash=None, chip=part("stm32f407"))


def test_smaller_limits_of_the_user_come_first():
    graph = planned(KERNEL_GRAPHS[0]())
    with pytest.raises(DoesNotFitError, match=r"ram is 1 bytes"):
        TARGET.estimate(graph, CortexMOptions(part="rp2040", ram=1))


def test_only_the_core_changes_what_is_emitted():
    graph = planned(KERNEL_GRAPHS[0]())
    on_part = TARGET.emit(graph, CortexMOptions(part="nucleo-f767zi")).files
    on_core = TARGET.emit(graph, CortexMOptions(cpu="cortex-m7")).files
    assert on_part.keys() == on_core.keys()
    different = [name for name in on_part if on_part[name] != on_core[name]]
    assert different == ["README.md"]
    assert " for cortex-m7 (NUCLEO-F767ZI). " in on_part["README.md"]


def test_report_has_the_shares_of_the_part():
    report = TARGET.estimate(planned(KERNEL_GRAPHS[0]()), CortexMOptions(part="stm32f746"))
    fit = report["part"]
    assert (fit["name"], fit["flash_bytes"]) == ("STM32F746xG", 1024 * KIB)
    assert fit["ram_bytes"] == 320 * KIB
    flash = report["constant_bytes"] + report["code_bytes"]
    assert fit["flash_percent"] == pytest.approx(100 * flash / fit["flash_bytes"], abs=0.05)
    assert fit["ram_percent"] == pytest.approx(
        100 * report["arena_bytes"] / fit["ram_bytes"], abs=0.05
    )
    bare = TARGET.estimate(planned(KERNEL_GRAPHS[0]()), CortexMOptions(part="rp2040"))
    assert bare["part"]["flash_percent"] is None


def test_command_line(capsys):
    arguments = ["estimate", str(DIGITS), "--target", "cortexm"]
    assert main([*arguments, "--part", "STM32F746"]) == 0
    printed = capsys.readouterr().out
    assert "Layers on a cortex-m7 (STM32F746xG), predicted" in printed
    assert " % of 1,048,576 B of STM32F746xG; constants " in printed
    assert " % of 327,680 B of STM32F746xG; arena, " in printed
    assert main([*arguments, "--part", "STM32F746", "--cpu", "cortex-m4"]) == 2
    assert "--part: STM32F746xG has a cortex-m7, not a cortex-m4" in capsys.readouterr().err
    assert main(["targets", "cortexm"]) == 0
    listed = capsys.readouterr().out
    assert "\n--part\n" in listed
    for key in (*parts(), *boards()):
        assert f"\n{key} " in listed


def test_memory_of_parts():
    assert flash_of(None, None) == Flash()
    assert flash_of(None, "4") == Flash(4, 4)
    assert flash_of(None, "4:128") == Flash(4, 16)
    board = flash_of(part("nucleo-l4r5zi"), None)
    assert board == Flash(5, 8, prefetch=True, code_cache_bytes=1024, data_cache_bytes=256)
    assert flash_of(part("nucleo-l4r5zi"), "2").wait_states == 2
    # Its sources give no wait states.
    assert flash_of(part("nrf52840"), None).wait_states == 0
