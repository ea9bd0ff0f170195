"""Random networks: the reference against TensorFlow Lite Micro, what is emitted against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from campaign import networks
from campaign.hardware import SMALL
from campaign.part import Outcome, Part
from campaign.runs import frames, refused, simulated
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.support.errors import UnsupportedOpError
from rlx_sim.firmware.firmware import CPUS
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.hardware.fpga import VerilatorHarness
from rlx_sim.hardware.stream import Stalls
from support.files.tflite_builder import tflm

CORES = tuple(CPUS)
GOALS = ("balanced", "speed", "size", "ram")
PORTS = ("caller", "arena")
ARCHITECTURES = ("dataflow", "dataflow", "dataflow", "engine")
"""Most networks take ``dataflow``; ``parallel`` is for the tiny ones of its own tests."""

# Each part has networks of its own: what one of them found is not found again by the next.
_WHEEL, _SANITIZE, _QEMU, _VERILATOR = (k * 1_000_000 for k in range(4))


def _wheel(number: int) -> Outcome:
    """Compare the reference with TensorFlow Lite Micro on five frames."""
    data = networks.make(_WHEEL + number)
    try:
        module = tflite.load(data)
    except UnsupportedOpError as error:
        return refused(error)
    verify(module)
    graph = module.graph
    inputs = frames(graph, 5, number)
    interpreter = tflm(data)
    for frame in range(5):
        given = {v.name: x[frame] for v, x in zip(graph.inputs, inputs, strict=True)}
        for place, x in enumerate(given.values()):
            interpreter.set_input(x, place)
        interpreter.invoke()
        for place, found in enumerate(evaluate(graph, given)):
            expected = interpreter.get_output(place)
            if found.dtype != expected.dtype or not np.array_equal(found, expected):
                kinds = ", ".join(sorted(networks.kinds(data)))
                return Outcome("differs", f"frame {frame}, output {place}; operators: {kinds}")
    return Outcome("equal", "", {"frames": 5})


def c_options(number: int) -> dict[str, str]:
    """Return options of the C target: all combinations come, one after the other."""
    return {
        "cpu": CORES[number % len(CORES)],
        "optimize": GOALS[number // len(CORES) % len(GOALS)],
        "io": PORTS[number // (len(CORES) * len(GOALS)) % len(PORTS)],
    }


def _sanitize(number: int) -> Outcome:
    """Run the emitted C on the host under AddressSanitizer and UndefinedBehaviorSanitizer."""
    simulator = HostC(optimization="-O1", sanitize=True, offset=number % 4)
    data = networks.make(_SANITIZE + number)
    return simulated(data, "cortexm", c_options(number), simulator, count=5, seed=number)


def _qemu(number: int) -> Outcome:
    """Run the firmware under QEMU, or under Unicorn for the core that QEMU has no board of."""
    options = c_options(number)
    cpu = CPUS[options["cpu"]]
    simulator = Qemu() if cpu.machine else Unicorn()
    simulator = replace(simulator, build=replace(simulator.build, cpu=cpu.name, compiler="gcc"))
    data = networks.make(_QEMU + number)
    return simulated(data, "cortexm", options, simulator, count=4, seed=number)


def _verilator(number: int) -> Outcome:
    """Simulate the emitted hardware with pauses on both sides and a reset within a frame."""
    stalls = Stalls(seed=number + 1, inputs=77, outputs=102, reset_after=number % 10)
    data = networks.make(_VERILATOR + number, SMALL)
    options = {"architecture": ARCHITECTURES[number % len(ARCHITECTURES)]}
    return simulated(data, "fpga", options, VerilatorHarness(stalls), count=5, seed=number)


PARTS = (
    Part(
        name="wheel",
        title="random networks: reference against the wheel",
        goal="2,000 equal or refused by type",
        run=_wheel,
        cases=2000,
        short=150,
        # Its softmax of over 511 equal codes ends in abort(), for one.
        crash="the wheel died",
    ),
    Part(
        name="sanitize",
        title="random networks: C on the host under sanitizers",
        goal="2,000 equal, 0 reports",
        run=_sanitize,
        cases=2000,
        short=12,
    ),
    Part(
        name="qemu",
        title="random networks: firmware under QEMU, six cores",
        goal="600 equal",
        run=_qemu,
        cases=600,
        short=12,
        marks=("qemu",),
    ),
    Part(
        name="verilator",
        title="random networks: Verilator with pauses and resets",
        goal="200 equal",
        run=_verilator,
        cases=200,
        short=2,
        deadline_s=400,
        marks=("sim",),
    ),
)
