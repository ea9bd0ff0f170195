"""From a component with stream ports to the files of an output folder."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from amaranth import Value
from amaranth.back import verilog
from amaranth.hdl import Fragment
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import In

from rlx_fpga.axi import control_files, harness_cpp, top_verilog
from rlx_fpga.cells.constants import Constants
from rlx_fpga.cells.multiply import NetlistPlatform, Packing
from rlx_fpga.garbage import gc_paused
from rlx_fpga.integration import integration_files
from rlx_fpga.render import render
from rlx_fpga.simulators import start_combinational

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amaranth.lib import wiring

    from rlx_fpga.axi import Interface
    from rlx_fpga.devices import Device

BENCH_CYCLES: Final = 300_000
"""Cycles that the emitted cocotb bench simulates in its first test, roughly."""

BENCH_FRAMES: Final = (3, 16)
"""Least and greatest number of frames of that test."""

IDLE_CYCLES: Final = 100_000
"""Least number of cycles without a transfer after which a bench calls the core stuck."""


_WITHOUT_BITS: Final = re.compile(r"\[-1:0\] *([^\s;]+)")


def design_files(
    component: wiring.Component,
    interface: Interface,
    report: Mapping[str, Any],
    device: Device,
    *,
    memory_files: bool = False,
) -> dict[str, str | bytes]:
    """Return every file of the folder but golden vectors and manifest, by relative path.

    Args:
        component: The pipeline; its members are named as the interface says.
        interface: Its ports.
        report: What ``report.json`` says beside the ports; with ``interval``, the cycles that
            each frame takes, and ``layers``, rows with ``name`` and ``op``.
        device: What the scripts are for.
        memory_files: Whether constant words go into files beside the netlist.
    """
    prefix = interface.prefix
    core, words = netlist(component, interface, memory_files=memory_files)
    interface = replace(interface, memories=tuple(words))
    interval = int(report["interval"])
    least, most = BENCH_FRAMES
    frames = max(least, min(most, BENCH_CYCLES // max(1, interval)))
    idle = max(IDLE_CYCLES, 4 * interval)
    return {
        f"rtl/{interface.core}.v": core,
        **words,
        **({f"rtl/{prefix}_rom.sv": render("rom.sv.j2", interface=interface)} if words else {}),
        f"rtl/{interface.top}.sv": top_verilog(interface),
        **control_files(interface),
        "lint.vlt": render("lint.vlt.j2", interface=interface),
        "tb/harness.cpp": harness_cpp(interface),
        f"tb/test_{prefix}.py": render(
            "test.py.j2", interface=interface, frames=frames, idle_limit=idle
        ),
        f"tb/{prefix}_tb.sv": render(
            "tb.sv.j2", interface=interface, frames=frames, idle_limit=idle
        ),
        "tb/run.py": render("run.py.j2", interface=interface),
        **integration_files(interface, device, float(report["clock_mhz"])),
        "README.md": readme(interface, report, device),
        "report.json": json.dumps({**report, "interface": interface.to_json()}, indent=2) + "\n",
    }


def netlist(
    component: wiring.Component, interface: Interface, *, memory_files: bool = False
) -> tuple[str, dict[str, str]]:
    """Return the component as Verilog-2005, hierarchy and names kept, and files that it reads.

    Args:
        component: The pipeline.
        interface: Its ports.
        memory_files: Whether constant words go into files; else they are in the Verilog.
    """
    constants = Constants(interface.prefix, in_files=memory_files)
    platform = NetlistPlatform(interface.core, constants)
    with gc_paused():
        design = Fragment.get(component, platform)
        constants.name(design)
        text, _ = verilog.convert_fragment(
            design, ports_of(component), interface.core, emit_src=False, strip_internal_attrs=True
        )
    # The first line names a version of Yosys.
    body = start_combinational(text.split("\n", 1)[1])
    require_bits(body)
    banner = (
        f"// {interface.core}: netlist of a streaming neural network, made by rlx.\n"
        f"// Instantiate {interface.top}, which gives it AXI4-Stream ports.\n"
    )
    products = render("multiply.v.j2", name=platform.module(logic=False))
    parts = {platform.packed(one): f"multiply_{one.value}" for one in Packing}
    parts[platform.ram] = "ram"
    needed = {name: kind for name, kind in parts.items() if f" {name} " in body}
    others = [render(f"{kind}.v.j2", name=name) for name, kind in needed.items()]
    modules = [*constants.modules, products, *others]
    return banner + plain_module_names(body, interface.core) + "".join(modules), constants.files


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Return the members of a component by the names that they have in a netlist."""
    return {
        "__".join(map(str, path)): (
            Value.cast(value),
            PortDirection.Input if member.flow == In else PortDirection.Output,
        )
        for path, member, value in component.signature.flatten(component)
    }


def require_bits(text: str) -> None:
    """Check that a netlist has no signals without bits, which Verilog reads as two bits.

    Raises:
        AssertionError: It has; see ``rlx_fpga.cells.sizes``.
    """
    found = _WITHOUT_BITS.search(text)
    assert found is None, f"signal {found and found[1]} has no bits: make it with index_signal"


def plain_module_names(text: str, core: str) -> str:
    """Return ``text`` with module names that hold dots made plain identifiers."""
    escaped = re.compile(rf"\\({re.escape(core)}(?:\.\w+)+) ")
    names = sorted(set(escaped.findall(text)))
    plain = {name: name.replace(".", "__") for name in names}
    assert len(set(plain.values())) == len(plain), "submodule names must not hold '__'"
    return escaped.sub(lambda match: f"{plain[match[1]]} ", text)


def readme(interface: Interface, report: Mapping[str, Any], device: Device) -> str:
    """Return the folder's README."""
    columns = report["columns"]

    def cells(row: Mapping[str, Any]) -> list[str]:
        return [str(row.get(name, "")) for name in columns]

    return render(
        "README.md.j2",
        interface=interface,
        report=report,
        device=device,
        columns=columns,
        cells=cells,
    )
