"""The small cells, proved by induction."""

import pytest
from targets.fpga.formal.instances import CELLS, EVERY
from targets.fpga.formal.solver import compile_bench, solve

from rlx_fpga.cells.arith import ScaledSum
from rlx_fpga.formal.table import PROOFS

pytestmark = pytest.mark.synth


@pytest.mark.parametrize("name", EVERY)
def test_cell_keeps_its_promises_for_ever(name, tmp_path):
    bench = EVERY[name].bench()
    compile_bench(bench, name, tmp_path)
    solve(name, tmp_path, "-t", str(bench.depth))
    solve(name, tmp_path, "-t", str(bench.depth), "-i")


def test_every_cell_with_a_proof_is_proved_here():
    assert {type(cell) for cell in CELLS} | {ScaledSum} == {*PROOFS}
