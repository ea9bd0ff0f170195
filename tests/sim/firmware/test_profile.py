"""Instructions by layer add up to those of the network."""

import shutil

import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.support.errors import SimulationError
from rlx.support.files.golden import read_golden
from rlx.targets import target
from rlx_cortexm import CortexMOptions
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.profile import profile
from rlx_sim.protocol import compare
from support import ROOT
from support.messages import raises

pytestmark = pytest.mark.qemu

CALL = 80
"""Instructions of the entry point itself: saved registers, checks of the arguments, calls."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    place = tmp_path_factory.mktemp("digits") / "net"
    driver.emit(module, target.load("cortexm"), place, options=CortexMOptions(prefix="net"))
    return place


@pytest.mark.parametrize(
    ("cpu", "compiler"), [("cortex-m4", "gcc"), ("cortex-m4", "zig"), ("cortex-m55", "gcc")]
)
def test_layers_add_up(folder, cpu, compiler):
    vectors = read_golden(folder).first(2)
    build = FirmwareBuild(cpu, compiler)
    found = profile(folder, "net", vectors, build=build, timeout_s=60)
    assert compare("qemu", found.simulation, vectors) == []
    assert len(found.layers) == 6
    total = found.simulation.instructions[0]
    assert total - 2 * CALL <= sum(found.layers) <= total
    # Convolutions take most of it, the reshape nothing.
    assert found.layers[2] > total / 3
    assert min(found.layers) <= 4
    assert profile(folder, "net", vectors, build=build, timeout_s=60).layers == found.layers
    assert found.stack_bytes < 1024


def test_missing_hooks_are_reported(folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    source = other / "src" / "net.c"
    source.write_text(source.read_text().replace('NET_LAYER_HOOK(NET_LAYERS, "end");', ""))
    with raises(SimulationError):
        profile(other, "net", read_golden(folder).first(1), timeout_s=60)
