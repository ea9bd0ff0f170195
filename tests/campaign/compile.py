"""Every C file that a network becomes, for every core and goal, through the compilers' warnings.

``findings(module)`` emits a network for all cores, objectives and places of inputs and outputs in
this process, and compiles each distinct file once for each core that it is meant for: with -O2 for
one of the cores that differ in their names alone, and parsed only for the others and the host.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from campaign import networks
from campaign.part import Outcome, Part
from rlx.driver.driver import fit_to_target
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.frontends.tflite import frontend as tflite
from rlx.support.errors import EmitError
from rlx.support.process import run
from rlx_c.choice import OBJECTIVES
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.core import CORES
from rlx_sim.firmware.firmware import CPUS
from rlx_sim.firmware.host_c import WARNINGS
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import GraphModule
    from rlx.ir.module import GraphModule as Module

PORTS = ("caller", "arena", "float")
"""Places and types of inputs and outputs."""

PREFIX: Final = "net"

MORE: Final = (
    "-Wcast-qual", "-Wundef", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wwrite-strings",
    "-Wpointer-arith", "-Wformat=2", "-Wswitch-enum", "-Wvla", "-Wlogical-op", "-Wduplicated-cond",
    "-Wredundant-decls", "-Wnested-externs", "-Wold-style-definition",
)  # fmt: skip
"""Warnings of GCC beyond those that the project promises to compile without."""

HOST: Final = "host"

_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True)
class Variant:
    """One way to emit a network."""

    cpu: str
    optimize: str
    io: str

    def __str__(self) -> str:
        """Return the options of ``rlx emit``."""
        return f"--cpu {self.cpu} --optimize {self.optimize} --io {self.io}"


@dataclass(frozen=True)
class Unit:
    """A C file with the headers that it includes; equal units compile alike.

    Attributes:
        cpu: Processor that it is compiled for: a core, or ``HOST``.
        name: The file's name.
        text: Its text.
        headers: Name and text of every header.
    """

    cpu: str
    name: str
    text: str
    headers: tuple[tuple[str, str], ...]


def findings(module: GraphModule) -> list[str]:
    """Return one line for each error and warning, and for each way that cannot be emitted."""
    found: list[str] = []
    units: dict[Unit, Variant] = {}
    for variant, files in emissions(module, found):
        for unit in _units(variant, files):
            units.setdefault(unit, variant)
    by_headers = sorted(units, key=lambda u: (u.cpu, u.headers, u.name, u.text))
    for _, group in itertools.groupby(by_headers, key=lambda u: (u.cpu, u.headers)):
        found += _compiled(list(group), units)
    return found


def variants() -> Iterator[Variant]:
    """Yield every core, objective and place of inputs and outputs."""
    for cpu, optimize, io in itertools.product(CORES, OBJECTIVES, PORTS):
        yield Variant(cpu, optimize, io)


def emissions(module: GraphModule, found: list[str]) -> Iterator[tuple[Variant, dict[str, str]]]:
    """Yield every variant with the C files that it becomes; what raises is put to ``found``.

    What variants have in common is done once: the passes; the plan, which of all objectives only
    "ram" changes; and everything for cores that differ in their names alone.
    """
    options = TARGET.options()
    golden = reference_outputs(module.graph, random_inputs(module.graph, 1))
    try:
        fitted = fit_to_target(module, TARGET, options=options)
        fitted.dispatch.require_ready()
        rewritten = fitted.module
    except Exception as e:
        found.append(f"every variant: {_one_line(e)}")
        return
    plans: dict[object, Module] = {}
    emitted: dict[object, dict[str, str]] = {}
    for variant in variants():
        core = replace(CORES[variant.cpu], name="")
        key = core, variant.optimize, variant.io
        if key not in emitted:
            try:
                options = _options(variant)
                shared = core, variant.optimize == "ram", variant.io
                if shared not in plans:
                    plans[shared] = TARGET.plan(rewritten, options)
                emission = TARGET.emit(plans[shared], options)
            except Exception as e:
                sound = isinstance(e, EmitError) and e.where and e.hint
                if not sound and not any(line.endswith(_one_line(e)) for line in found):
                    found.append(f"{variant}: {_one_line(e)}")
                emitted[key] = {}
                continue
            files = {**emission.files, **emission.vector_files(golden)}
            emitted[key] = {n: t for n, t in files.items() if n.startswith(("src/", "include/"))}
        yield variant, emitted[key]


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _options(variant: Variant) -> CortexMOptions:
    return CortexMOptions(
        prefix=PREFIX, cpu=variant.cpu, optimize=variant.optimize, io=variant.io,
        static_arena=True, self_test=1, package=(),
    )  # fmt: skip


def _units(variant: Variant, files: dict[str, str]) -> Iterator[Unit]:
    headers = {Path(n).name: t for n, t in files.items() if n.endswith(".h")}
    for name, text in files.items():
        if not name.endswith(".c"):
            continue
        used = tuple(sorted(_included(text, headers).items()))
        yield Unit(variant.cpu, Path(name).name, text, used)
        if not CORES[variant.cpu].pairs:
            yield Unit(HOST, Path(name).name, text, used)


def _included(text: str, headers: dict[str, str]) -> dict[str, str]:
    """Return the headers that a text includes, and those that they include."""
    found: dict[str, str] = {}
    for name, header in headers.items():
        if f'#include "{name}"' in text:
            found |= {name: header} | _included(header, headers)
    return found


def _compiled(group: Sequence[Unit], units: dict[Unit, Variant]) -> Iterator[str]:
    """Compile units of one core with equal headers in one run, and yield what is said."""
    with tempfile.TemporaryDirectory(prefix="rlx-compile-") as name:
        folder = Path(name)
        for header, text in group[0].headers:
            (folder / header).write_text(text)
        paths = {}
        for number, unit in enumerate(group):
            path = folder / f"{number}_{unit.name}"
            path.write_text(unit.text)
            paths[path.name] = unit
        done = run(
            [*_command(group[0].cpu), "-I", ".", *paths],
            cwd=folder, timeout_s=_TIMEOUT_S, check=False,
        )  # fmt: skip
        for line in sorted(set((done.stdout + done.stderr).splitlines())):
            match = _MESSAGE.match(line)
            if match:
                unit = paths[match["file"]] if match["file"] in paths else group[0]
                yield f"{units[unit]}: {unit.cpu}: {unit.name}:{match['line']}: {match['text']}"
        if done.returncode and not _MESSAGE.search(done.stdout + done.stderr):
            yield f"{units[group[0]]}: compiler failed: {done.stderr.strip()[:300]}"


_MESSAGE = re.compile(
    r"^(?P<file>[^:\n]*):(?P<line>\d+)[:\d]*: "
    r"(?P<text>(fatal error|error|warning|Error|Warning): .*)$",
    re.MULTILINE,
)


def _command(cpu: str) -> tuple[str, ...]:
    flags = (*(w for w in WARNINGS if w != "-Werror"), *MORE)
    if cpu == HOST:
        return (*find("cc").command, *flags, "-fsyntax-only")
    core = (f"-mcpu={cpu}", *CPUS[cpu].gcc, "-mthumb")
    whole = cpu in _COMPILED
    return (*find("arm-none-eabi-gcc").command, *core, *flags, "-O2",
            "-c" if whole else "-fsyntax-only")  # fmt: skip


_COMPILED: Final = frozenset(
    {replace(core, name=""): core.name for core in CORES.values()}.values()
)
"""One of the cores with the same instructions."""


_SEEDS: Final = 5_000_000


def _run_numbered(number: int) -> Outcome:
    found = findings(tflite.load(networks.make(_SEEDS + number)))
    return Outcome("warnings" if found else "clean", "; ".join(found[:3]))


COMPILED = Part(
    name="compile",
    title="random networks: C of every core, goal and place of inputs, compiled",
    goal="300 without a warning",
    run=_run_numbered,
    cases=300,
    short=0,
    deadline_s=600.0,
)
