"""The test program that is emitted with a model: golden vectors on the host and in firmware."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.support.files.paths import template_root
from rlx.support.text.templates import environment
from rlx_cortexm.core import DEFAULT_CORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_c import ports
    from rlx_c.entry_point import EntryPoint

FOLDER = "test"
"""Folder of the emitted files, next to ``src``, ``include`` and ``golden``."""

COPIED = (
    "Makefile",
    "freestanding/string.h",
    "mps2.ld",
    "mps2_an505.ld",
    "mps3_an547.ld",
    "platform.h",
    "sections.ld",
    "semihosting.c",
    "start.c",
)
"""Files that are the same for every model; in the makefile the default core differs."""


MEASURING = ("layer_cycles.c", "layer_cycles.h")
"""Example of a layer hook, which measures cycles on a board."""


@dataclass(frozen=True, slots=True)
class FirmwareBuffer:
    """Properties of one input or output of ``<prefix>_run`` that the test program needs.

    Attributes:
        bytes: C expression for the bytes of one frame, for example ``KWS_INPUT_BYTES``.
        type: C element type of the pointer.
        address_function: C function that returns its place in an arena; None if it is a parameter.
    """

    bytes: str
    type: str = "int8_t"
    address_function: str | None = None


def firmware_of(
    prefix: str,
    entry_point: EntryPoint,
    *,
    self_test: bool = False,
    self_check: bool = False,
    weights_file: str | None = None,
    cpu: str = DEFAULT_CORE.name,
) -> dict[str, str]:
    """Return the files of the test program of a network with an entry point of rlx's.

    Args:
        prefix: Prefix of the model's C identifiers.
        entry_point: Its inputs and outputs.
        self_test: There is a ``<prefix>_self_test(arena)`` to run too.
        self_check: There is a ``<prefix>_self_check()`` to run too.
        weights_file: Name of the file of the constants; None if they are C arrays.
        cpu: Core that make builds for by default.
    """
    macro = prefix.upper()

    def tested(port: ports.EntryPort) -> FirmwareBuffer:
        address_function = f"{prefix}_{port.parameter}" if entry_point.in_arena else None
        return FirmwareBuffer(f"{macro}_{port.macro}_BYTES", port.type, address_function)

    return firmware_files(
        prefix,
        [tested(port) for port in entry_point.inputs],
        [tested(port) for port in entry_point.outputs],
        arena_bytes=f"{macro}_ARENA_BYTES",
        state_type=entry_point.state_type if entry_point.states else None,
        self_test=self_test,
        self_check=self_check,
        weights_file=weights_file,
        cpu=cpu,
    )


def firmware_files(
    prefix: str,
    inputs: Sequence[FirmwareBuffer],
    outputs: Sequence[FirmwareBuffer],
    *,
    arena_bytes: str,
    state_type: str | None = None,
    self_test: bool = False,
    self_check: bool = False,
    weights_file: str | None = None,
    cpu: str = DEFAULT_CORE.name,
) -> dict[str, str]:
    """Return the files of the test program by relative path.

    It calls ``<prefix>_run(input pointers..., output pointers..., arena)`` of ``<prefix>.h`` for
    every frame of ``golden/input_<k>.npy`` and compares with ``golden/output_<k>.npy``. Ports in
    the arena are not among the pointers; frames are copied to and from it.

    Args:
        prefix: Prefix of the model's C identifiers.
        inputs: Inputs in the order of the parameters.
        outputs: Outputs in the order of the parameters.
        arena_bytes: C expression for the size of the arena.
        state_type: C type of the struct of states, which ``<prefix>_reset`` sets; None for none.
        self_test: There is a ``<prefix>_self_test(arena)`` to run too.
        self_check: There is a ``<prefix>_self_check()`` to run too.
        weights_file: Name of the file of the constants; None if they are C arrays.
        cpu: Core that make builds for by default.
    """
    folder = template_root() / "cortexm" / "firmware"
    files = {f"{FOLDER}/{name}": (folder / name).read_text(encoding="utf-8") for name in COPIED}
    makefile = f"{FOLDER}/Makefile"
    files[makefile] = files[makefile].replace(f"CPU ?= {DEFAULT_CORE.name}\n", f"CPU ?= {cpu}\n")
    templates, ports = environment(folder), {"inputs": inputs, "outputs": outputs}
    for name in MEASURING:
        template = templates.get_template(f"{name}.j2")
        files[f"{FOLDER}/{name}"] = template.render(prefix=prefix, macro=prefix.upper())
    files[f"{FOLDER}/host.c"] = templates.get_template("host.c.j2").render(ports)
    if weights_file is not None:
        text = templates.get_template("weights.S.j2").render(weights_file=weights_file)
        files[f"{FOLDER}/weights.S"] = text
    files[f"{FOLDER}/main.c"] = templates.get_template("main.c.j2").render(
        ports, prefix=prefix, arena_bytes=arena_bytes, state_type=state_type,
        self_test=self_test, self_check=self_check, weights_file=weights_file,
        in_arena=any(port.address_function for port in (*inputs, *outputs)),
    )  # fmt: skip
    return files
