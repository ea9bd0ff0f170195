"""Modelled cycles of an emitted folder."""

import pytest

import rlx
from rlx.targets.verifier import modelled_cycles
from support import ROOT


@pytest.mark.qemu
@pytest.mark.complete
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_layers_have_cycles_on_every_core(tmp_path, cpu):
    folder = tmp_path / "out"
    rlx.emit(ROOT / "examples" / "digits" / "digits.rlx", "cortexm", folder, frames=1, cpu=cpu)
    modelled = modelled_cycles("cortexm", folder)
    fewest, expected, most = modelled.total
    assert fewest <= expected <= most
    report = rlx.verify(folder, tools="unicorn:gcc", cache=False)
    instructions = report.figures["instructions"]
    assert sum(modelled.instructions) == pytest.approx(instructions, rel=0.001)
    # A pair of instructions takes a cycle at least, on one pipeline each takes one.
    assert fewest >= instructions / 2
    if cpu in ("cortex-m0", "cortex-m3"):
        assert fewest >= sum(modelled.instructions)
    slow = modelled_cycles("cortexm", folder, flash_wait="3:64")
    assert slow.total[1] > expected
    assert slow.memory == "flash with 3 wait states for 64 bits"
    # Counts repeat exactly.
    assert modelled_cycles("cortexm", folder) == modelled


@pytest.mark.qemu
@pytest.mark.complete
def test_vector_code_is_traced_under_qemu(tmp_path):
    folder = tmp_path / "out"
    model = ROOT / "examples" / "digits" / "digits.rlx"
    rlx.emit(model, "cortexm", folder, frames=1, cpu="cortex-m55")
    modelled = modelled_cycles("cortexm", folder)
    instructions = rlx.verify(folder, tools="qemu", cache=False).figures["instructions"]
    assert sum(modelled.instructions) == pytest.approx(instructions, rel=0.002)
    assert instructions / 2 <= modelled.total[0] <= modelled.total[1] <= 3 * instructions
    assert not modelled.is_published
    assert modelled_cycles("cortexm", folder) == modelled
