"""Files for using an emitted core in other tools: Vivado, LiteX, FuseSoC, nextpnr."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from rlx.support.version import __version__
from rlx_fpga.devices.pll import pll_for
from rlx_fpga.packaging.axi import pins_verilog
from rlx_fpga.packaging.registers import ADDRESS_BITS
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import UNCONSTRAINED, near_constants, synthesis_script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.devices.pll import Pll
    from rlx_fpga.packaging.axi import Interface, StreamPort

# Channels of AXI4-Lite as LiteX names them: direction seen from the core, and signals.
_CHANNELS: Final = (
    ("aw", "i", ("addr", "prot")),
    ("w", "i", ("data", "strb")),
    ("b", "o", ("resp",)),
    ("ar", "i", ("addr", "prot")),
    ("r", "o", ("resp", "data")),
)


PINS: Final = ("clk_i", "rst_ni", "serial_i", "load_i", "serial_o")
"""Ports of the pin-reduced wrapper."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Options and file types of nextpnr and the bitstream packer of a family.

    Attributes:
        constraints: Extension of the constraints file; also nextpnr's option for it.
        unconstrained: nextpnr's option that allows ports without a pin.
        output_option: nextpnr's option for its output.
        routed_suffix: Extension of that output.
        packer: Packer with its options.
        bitstream_suffix: Extension of the bitstream.
    """

    constraints: str
    unconstrained: str
    output_option: str
    routed_suffix: str
    packer: tuple[str, ...]
    bitstream_suffix: str


FLOWS: Final = {
    "ecp5": Flow(
        "lpf", UNCONSTRAINED["ecp5"], "--textcfg", "config", ("ecppack", "--compress"), "bit"
    ),
    "ice40": Flow("pcf", UNCONSTRAINED["ice40"], "--asc", "asc", ("icepack",), "bin"),
}
"""By family."""


def integration_files(
    interface: Interface, device: FpgaDevice, clock_mhz: float, layers: Sequence[str] = ()
) -> dict[str, str]:
    """Return the files for synthesis, place and route, and other projects.

    Args:
        interface: Ports of the core.
        device: Device of the scripts and constraints.
        clock_mhz: Clock in the constraints.
        layers: Names of the instances in the core whose cells the script counts.
    """
    prefix = interface.prefix
    scripts = _nextpnr if device.pnr else _vivado
    pll = board_pll(device, clock_mhz)
    return {
        f"synth/{device.name}.ys": synthesis_script(
            interface.sources, interface.top, device, layers=layers, pll=pll is not None
        ),
        **near_constants(device),
        f"synth/{interface.top}_pins.sv": pins_verilog(interface, device.family, pll),
        f"synth/{device.name}.tcl": render("synth.tcl.j2", device=device),
        **scripts(interface, device, clock_mhz, pll),
        f"{prefix}.core": fusesoc_core(interface, device),
        **_litex_files(interface, device),
    }


def _litex_files(interface: Interface, device: FpgaDevice) -> dict[str, str]:
    """Return the module for LiteX; for DSP slices of iCE40 also the macro that selects them."""
    module = f"litex/{interface.prefix}_litex.py"
    if device.family != "ice40" or not device.dsp:
        return {module: litex_module(interface)}
    path = f"litex/{interface.prefix}_slices.v"
    macro = f"`define RLX_{device.family.upper()}"
    return {
        module: litex_module(interface, path),
        path: f"// DSP slices as instances, in the files that follow.\n{macro}\n",
    }


def board_pll(device: FpgaDevice, clock_mhz: float) -> Pll | None:
    """Return the PLL that makes a clock of that of a board.

    None for a device without a board, and for the board's own clock.

    Raises:
        EmitError: The PLL cannot make it.
    """
    board = device.pins
    if board is None or board.clock_mhz == clock_mhz:
        return None
    return pll_for(device.family, board.clock_mhz, clock_mhz, pad=device.pll_pad)


def fusesoc_core(interface: Interface, device: FpgaDevice) -> str:
    """Return the core file of FuseSoC, with targets for lint, testbench and synthesis."""
    types = {".sv": "systemVerilogSource", ".v": "verilogSource", ".vlt": "vlt"}
    script = f"synth/{device.name}"
    pins = (f"synth/{interface.top}_pins.sv",) if device.pnr else ()
    near = near_constants(device)
    filesets = {
        "rtl": interface.sources,
        "memories": interface.memories,
        "lint": ("lint.vlt",),
        "testbench": (f"tb/{interface.prefix}_tb.sv", *interface.golden),
        "synth": (*pins, *near, f"{script}.ys", f"{script}.tcl"),
    }
    return render(
        "core.j2",
        interface=interface,
        device=device,
        version=__version__,
        filesets={
            # A techmap file is not a source of the design.
            name: [
                (path, "user" if path in near else types.get(PurePosixPath(path).suffix, "user"))
                for path in paths
            ]
            for name, paths in filesets.items()
            if paths
        },
    )


def litex_module(interface: Interface, slices: str = "") -> str:
    """Return the core as a module for LiteX; its class is named after the prefix.

    Args:
        interface: Ports of the core.
        slices: Path of a file that Yosys reads first, for instances of DSP slices.
    """
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
        slices=slices,
    )


def _endpoints(word: str, ports: tuple[StreamPort, ...]) -> list[tuple[StreamPort, str]]:
    """Return each port with its name in LiteX: ``sink``, ``sink_audio`` or ``sink0``."""
    return [(port, word + port.name[1:].replace("_axis", "", 1)) for port in ports]


def _nextpnr(
    interface: Interface, device: FpgaDevice, clock_mhz: float, pll: Pll | None
) -> dict[str, str]:
    """Return constraints, and the makefile that runs Yosys, nextpnr and the packer."""
    flow, board = FLOWS[device.family], device.pins
    values = {"interface": interface, "device": device, "mhz": clock_mhz}
    located = () if board is None else [pin.name for pin in board.located]
    pins = {
        "mhz": clock_mhz if board is None else board.clock_mhz,
        "board": board,
        "pll": pll,
        "pins": [name for name in PINS if name not in located],
    }
    return {
        f"synth/{interface.prefix}.{flow.constraints}": render(
            f"constraints.{flow.constraints}.j2", **{**values, **pins}
        ),
        f"synth/{interface.prefix}.sdc": render("constraints.sdc.j2", **values),
        "synth/Makefile": render("Makefile.j2", flow=flow, near=near_constants(device), **values),
    }


def _vivado(
    interface: Interface, device: FpgaDevice, clock_mhz: float, pll: Pll | None
) -> dict[str, str]:
    """Return constraints and scripts; a packaged core cannot read weights from files."""
    values = {"interface": interface, "device": device, "version": __version__}
    files = {
        f"synth/{interface.prefix}.xdc": render("constraints.xdc.j2", mhz=clock_mhz, **values),
        "synth/vivado.tcl": render("vivado.tcl.j2", **values),
        "synth/vivado_project.tcl": render("vivado_project.tcl.j2", **values),
    }
    if device.pins is not None:
        files[f"synth/{interface.prefix}_board.xdc"] = render(
            "board.xdc.j2", board=device.pins, pll=pll, **values
        )
    if pll is not None:
        files[f"synth/{interface.prefix}_pll.sv"] = render(
            "pll.sv.j2", interface=interface, pll=pll, family=device.family, whole=True
        )
    if not interface.memories:
        files["synth/package_ip.tcl"] = render("package_ip.tcl.j2", **values)
    return files
