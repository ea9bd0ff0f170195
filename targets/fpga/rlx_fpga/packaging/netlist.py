"""From a component with stream ports to the files of an output folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from amaranth import Value
from amaranth.hdl import Fragment
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import In

from rlx.support.text.names import origin_text
from rlx_fpga.cells.constants import Constants
from rlx_fpga.cells.multiply import NetlistPlatform, Packing, has_blocks
from rlx_fpga.packaging.axi import (
    CoreInstance,
    PortSignal,
    control_files,
    harness_cpp,
    regroup_files,
    top_verilog,
)
from rlx_fpga.packaging.bench import bench_frames
from rlx_fpga.packaging.integration import board_pll, integration_files
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import resources
from rlx_fpga.packaging.waves import wave_layouts
from rlx_fpga.report import doubt
from rlx_fpga.rtl.modules import Modules
from rlx_fpga.rtl.naming import port_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from amaranth.lib import wiring

    from rlx.ir import Node
    from rlx.ir import Value as GraphValue
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.packaging.axi import Interface
    from rlx_fpga.rtl.modules import ModulePort

MIN_IDLE_CYCLES: Final = 100_000
"""Minimum number of cycles without a transfer after which a bench reports a stuck core."""

CLOCKING: Final = ("clk", "rst")
"""Ports of every module that has registers."""

_INSTANCE: Final = re.compile(r"^ *(\w+)(?: #\(| u_)", re.MULTILINE)
"""An instance in the text of a module, with the name of the instantiated module."""

_PACKED: Final = (Packing.SHARED_OPERAND, Packing.INDEPENDENT)


def design_files(
    component: wiring.Component,
    interface: Interface,
    report: Mapping[str, Any],
    device: FpgaDevice,
    *,
    comments: Mapping[str, Sequence[str]] | None = None,
    memory_files: bool = False,
    formal: bool = False,
) -> dict[str, str | bytes]:
    """Return every file of the folder except golden vectors and manifest, by relative path.

    Args:
        component: The pipeline; its members have the names of the interface.
        interface: Its ports.
        report: Content of ``report.json`` without the ports; with ``interval``, the initiation
            interval in cycles, and ``layers``, rows with ``name`` and ``op``.
        device: Device of the scripts.
        comments: Lines above each instance in the core, by its name.
        memory_files: Whether constant words are written to files next to the modules.
        formal: Whether proofs of the small cells are added to the folder.
    """
    prefix = interface.prefix
    sources = sources_of(
        component, interface, comments=comments, memory_files=memory_files, family=device.family
    )
    words = sources.memories
    interface = replace(
        interface,
        modules=tuple(sources.modules),
        memories=tuple(words),
        parts=sources.parts,
    )
    return {
        **sources.modules,
        f"rtl/{interface.core}.sv": sources.core,
        **words,
        **({f"rtl/{prefix}_rom.sv": render("rom.sv.j2", interface=interface)} if words else {}),
        f"rtl/{interface.top}.sv": top_verilog(interface),
        **control_files(interface),
        **regroup_files(interface),
        "lint.vlt": render("lint.vlt.j2", interface=interface),
        **_bench_files(interface, int(report["interval"])),
        **wave_layouts(interface, report),
        **integration_files(
            interface,
            device,
            float(report["clock_mhz"]),
            counted_parts(report, interface.to_json()),
        ),
        "README.md": readme(interface, report, device, formal=formal),
        "report.json": json.dumps({**report, "interface": interface.to_json()}, indent=2) + "\n",
    }


def _bench_files(interface: Interface, interval: int) -> dict[str, str]:
    """Return the benches for a core with an initiation interval of ``interval`` cycles."""
    limits = {"frames": bench_frames(interval), "idle_limit": max(MIN_IDLE_CYCLES, 4 * interval)}
    prefix = interface.prefix
    return {
        "tb/harness.cpp": harness_cpp(interface),
        f"tb/test_{prefix}.py": render("test.py.j2", interface=interface, **limits),
        f"tb/{prefix}_tb.sv": render("tb.sv.j2", interface=interface, **limits),
        "tb/run.py": render("run.py.j2", interface=interface),
    }


@dataclass(frozen=True)
class Sources:
    """The hardware of a core.

    Attributes:
        modules: SystemVerilog of each module below the core, by path, those that it uses first.
        core: SystemVerilog of the core.
        memories: Content of memory files, by path.
        parts: Instances in the core.
    """

    modules: dict[str, str]
    core: str
    memories: dict[str, str]
    parts: tuple[CoreInstance, ...]


def sources_of(
    component: wiring.Component,
    interface: Interface,
    *,
    comments: Mapping[str, Sequence[str]] | None = None,
    memory_files: bool = False,
    family: str = "",
) -> Sources:
    """Return the component as SystemVerilog, one file for each distinct module.

    Args:
        component: The pipeline.
        interface: Its ports.
        comments: Lines above each instance in the core, by its name.
        memory_files: Whether constant words are written to files; else they are in the modules.
        family: Family of the device.
    """
    constants = Constants(interface.prefix, in_files=memory_files)
    platform = NetlistPlatform(interface.core, constants, family)
    design = Fragment.get(component, platform)
    constants.name(design)
    modules = Modules(design.prepare(ports_of(component)), interface.prefix, comments or {})
    core = modules.core(interface.core)
    texts = {**constants.modules, **_parts(platform), **modules.texts}
    used = _used(core, texts)
    return Sources(
        {cell_path(name): text for name, text in texts.items() if name in used},
        render("core_head.sv.j2", interface=interface) + core,
        constants.files,
        tuple(_part(name, ports) for name, ports in modules.parts.items()),
    )


def _part(name: str, ports: Sequence[ModulePort]) -> CoreInstance:
    return CoreInstance(
        name,
        tuple(
            PortSignal(port.name, len(port.signal), "out" if port.output else "in")
            for port in ports
            if port.name not in CLOCKING
        ),
    )


def counted_parts(report: Mapping[str, Any], interface: Mapping[str, Any]) -> list[str]:
    """Return the instances in the core whose cells are counted: layers, or their shared parts.

    Args:
        report: With ``layers``.
        interface: As in ``report.json``; that of an older rlx names no instances.
    """
    parts = interface.get("parts", ())
    rows = [instance_of(row) for row in report["layers"]]
    return [name for name in rows if name in parts] or list(parts)


def instance_of(row: Mapping[str, Any]) -> str:
    """Return the identifier of a layer's instance, of its row in a report."""
    return str(row.get("instance", row["name"]))


