"""The four MLPerf Tiny networks: the reference vectors, and no more than CMSIS-NN takes."""

from dataclasses import dataclass

import numpy as np
import pytest
from targets.cortexm.graph_builder import write

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import given_inputs
from rlx_cortexm import TARGET, CortexMOptions
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare

pytestmark = [pytest.mark.models, pytest.mark.qemu]


@dataclass(frozen=True)
class Peer:
    """CMSIS-NN 99f736a, GCC 12 -O3, best options, on a Cortex-M4.

    Attributes:
        instructions: Of one inference, called directly.
        flash: Bytes of code (-Os) and model under TensorFlow Lite Micro.
        arena: Bytes of tensors and scratch under TensorFlow Lite Micro.
    """

    instructions: int
    flash: int
    arena: int


PEERS = {
    "kws_ref_model": Peer(7_401_369, 73_504 + 53_936, 22_820),
    "pretrainedResnet_quant": Peer(28_452_228, 66_912 + 98_496, 54_996),
    "vww_96_int8": Peer(23_380_904, 73_504 + 333_288, 100_708),
    "ad01_int8": Peer(570_083, 26_752 + 276_976, 2_580),
}

FRAMES = 2


@pytest.fixture(scope="module", params=PEERS)
def network(request, shared_models, tmp_path_factory):
    """Name, emission, folder and reference vectors of each network."""
    name = request.param
    module = frontends.load(shared_models / f"{name}.tflite")
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        given = {key: vectors[key] for key in ("x", "y")}
    golden = given_inputs(module.graph, given, None)
    lowered = driver.lower(module, TARGET)
    emission = TARGET.emit(lowered.module, CortexMOptions(prefix="net"))
    return name, emission, write(tmp_path_factory.mktemp(name), emission), golden


def test_host_c_equals_every_reference_vector(network):
    _, _, folder, golden = network
    assert golden.frames >= 32
    simulation = HostC(sanitize=True).simulate(folder, golden, timeout_s=600)
    assert compare("sanitize", simulation, golden) == []


@pytest.mark.parametrize("optimization", ["-O2", "-Os"])
def test_firmware_stays_below_the_peer(network, optimization, tmp_path):
    name, emission, folder, golden = network
    simulator = Qemu(FirmwareBuild(optimization=optimization))
    firmware = simulator.build.build(folder, tmp_path / "build")
    frames = golden.first(FRAMES)
    simulation = simulator.run(firmware, frames, tmp_path, timeout_s=600)
    assert compare("qemu", simulation, frames) == []
    peer = PEERS[name]
    assert max(simulation.instructions) < peer.instructions
    assert firmware.sizes.text + firmware.sizes.const < peer.flash
    assert emission.report["constant_bytes"] == firmware.sizes.const
    assert emission.report["arena_bytes"] <= peer.arena
    assert firmware.stack.unknown == ()
    assert simulation.stack_bytes <= firmware.stack.bytes < 512


def test_the_estimate_is_near_the_count(network, tmp_path):
    _, emission, folder, golden = network
    simulation = Qemu().simulate(folder, golden.first(1), timeout_s=600)
    (counted,) = simulation.instructions
    # A model of costs, fitted to these networks; not a bound.
    assert 0.9 < emission.report["instructions"] / counted < 1.1
