"""Instructions of each layer, measured with the hook that emitted C calls before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rlx.support.errors import SimulationError
from rlx.support.files.scratch import work_folder
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.qemu import Qemu

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx_sim.firmware.firmware import Firmware
    from rlx_sim.firmware.unicorn_runner import Unicorn
    from rlx_sim.protocol import Simulation

_LAYER: Final = re.compile(r"^rlx layer (\d+) instructions (\d+)$", re.MULTILINE)

_HEADER: Final = """\
#ifndef RLX_PROFILE_H
#define RLX_PROFILE_H
#include <stdint.h>
void rlx_layer(int32_t index);
#define {macro}_LAYER_HOOK(index, name) rlx_layer(index)
#endif
"""

# The hook's own cost is measured by two calls in a row.
_SOURCE: Final = """\
#include "platform.h"
#include "{prefix}.h"

#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

static uint32_t marks[{macro}_LAYERS + 1];
static uint32_t own[2];
static uint32_t *at = marks;

static void print_number(const char *label, uint32_t number)
{{
  char text[11];
  uint32_t first = sizeof(text) - 1u;
  text[first] = '\\0';
  do {{
    text[--first] = (char)('0' + number % 10u);
    number /= 10u;
  }} while (number != 0u);
  platform_print(label);
  platform_print(&text[first]);
}}

static __attribute__((noinline)) void finish(void)
{{
  at = own;
  rlx_layer(0);
  rlx_layer(1);
  at = marks;
  const uint32_t cost = platform_instructions(own[0], own[1]);
  for (uint32_t k = 0; k < {macro}_LAYERS; k++) {{
    const uint32_t spent = platform_instructions(marks[k], marks[k + 1u]);
    print_number("rlx layer ", k);
    print_number(" instructions ", spent > cost ? spent - cost : 0u);
    platform_print("\\n");
  }}
}}

KEPT void rlx_layer(int32_t index)
{{
  at[index] = platform_counter();
  if (at == marks && index == {macro}_LAYERS) {{
    finish();
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class FirmwareProfile:
    """Instructions and bytes of a network on an emulated core.

    Attributes:
        simulation: The run without hooks, with the instructions of each frame.
        layers: Instructions of each layer in the first frame, exact to a few.
        text_bytes: Machine code.
        const_bytes: Constants.
        stack_bytes: Stack, the maximum of the measured bytes and the compiler's bound.
    """

    simulation: Simulation
    layers: tuple[int, ...]
    text_bytes: int
    const_bytes: int
    stack_bytes: int


def profile(
    folder: Path,
    prefix: str,
    vectors: Golden,
    *,
    build: FirmwareBuild | None = None,
    timeout_s: float,
) -> FirmwareProfile:
    """Run the C of ``folder`` under QEMU, once without and once with hooks.

    Args:
        folder: An output folder of ``rlx emit --target cortexm``.
        prefix: Prefix of its C identifiers.
        vectors: Frames to run.
        build: Settings by which it is built; None for the defaults.
        timeout_s: Wall-clock limit of each run.

    Raises:
        ToolMissingError: The compiler or QEMU is not installed.
        SimulationError: It does not build, or stopped early.
        TimeLimitError: It took too long.
    """
    build = build or FirmwareBuild()
    with work_folder("profile") as work:
        firmware = build.build(folder, work / "plain" / "build")
        plain = Qemu(build).run(firmware, vectors, work / "plain", timeout_s=timeout_s)
        layers = _layers(folder, prefix, vectors.first(1), Qemu(build), work / "hooks", timeout_s)
    bound = firmware.stack.bytes if firmware.stack else 0
    return FirmwareProfile(
        simulation=plain,
        layers=layers,
        text_bytes=firmware.sizes.text,
        const_bytes=firmware.sizes.const,
        stack_bytes=max(plain.stack_bytes or 0, bound),
    )


def layer_instructions(
    folder: Path, prefix: str, vectors: Golden, *, simulator: Qemu | Unicorn, timeout_s: float
) -> tuple[int, ...]:
    """Return the instructions of each layer in the first frame; arguments as :func:`profile`.

    The emulator has the settings by which the firmware is built.

    Raises:
        As :func:`profile`.
    """
    with work_folder("layers") as work:
        first = vectors.first(1)
        return _layers(folder, prefix, first, simulator, work / "hooks", timeout_s)


def _layers(
    folder: Path,
    prefix: str,
    vectors: Golden,
    simulator: Qemu | Unicorn,
    work: Path,
    timeout_s: float,
) -> tuple[int, ...]:
    work.mkdir()
    firmware = hooked_firmware(folder, prefix, simulator.build, work)
    run = simulator.run(firmware, vectors, work, timeout_s=timeout_s)
    return layer_counts(run.log, folder)


def layer_counts(log: str, folder: Path) -> tuple[int, ...]:
    """Return the instructions of each layer, as a program with hooks printed them.

    Raises:
        SimulationError: Layers of the folder are missing.
    """
    counts = {int(index): int(count) for index, count in _LAYER.findall(log)}
    if sorted(counts) != list(range(len(counts))) or not counts:
        raise SimulationError("the layers' hooks were not all called", where=str(folder))
    return tuple(counts[index] for index in range(len(counts)))


def hooked_firmware(folder: Path, prefix: str, build: FirmwareBuild, work: Path) -> Firmware:
    """Build the test program with a hook before each layer: a call of ``rlx_layer``."""
    names = {"prefix": prefix, "macro": prefix.upper()}
    (work / "rlx_profile.h").write_text(_HEADER.format(**names), encoding="utf-8")
    source = work / "rlx_profile.c"
    source.write_text(_SOURCE.format(**names), encoding="utf-8")
    config = f'-D{prefix.upper()}_CONFIG="rlx_profile.h"'
    hooked = replace(build, flags=(*build.flags, config, "-I", str(work)))
    return hooked.build(folder, work / "build", more=[source])