def layer_comments(nodes: Sequence[Node], report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the comment above each layer's instance: its op, its folding and cycles, its node.

    Args:
        nodes: The node of each layer; empty if layers are not nodes.
        report: With ``layers`` and ``sources``.
    """
    if not nodes:
        return {}
    return {
        instance_of(row): [
            f"{row['name']} ({node.op.name}): {', '.join(map(_tensor, node.operands))}"
            f" -> {_tensor(node.result)}",
            _pace(row),
            *(f"node of the model: {origin}" for origin in _origins(row, report)),
        ]
        for node, row in zip(nodes, report["layers"], strict=True)
    }


def _origins(row: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Return the nodes of the model that a layer was lowered from, as text for a comment."""
    origins = row.get("origins", [report.get("sources", {}).get(row["name"], "")])
    return [origin_text(origin) for origin in origins if origin]


def _tensor(value: GraphValue) -> str:
    """Return the type of a tensor as ``int8[1,8,8,3]``."""
    type_ = value.type
    return f"int{type_.dtype.bits}[{','.join(map(str, type_.shape))}]"


def _pace(row: Mapping[str, Any]) -> str:
    cycles = f"{row['cycles']:,} cycles per frame"
    if row.get("pe"):
        return f"pe {row['pe']} x simd {row['simd']}, {cycles}"
    return cycles


def cell_path(module: str) -> str:
    """Return the path of the file of a module below the core."""
    return f"rtl/cells/{module}.sv"


def _parts(platform: NetlistPlatform) -> dict[str, str]:
    """Return the modules that are written by hand, by name."""
    block = "multiply_ice40" if has_blocks(platform) else "multiply"
    templates = {
        platform.module(logic=False): block,
        platform.module(logic=True): "multiply_logic",
        **{platform.packed(one): f"multiply_{one.value}" for one in _PACKED},
        platform.sum: "multiply_sum_ice40",
        platform.ram: "ram",
    }
    return {name: render(f"{template}.v.j2", name=name) for name, template in templates.items()}


def _used(core: str, texts: Mapping[str, str]) -> set[str]:
    """Return the names of the modules that the core has, at any depth."""
    found: set[str] = set()
    waiting = [core]
    while waiting:
        instances = set(_INSTANCE.findall(waiting.pop())) & texts.keys() - found
        found |= instances
        waiting += [texts[name] for name in instances]
    return found


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Return the members of a component by their names in the core."""
    return {
        port_name(path): (
            Value.cast(value),
            PortDirection.Input if member.flow == In else PortDirection.Output,
        )
        for path, member, value in component.signature.flatten(component)
    }


def readme(
    interface: Interface, report: Mapping[str, Any], device: FpgaDevice, *, formal: bool = False
) -> str:
    """Return the folder's README; ``formal`` for a folder with proofs."""
    columns = report["columns"]
    names = {instance_of(row): row["name"] for row in report["layers"]}

    def cells(row: Mapping[str, Any]) -> list[str]:
        name, op, *rest = (str(row.get(column, "")) for column in columns)
        node = next(iter(_origins(row, report)), "")
        return [name, op, node and f"`{node}`", *rest]

    return render(
        "README.md.j2",
        interface=interface,
        report=report,
        device=device,
        columns=[*columns[:2], "node of the model", *columns[2:]],
        cells=cells,
        counted={
            names.get(name, name): resources(found, device.family)
            for name, found in report.get("synthesis", {}).get("layers", {}).items()
        },
        formal=formal,
        doubt=doubt(report),
        pll=board_pll(device, float(report["clock_mhz"])),
    )
