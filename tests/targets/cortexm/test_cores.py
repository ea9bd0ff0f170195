"""The digits network gives the reference's bits on every core that it can be emitted for."""

import pytest
from support import ROOT

from rlx import emit, frontends, target
from rlx_cortexm import CortexMOptions
from rlx_cortexm.options import CPUS
from rlx_sim.firmware import CPUS as EMULATED
from rlx_sim.verify import CORTEXM


def test_every_core_is_emulated():
    assert set(CPUS) == set(EMULATED)


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", CPUS)
def test_digits_are_equal_on(tmp_path, cpu):
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    options = CortexMOptions(cpu=cpu)
    emit.emit(module, target.load("cortexm"), tmp_path / "net", options=options)
    emulator = "qemu" if EMULATED[cpu].machine else "unicorn"
    result = CORTEXM.verify(tmp_path / "net", tools=[f"{emulator}:gcc", f"{emulator}:zig"])
    figures = result.as_json()
    assert (figures["cpu"], figures["inputs"], figures["equal"]) == (cpu, 16, 16)
    assert [run["compiler"] for run in figures["runs"]] == ["gcc", "zig"]
    assert all(run["instructions"] > 0 for run in figures["runs"])
