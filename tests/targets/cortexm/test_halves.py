"""Whole networks of ONNX and QONNX with many halves: their C computes the reference's values."""

import pytest
from targets.cortexm.graph_builder import write

from rlx.driver import driver
from rlx.ir.module import GraphModule, Stage
from rlx.passes.quantize import convert
from rlx_cortexm import TARGET, CortexMOptions
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from support.files.onnx_builder import load
from support.files.quantized_files import QdqFile, QonnxFile
from support.networks.quantized_operators import Network

SIMULATORS = [
    HostC("gcc", "-O1", sanitize=True),
    pytest.param(Qemu(), marks=pytest.mark.qemu),
    pytest.param(Qemu(FirmwareBuild("cortex-m55")), marks=pytest.mark.qemu),
]

KINDS = {
    "qdq": lambda seed: QdqFile(seed, channels=4).network(),
    "qonnx": lambda seed: QonnxFile(seed, channels=4).network(),
    "down": lambda seed: QonnxFile(seed, channels=4, mode="FLOOR").network(),
    "toward": lambda seed: QonnxFile(seed, channels=4, mode="HALF_DOWN").network(),
    # Layers are scaled by float32 factors.
    "qoperator": lambda seed: Network(seed, powers=False).data(),
}


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("seed", [3, 8, 13])
def test_networks_equal_the_reference(simulator, kind, seed, tmp_path):
    graph = convert(load(kind(seed)), {}).graph
    module = GraphModule(graph, Stage.MIR)
    cpu = "cortex-m55" if "m55" in str(getattr(simulator, "build", "")) else "cortex-m4"
    options = CortexMOptions(prefix="net", cpu=cpu)
    golden = driver.golden_for(graph, TARGET, options, frames=6)
    lowered = driver.lower(module, TARGET, options=options)
    folder = write(tmp_path, TARGET.emit(lowered.module, options))
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []
