"""Emitted C on the host: equal bytes, and a distinct message for each failure."""

import numpy as np
import pytest

from rlx.support.errors import OutputError, SimulationError, TimeLimitError
from rlx.support.files.golden import Golden
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import Mismatch, compare
from rlx_sim.toolchain import search
from support import missing
from support.messages import raises
from support.networks.tiny_model import golden, write_tiny

LIMIT_S = 60


def simulate(folder, simulator=None, frames=5, **options):
    write_tiny(folder / "tiny", frames=frames, **options)
    vectors = golden(frames, options.get("two_outputs", False))
    return (simulator or HostC()).simulate(folder / "tiny", vectors, timeout_s=LIMIT_S)


@pytest.mark.parametrize("two_outputs", [False, True])
def test_outputs_are_equal(tmp_path, two_outputs):
    done = simulate(tmp_path, two_outputs=two_outputs)
    vectors = golden(5, two_outputs)
    assert compare("host", done, vectors) == []
    for actual, wanted in zip(done.outputs, vectors.outputs, strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)
    assert done.instructions is None
    assert done.stack_bytes is None
    assert done.log.endswith("rlx done 5 of 5 frames equal\n")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang", "zig"])
@pytest.mark.parametrize("offset", [0, 1])
def test_every_compiler_and_unaligned_buffers(tmp_path, compiler, offset):
    if search(compiler) is None:
        missing(f"{compiler} is not installed")
    done = simulate(tmp_path, HostC(compiler, optimization="-O1", offset=offset))
    assert compare("host", done, golden(5)) == []


def test_tools_name_the_compiler():
    assert list(HostC("gcc").tools()) == ["gcc"]
    assert HostC("gcc").tools()["gcc"][0].isdigit()


def test_different_outputs_are_a_result(tmp_path):
    vectors = golden(4)
    wrong = vectors.outputs[0].copy()
    wrong[2, 1] ^= 1
    wrong[2, 3] ^= 1
    wrong[3, 0] ^= 1
    asked = Golden(vectors.inputs, (wrong,), ("y",))
    write_tiny(tmp_path / "tiny", vectors=asked)
    done = HostC().simulate(tmp_path / "tiny", asked, timeout_s=LIMIT_S)
    right = vectors.outputs[0]
    assert compare("host", done, asked) == [
        Mismatch("host", 2, 0, 1, int(wrong[2, 1]), int(right[2, 1]), "y", 2),
        Mismatch("host", 3, 0, 0, int(wrong[3, 0]), int(right[3, 0]), "y", 1),
    ]
    assert compare("host", done, vectors) == []


def test_warning_is_an_error(tmp_path):
    with pytest.raises(SimulationError, match=r"^g?cc: failed with status 1\n[^$]*unused"):
        simulate(tmp_path, HostC("gcc"), fault="int unused;")


def test_crash_is_reported(tmp_path):
    with raises(SimulationError):
        simulate(tmp_path, fault="volatile uintptr_t nowhere = 16; *(volatile int *)nowhere = 1;")


def test_status_of_the_entry_point_is_reported(tmp_path):
    with raises(SimulationError):
        simulate(tmp_path, fault="if (copy[0] != 99) { return 3; }")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["output[4]", "output[-1]", "copy[8]", "copy[-1]"])
def test_write_beside_a_buffer_is_reported(tmp_path, place):
    with raises(SimulationError):
        simulate(tmp_path, fault=f"{place} = 0;")


def test_endless_loop_is_ended(tmp_path):
    write_tiny(tmp_path / "tiny", fault="for (volatile int k = 0; k < 1; k *= 2) {}")
    with raises(TimeLimitError):
        HostC().simulate(tmp_path / "tiny", golden(5), timeout_s=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("volatile int big = 0x7fffffff; big = big + 1;", r"signed integer overflow: 2147483647"),
        ("volatile int shift = 32; output[0] = (int8_t)(1 << shift);", r"shift exponent 32 is"),
        ("volatile int far = 4; output[far] = 0;", r"global-buffer-overflow on"),
        ("volatile int far = 8; output[0] = input[far];", r"global-buffer-overflow on"),
        ("volatile int far = 8; output[0] = copy[far];", r"global-buffer-overflow on"),
    ],
)
def test_sanitizers_stop_at_undefined_behaviour(tmp_path, fault, message):
    with pytest.raises(SimulationError, match=rf"^sanitize: a sanitizer reported {message}"):
        simulate(tmp_path, HostC("gcc", optimization="-O1", sanitize=True), fault=fault)


def test_sanitizers_find_nothing_in_good_code(tmp_path):
    done = simulate(tmp_path, HostC("gcc", sanitize=True, offset=1), two_outputs=True)
    assert compare("sanitize", done, golden(5, two_outputs=True)) == []


def test_folder_without_test_program_is_refused(tmp_path):
    with raises(OutputError):
        HostC().simulate(tmp_path, golden(1), timeout_s=LIMIT_S)


def test_vectors_of_another_shape_are_refused(tmp_path):
    write_tiny(tmp_path / "tiny")
    x = np.zeros((3, 7), np.int8)
    with pytest.raises(
        SimulationError, match=r"^host: the test program stopped: incomplete frame in golden/"
    ):
        HostC().simulate(
            tmp_path / "tiny", Golden((x,), (np.zeros((3, 4), np.int8),)), timeout_s=LIMIT_S
        )
