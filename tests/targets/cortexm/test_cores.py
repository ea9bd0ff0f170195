"""Networks give the reference's bits on every core that they can be emitted for."""

import numpy as np
import pytest
from targets.cortexm.kernel_graphs import write

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import given_inputs
from rlx.targets import target
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.options import CPUS
from rlx_sim.firmware.firmware import CPUS as EMULATED
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from rlx_sim.verify import CORTEXM
from support import ROOT

FRAMES = 2


def test_every_core_is_emulated():
    assert set(CPUS) == set(EMULATED)


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", CPUS)
def test_digits_are_equal_on(tmp_path, cpu):
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    options = CortexMOptions(cpu=cpu)
    driver.emit(module, target.load("cortexm"), tmp_path / "net", options=options)
    emulator = "qemu" if EMULATED[cpu].machine else "unicorn"
    result = CORTEXM.verify(tmp_path / "net", tools=[f"{emulator}:gcc", f"{emulator}:zig"])
    figures = result.as_json()
    assert (figures["cpu"], figures["inputs"], figures["equal"]) == (cpu, 16, 16)
    assert [run["compiler"] for run in figures["runs"]] == ["gcc", "zig"]
    assert all(run["instructions"] > 0 for run in figures["runs"])


@pytest.mark.models
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["kws_ref_model", "ad01_int8"])
@pytest.mark.parametrize("cpu", CPUS)
def test_networks_are_equal_on(cpu, name, shared_models, tmp_path):
    module = frontends.load(shared_models / f"{name}.tflite")
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        golden = given_inputs(module.graph, {key: vectors[key] for key in ("x", "y")}, None)
    options = CortexMOptions(prefix="net", cpu=cpu)
    lowered = driver.lower(module, TARGET, options=options)
    folder = write(tmp_path, TARGET.emit(lowered.module, options))
    build = FirmwareBuild(cpu)
    simulator = Qemu(build) if EMULATED[cpu].machine else Unicorn(build)
    frames = golden.first(FRAMES)
    simulation = simulator.simulate(folder, frames, timeout_s=300)
    assert compare(simulator.name, simulation, frames) == []
