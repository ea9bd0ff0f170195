"""Regression tests of a product's network: same bits on every target, and within budget."""

from pathlib import Path

import numpy as np

from rlx.testing import assert_same_bits

HERE = Path(__file__).parent
ONE = np.full((1, 8, 8, 1), -128, np.int8)
ONE[0, 1:7, 4] = 127  # a vertical bar


def test_every_network_computes_the_same_bits_on_the_microcontroller(rlx_network):
    assert rlx_network.cortexm.passed


def test_no_result_has_changed(rlx):
    rlx["digits"].require_golden(HERE / "digits.golden.npz")  # pytest --rlx-record writes it


def test_firmware_budget(rlx):
    net = rlx["digits"].on("cortexm", cpu="cortex-m4", frames=4)
    net.require(instructions=70_000, flash_bytes=8 * 1024)
    assert net.ram_bytes + net.stack_bytes <= 1024


def test_hardware_budget(rlx):
    net = rlx["digits"].on("fpga", frames=2, tools=("verilator",))
    assert net.interval <= 300
    assert net.lut <= 12_000


def test_known_answer(rlx):
    (probabilities,) = rlx["digits"].run(ONE)
    assert_same_bits(probabilities.argmax(), np.int64(1))
    # The same vectors through the emitted C.
    vectors = {"image": ONE[None], "y": probabilities[None]}
    assert rlx["digits"].on("cortexm", vectors=vectors, tools=("host",)).passed
