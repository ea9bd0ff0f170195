"""Arithmetic of a fixed latency, proved with the solver in Yosys for all operands.

Nothing in it waits, so that some cycles are all that can happen. Cells that wait are proved by
induction, in ``tests/targets/fpga/formal``.
"""

import pytest
from amaranth import Module, Signal, signed
from amaranth.back import rtlil

from rlx.support.process import run
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.scale import ROUNDING_STAGES, Lane
from rlx_fpga.cells.scaling import ChannelScaling
from rlx_fpga.packaging.synthesis import find_yosys

pytestmark = pytest.mark.synth


def prove(m, good, inputs, folder, steps, skip=0):
    """Let the solver look for inputs with which ``good`` is low after ``skip`` steps from reset."""
    text = rtlil.convert(m, name="proof", ports=[good, *inputs], emit_src=False)
    (folder / "proof.il").write_text(text)
    script = (
        "read_rtlil proof.il; hierarchy -top proof; proc; flatten; memory_map; opt -full; "
        f"sat -verify -seq {steps} -prove-skip {skip} -set rst 0 -prove {good.name} 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=120)


@pytest.mark.parametrize("minimum", [0, 2])
def test_rounding_shift_is_half_away_from_zero(tmp_path, minimum):
    """``Lane.rounded`` against the contract's ``rdpot``, for every number and shift."""
    m = Module()
    shifts = [-(minimum + n) for n in range(4)]
    scaling = ChannelScaling.of(4, 18, [1 << 30] * 4, shifts, "double")
    high = Signal(signed(9), name="high")
    right = Signal(2, name="right")
    result = Lane(m, None, 0, scaling, 1, 2).rounded(high, right)
    exponent = Signal(4)
    m.d.comb += exponent.eq(follow(m, right, "right_of_high") + minimum)
    mask, rest = Signal(9), Signal(9)
    m.d.comb += [mask.eq((1 << exponent) - 1), rest.eq(high & mask)]
    wanted = (high >> exponent) + (rest > (mask >> 1) + (high < 0))
    good = Signal(name="good")
    m.d.comb += good.eq(result == follow(m, wanted, "wanted", ROUNDING_STAGES))
    prove(m, good, [high, right], tmp_path, ROUNDING_STAGES + 3, ROUNDING_STAGES + 2)
