"""The number of frames of the emitted benches."""

import pytest

from rlx_fpga.packaging.bench import bench_frames


@pytest.mark.parametrize(
    ("interval", "frames"),
    [(0, 16), (1, 16), (18_750, 16), (18_751, 15), (75_000, 4), (75_001, 3), (10**9, 3)],
)
def test_frames_fill_the_cycles_between_the_limits(interval, frames):
    assert bench_frames(interval) == frames
