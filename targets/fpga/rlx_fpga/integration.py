"""Files by which other tools take an emitted core: Vivado, LiteX, FuseSoC, nextpnr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx import __version__
from rlx_fpga.axi import pins_verilog
from rlx_fpga.registers import ADDRESS_BITS
from rlx_fpga.render import render
from rlx_fpga.synthesis import UNCONSTRAINED, synthesis_script

if TYPE_CHECKING:
    from rlx_fpga.axi import Interface, StreamPort
    from rlx_fpga.devices import Device

# Channels of AXI4-Lite as LiteX names them: direction seen from the core, and what they carry.
_CHANNELS: Final = (
    ("aw", "i", ("addr", "prot")),
    ("w", "i", ("data", "strb")),
    ("b", "o", ("resp",)),
    ("ar", "i", ("addr", "prot")),
    ("r", "o", ("resp", "data")),
)


def integration_files(interface: Interface, device: Device) -> dict[str, str]:
    """Return what synthesis, place and route, and other projects need beside the Verilog."""
    prefix = interface.prefix
    scripts = _nextpnr(interface, device) if device.pnr else _vivado(interface, device)
    return {
        f"synth/{device.name}.ys": synthesis_script(interface.sources, interface.top, device),
        f"synth/{interface.top}_pins.sv": pins_verilog(interface),
        f"synth/{prefix}.xdc": render("clock.xdc.j2", interface=interface, device=device),
        **scripts,
        f"{prefix}.core": render("core.j2", interface=interface, version=__version__),
        f"litex/{prefix}_litex.py": litex_module(interface),
    }


def litex_module(interface: Interface) -> str:
    """Return the core as a module for LiteX; its class is named after the prefix."""
    endpoints = [
        *_endpoints("sink", interface.inputs),
        *([] if interface.weights is None else [(interface.weights.port, "weights")]),
        *_endpoints("source", interface.outputs),
    ]
    return render(
        "litex.py.j2",
        interface=interface,
        class_name="".join(part.capitalize() for part in interface.prefix.split("_")),
        endpoints=endpoints,
        sinks=[name for port, name in endpoints if port.direction == "in"],
        sources=[name for port, name in endpoints if port.direction == "out"],
        channels=_CHANNELS,
        address_bits=ADDRESS_BITS,
    )


def _endpoints(word: str, ports: tuple[StreamPort, ...]) -> list[tuple[StreamPort, str]]:
    """Return each port with its name in LiteX: ``sink``, or ``sink0``, ``sink1`` ..."""
    if len(ports) == 1:
        return [(ports[0], word)]
    return [(port, f"{word}{index}") for index, port in enumerate(ports)]


def _nextpnr(interface: Interface, device: Device) -> dict[str, str]:
    """Return the makefile that runs Yosys and nextpnr by hand."""
    option = UNCONSTRAINED[device.family]
    values = {"interface": interface, "device": device, "unconstrained": option}
    return {"synth/Makefile": render("Makefile.j2", **values)}


def _vivado(interface: Interface, device: Device) -> dict[str, str]:
    """Return scripts for Vivado; a packaged core cannot read weights from files of its folder."""
    values = {"interface": interface, "device": device, "version": __version__}
    files = {"synth/vivado.tcl": render("vivado.tcl.j2", **values)}
    if not interface.memories:
        files["synth/package_ip.tcl"] = render("package_ip.tcl.j2", **values)
    return files
