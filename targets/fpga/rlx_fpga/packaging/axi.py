"""The interface of an emitted core: AXI4-Stream ports, their wrapper and their test harness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal

from rlx.ir.port_names import port_word
from rlx.support.text.names import mangle
from rlx.support.text.units import counted
from rlx_fpga.packaging.registers import ADDRESS_BITS
from rlx_fpga.packaging.render import render
from rlx_fpga.rtl.naming import port_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx_fpga.devices.pll import Pll
    from rlx_fpga.packaging.registers import Control

Direction = Literal["in", "out"]

WEIGHT_PORT: Final = "s_axis_weights"
"""Prefix of the port of a stream of weights."""

_MAX_PORT_CHARS: Final = 32
"""Characters of the model's name in the prefix of a port."""

FRAME_ERROR: Final = "frame_error_o"
"""Port of wrappers with ``tkeep``: a beat did not have the ``tkeep`` or ``tlast`` of its place."""

_AXI_LITE: Final[tuple[tuple[str, int, Direction], ...]] = (
    ("awaddr", ADDRESS_BITS, "in"), ("awprot", 3, "in"), ("awvalid", 1, "in"),
    ("awready", 1, "out"),
    ("wdata", 32, "in"), ("wstrb", 4, "in"), ("wvalid", 1, "in"), ("wready", 1, "out"),
    ("bresp", 2, "out"), ("bvalid", 1, "out"), ("bready", 1, "in"),
    ("araddr", ADDRESS_BITS, "in"), ("arprot", 3, "in"), ("arvalid", 1, "in"),
    ("arready", 1, "out"),
    ("rdata", 32, "out"), ("rresp", 2, "out"), ("rvalid", 1, "out"), ("rready", 1, "in"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PortSignal:
    """One port of the wrapper, other than clock and reset.

    Attributes:
        name: Its name.
        bits: Its width.
        direction: Seen from the core.
    """

    name: str
    bits: int
    direction: Direction

    def __str__(self) -> str:
        return f"{self.direction}put, {counted(self.bits, 'bit')}"


@dataclass(frozen=True, slots=True)
class CoreInstance:
    """An instance in the core.

    Attributes:
        name: Its name without ``u_``; that of a layer, if it is one.
        signals: Its ports, except clock and reset.
    """

    name: str
    signals: tuple[PortSignal, ...]

    @property
    def instance(self) -> str:
        """Its name in the core."""
        return f"u_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPort:
    """One AXI4-Stream port: a frame is one tensor, row-major.

    A beat has the elements of a beat of the core, or those that fit into ``stream_bits``; then the
    last beat of a frame may be partly filled, which ``tkeep`` shows.

    Attributes:
        name: Prefix of the port's signals: ``s_axis``, ``m_axis``, ``s1_axis`` ...
        member: Name of the stream in the netlist: ``i``, ``o``, ``i1`` ...
        direction: Seen from the core.
        shape: Shape of the tensor.
        bits: Bits of one element, two's complement unless unsigned: 8, 16 or 32.
        lanes: Elements of one beat of the core; element 0 is in the lowest bits.
        quant: Scale and zero point of the quantized values, if known.
        unsigned: The elements are unsigned, 128 more than in the core.
        stream_bits: Width of ``tdata``, a multiple of every element; None for that of the core.
    """

    name: str
    member: str
    direction: Direction
    shape: tuple[int, ...]
    bits: int
    lanes: int
    quant: tuple[float, int] | None = None
    unsigned: bool = False
    stream_bits: int | None = None

    def __post_init__(self) -> None:
        if self.elements % self.lanes:
            msg = f"{self.name}: expected a divisor of {self.elements} elements, got {self.lanes}"
            raise ValueError(msg)

    @property
    def elements(self) -> int:
        """Elements of one frame."""
        return math.prod(self.shape)

    @property
    def core_beats(self) -> int:
        """Beats of one frame at the core."""
        return self.elements // self.lanes

    @property
    def core_width(self) -> int:
        """Bits of one beat at the core."""
        return self.bits * self.lanes

    @property
    def beats(self) -> int:
        """Beats of one frame."""
        return -(-self.frame_bytes // self.beat_bytes)

    @property
    def width(self) -> int:
        """Bits of ``tdata``."""
        return self.stream_bits or self.core_width

    @property
    def beat_elements(self) -> int:
        """Elements of one beat."""
        return self.width // self.bits

    @property
    def dtype(self) -> str:
        """Type of an element, as ``int8``."""
        return f"{'u' if self.unsigned else ''}int{self.bits}"

    @property
    def beat_bytes(self) -> int:
        """Bytes of one beat."""
        return self.width // 8

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame."""
        return self.elements * self.bits // 8

    @property
    def last_bytes(self) -> int:
        """Bytes of a frame's last beat."""
        return self.frame_bytes - (self.beats - 1) * self.beat_bytes

    @property
    def last_keep(self) -> str:
        """``tkeep`` of a frame's last beat, as a Verilog literal."""
        return f"{self.beat_bytes}'h{(1 << self.last_bytes) - 1:x}"

    @property
    def regroup(self) -> Mapping[str, int]:
        """Parameters of the module between the port and the core, if ``stream_bits`` is set."""
        core = self.core_width // 8
        port_bytes, core_bytes = (self.beat_bytes, self.last_bytes), (core, core)
        ends = (port_bytes, core_bytes) if self.direction == "in" else (core_bytes, port_bytes)
        return {
            "UnitBytes": math.gcd(core, self.beat_bytes),
            **dict(zip(("InBytes", "InLast"), ends[0], strict=True)),
            **dict(zip(("OutBytes", "OutLast"), ends[1], strict=True)),
        }

    @property
    def stream(self) -> str:
        """Prefix of the core's ports: ``in``, ``out1`` ..."""
        return port_name((self.member,))

    @property
    def signals(self) -> tuple[PortSignal, ...]:
        """The port's signals: data, keep, valid and last one way, ready the other."""
        back: Direction = "out" if self.direction == "in" else "in"
        keep = PortSignal(f"{self.name}_tkeep", self.beat_bytes, self.direction)
        return (
            PortSignal(f"{self.name}_tdata", self.width, self.direction),
            *((keep,) if self.stream_bits else ()),
            PortSignal(f"{self.name}_tvalid", 1, self.direction),
            PortSignal(f"{self.name}_tready", 1, back),
            PortSignal(f"{self.name}_tlast", 1, self.direction),
        )

    @property
    def meaning(self) -> str:
        """The float that a quantized value represents, as a formula."""
        if self.quant is None:
            return "unknown"
        scale, zero_point = self.quant
        sign = "+" if zero_point < 0 else "-"
        return f"{scale!r} * (q {sign} {abs(zero_point)})"

    def to_json(self) -> dict[str, object]:
        """Return the port in the form of ``report.json``."""
        return {
            "name": self.name,
            "direction": self.direction,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "lanes": self.beat_elements,
            "beats": self.beats,
            "tdata_bits": self.width,
            **({"last_bytes": self.last_bytes} if self.stream_bits else {}),
            **(
                {}
                if self.quant is None
                else dict(zip(("scale", "zero_point"), self.quant, strict=True))
            ),
        }


@dataclass(frozen=True, slots=True)
class WeightPort:
    """An AXI4-Stream port through which weights are loaded.

    Attributes:
        port: The port; its frame is the whole file, a byte for each lane of a beat.
        path: File to send, relative to the folder; the lowest byte of each beat comes first.
        each_frame: Whether the file is sent for every frame; else once after each reset.
    """

    port: StreamPort
    path: str
    each_frame: bool

    @property
    def occasion(self) -> str:
        """When the whole file has to be sent."""
        return "for every frame" if self.each_frame else "once after each reset"

    def to_json(self) -> dict[str, object]:
        """Return the port in the form of ``report.json``."""
        return {**self.port.to_json(), "file": self.path, "each_frame": self.each_frame}


@dataclass(frozen=True, slots=True)
class Interface:
    """All ports of a core.

    Attributes:
        prefix: Name of the design: modules are ``<prefix>_core`` and ``<prefix>_top``.
        inputs: Streams in, in the order of the graph's inputs.
        outputs: Streams out, in the order of the graph's outputs.
        control: Registers on an AXI4-Lite port, or None.
        modules: Paths of the modules below the core, those that it uses first.
        memories: Paths of files with constant words.
        weights: Port through which weights are loaded; None if they are in the core.
        parts: Instances in the core.
    """

    prefix: str
    inputs: tuple[StreamPort, ...]
    outputs: tuple[StreamPort, ...]
    control: Control | None = None
    modules: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    weights: WeightPort | None = None
    parts: tuple[CoreInstance, ...] = ()

    @property
    def core(self) -> str:
        """Name of the netlist's top module."""
        return f"{self.prefix}_core"

    @property
    def top(self) -> str:
        """Name of the wrapper module."""
        return f"{self.prefix}_top"

    @property
    def inverted(self) -> bool:
        """Whether a port has unsigned elements."""
        return any(port.unsigned for port in (*self.inputs, *self.outputs))

    @property
    def stream_bits(self) -> int | None:
        """Width of all ports if it is not that of the core; then they have ``tkeep``."""
        return self.inputs[0].stream_bits

    @property
    def ports(self) -> tuple[StreamPort, ...]:
        """Inputs, the weight port, if any, then outputs."""
        weights = () if self.weights is None else (self.weights.port,)
        return self.inputs + weights + self.outputs

    @property
    def signals(self) -> tuple[PortSignal, ...]:
        """Every port of the wrapper except clock and reset."""
        streams = tuple(signal for port in self.ports for signal in port.signals)
        return self.control_signals + self.error_signals + streams

    @property
    def error_signals(self) -> tuple[PortSignal, ...]:
        """The signal of framing errors, if the ports have ``tkeep``."""
        return (PortSignal(FRAME_ERROR, 1, "out"),) if self.stream_bits else ()

    @property
    def control_signals(self) -> tuple[PortSignal, ...]:
        """The AXI4-Lite port and the interrupt, if any."""
        if self.control is None:
            return ()
        port = tuple(PortSignal(f"s_axil_{name}", bits, way) for name, bits, way in _AXI_LITE)
        return (*port, PortSignal("irq_o", 1, "out"))

    @property
    def golden(self) -> tuple[str, ...]:
        """Paths of the files that benches send and expect."""
        vectors = (("input", self.inputs), ("output", self.outputs))
        paths = [f"golden/{name}_{k}.npy" for name, ports in vectors for k in range(len(ports))]
        return (*paths, *(() if self.weights is None else (self.weights.path,)))

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the SystemVerilog files, dependencies first."""
        memory = (f"rtl/{self.prefix}_rom.sv",) if self.memories else ()
        control = () if self.control is None else (f"rtl/{self.prefix}_control.sv",)
        regroup = (f"rtl/{self.prefix}_regroup.sv",) if self.stream_bits else ()
        core = (*self.modules, f"rtl/{self.core}.sv")
        return (*memory, *core, *control, *regroup, f"rtl/{self.top}.sv")

    @property
    def memory_define(self) -> str:
        """Macro with the folder of the memory files, for tools that run elsewhere."""
        return f"{self.prefix.upper()}_FOLDER"

    def to_json(self) -> dict[str, object]:
        """Return the ports in the form of ``report.json``."""
        return {
            "top": self.top,
            "core": self.core,
            "sources": list(self.sources),
            "parts": [part.name for part in self.parts],
            "memories": list(self.memories),
            "memory_define": self.memory_define,
            "inputs": [port.to_json() for port in self.inputs],
            "outputs": [port.to_json() for port in self.outputs],
            **({} if self.weights is None else {"weights": self.weights.to_json()}),
            **(
                {}
                if self.control is None
                else {"registers": [one.to_json() for one in self.control.registers]}
            ),
        }


def port_names(letter: Literal["s", "m"], names: Sequence[str]) -> tuple[str, ...]:
    """Return the prefixes of the signals of all inputs or all outputs.

    A single port is ``s_axis`` or ``m_axis``, several are ``s_axis_<name>``, or ``s0_axis``,
    ``s1_axis`` ... where the model's name is meaningless.

    Args:
        letter: ``s`` for inputs, ``m`` for outputs.
        names: The model's name of each.
    """
    if len(names) == 1:
        return (f"{letter}_axis",)
    prefixes = [WEIGHT_PORT]
    for index, name in enumerate(names):
        word = port_word(name, max_chars=_MAX_PORT_CHARS)
        prefixes.append(
            mangle(word, reserved=prefixes, prefix=f"{letter}_axis")
            if word
            else f"{letter}{index}_axis"
        )
    return tuple(prefixes[1:])


def top_verilog(interface: Interface) -> str:
    """Return the SystemVerilog wrapper that adds AXI4-Stream ports to the netlist."""
    return render("top.sv.j2", interface=interface)


def regroup_files(interface: Interface) -> dict[str, str]:
    """Return the module that changes the number of bytes of a beat, if a port needs it."""
    if not interface.stream_bits:
        return {}
    return {f"rtl/{interface.prefix}_regroup.sv": render("regroup.sv.j2", interface=interface)}


def control_files(interface: Interface) -> dict[str, str]:
    """Return the registers in SystemVerilog and their C driver, if any."""
    if interface.control is None:
        return {}
    return {
        f"rtl/{interface.prefix}_control.sv": render(
            "control.sv.j2", interface=interface, address_bits=ADDRESS_BITS
        ),
        f"driver/{interface.prefix}_regs.h": render("regs.h.j2", interface=interface),
    }


def harness_cpp(interface: Interface) -> str:
    """Return the C++ program that runs the wrapper under Verilator."""
    return render("harness.cpp.j2", interface=interface)


def pins_verilog(interface: Interface, family: str, pll: Pll | None = None) -> str:
    """Return a wrapper that drives all ports of the core through shift registers on few pins.

    Args:
        interface: Ports of the core.
        family: Family of the device.
        pll: PLL that makes the core's clock of the board's; None for the clock at the pin.
    """
    rows_by_direction = {}
    for name, direction in (("inputs", "in"), ("outputs", "out")):
        signals = [signal for signal in interface.signals if signal.direction == direction]
        ends = list(accumulate((signal.bits for signal in signals), initial=0))
        rows_by_direction[name] = [
            (s.name, s.bits, low) for s, low in zip(signals, ends, strict=False)
        ]
    bits = {
        f"{name.removesuffix('puts')}_bits": sum(row[1] for row in rows)
        for name, rows in rows_by_direction.items()
    }
    return render(
        "pins.sv.j2", interface=interface, pll=pll, family=family, **rows_by_direction, **bits
    )
