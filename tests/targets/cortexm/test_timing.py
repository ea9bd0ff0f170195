"""Milliseconds: a range for a number of instructions, never a measurement."""

import pytest
from targets.cortexm.graph_builder import planned
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.targets.milliseconds import CycleRange, Milliseconds
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.options import CPU_NAMES
from rlx_cortexm.parts import Flash, boards, flash_of, part, parts
from rlx_cortexm.timing import CYCLES, cycle_range

DUAL_ISSUE = ("cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85")


def test_every_core_has_cycles():
    assert set(CYCLES) == {name.partition("+")[0] for name in CPU_NAMES}


@pytest.mark.parametrize("cpu", CPU_NAMES)
def test_range_of_a_core_is_ordered_and_has_a_document(cpu):
    cycles = cycle_range(cpu, 64e6, Flash())
    assert cycles.low < cycles.high
    assert (cycles.low < 1) == cpu.startswith(DUAL_ISSUE)
    assert cycles.source.startswith("Arm ")
    assert cycles.source.endswith(", memory without wait states")


@pytest.mark.parametrize("key", [*parts(), *boards()])
def test_wait_states_make_only_the_longest_time_longer(key):
    chip = part(key)
    flashes = flash_of(chip, None), Flash()
    cycles, bare = (cycle_range(chip.core, 48e6, flash) for flash in flashes)
    assert cycles.low == bare.low
    assert (cycles.high > bare.high) == (chip.wait_states is not None)
    assert ("wait states without cache" in cycles.source) == (chip.wait_states is not None)


def test_wait_states_are_those_of_each_read():
    # 5 wait states for four instructions of 32 bits, and for one constant in three instructions.
    high = cycle_range("cortex-m4", 180e6, flash_of(part("stm32f446"), None)).high
    assert 2.0 + 5 / 4 + 5 / 3 <= high < 2.0 + 5 / 4 + 5 / 3 + 0.1


def test_milliseconds_are_instructions_by_cycles_by_clock():
    time = CycleRange(1.0, 1.7, 64.0, "Arm X").milliseconds(115_200)
    assert time == Milliseconds(1.8, 3.06, 64.0, "instructions x 1.0 to 1.7 cycles, Arm X")
    assert str(time) == (
        "1.8 to 3.06 ms at 64 MHz (instructions x 1.0 to 1.7 cycles, Arm X; not measured)"
    )
    assert CycleRange(1.0, 2.0, 1.0, "").milliseconds(1_234_567).range_text == "1,235 to 2,469"
    assert CycleRange(1.0, 2.0, 100.0, "").milliseconds(0).range_text == "0 to 0"


def test_clock_is_that_of_the_option_or_the_maximum_of_the_part():
    assert CortexMOptions().cycles is None
    assert CortexMOptions(clock=64e6).cycles.clock_mhz == 64
    assert CortexMOptions(part="nucleo-f446re").cycles.clock_mhz == 180
    assert CortexMOptions(part="nucleo-f446re", clock=16e6).cycles.clock_mhz == 16


def test_wait_states_are_those_of_the_option_or_of_the_part():
    part_waits = CortexMOptions(part="nucleo-f446re").cycles.high
    assert CortexMOptions(part="nucleo-f446re", flash_wait="0").cycles.high == 2
    assert CortexMOptions(part="nucleo-f446re", flash_wait="9").cycles.high > part_waits
    assert CortexMOptions(clock=64e6, flash_wait="2:64").cycles.high == pytest.approx(3.7)


def test_report_and_manifest():
    graph, options = planned(KERNEL_GRAPHS[0]()), CortexMOptions(part="nrf52840")
    emission = TARGET.emit(graph, options)
    time = emission.report["milliseconds"]
    assert set(time) == {"low", "high", "clock_mhz", "source"}
    assert time["low"] == pytest.approx(emission.report["instructions"] / 64e3, rel=1e-3)
    assert 0 < time["low"] < time["high"]
    assert CycleRange.of(emission.facts) == options.cycles
    assert emission.facts["part"] == {
        "name": "nRF52840", "flash_bytes": 1 << 20, "ram_bytes": 1 << 18,
    }  # fmt: skip
    plain = TARGET.emit(graph, CortexMOptions())
    assert {"milliseconds", "part"}.isdisjoint(plain.report)
    assert plain.facts.keys() == {"prefix", "cpu"}
    (_, figures) = TARGET.view(plain.report, CortexMOptions())
    (line,) = [figure for figure in figures.figures if figure.label == "time"]
    assert (line.value, line.note) == (None, "needs a clock or a part")
    (_, figures) = TARGET.view(emission.report, options)
    (line,) = [figure for figure in figures.figures if figure.label == "time"]
    assert line.unit == "ms"
    assert line.note.endswith("; not measured)")
