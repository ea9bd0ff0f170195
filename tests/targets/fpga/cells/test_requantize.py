import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx.ops.numerics.fixed_point import Rescale, Rounding, multiply_by_quantized_multiplier
from rlx_fpga.cells.requantize import Requantize, lane_multipliers
from rlx_fpga.cells.scaling import OutputRange, saturated_width
from support.messages import raises

MULTIPLIERS = st.one_of(
    st.integers(1 << 30, (1 << 31) - 1), st.sampled_from([0, 1 << 30, (1 << 31) - 1])
)


ROUNDINGS = ["double", "single", "even", "odd", "float32"]
WIDTHS = [5, 9, 17, 18, 19, 22, 27, 32]


def of(rounding, multiplier):
    """Return a multiplier that the rounding takes: 24 bits of one in float32."""
    return multiplier & ~127 if rounding == "float32" else multiplier


def model(x, multiplier, shift, zero_point, low, high, rounding):
    q = multiply_by_quantized_multiplier(
        x.astype(np.int64), np.array(multiplier), np.array(shift), Rounding(rounding)
    )
    return np.clip(q + zero_point, low, high)


def accumulators(width, channels, multiplier, shift, seed=0):
    """Random, extreme and tie-prone accumulators, int64 [pixels, channels]."""
    rng = np.random.default_rng(seed)
    half = 1 << (width - 1)
    any_ = rng.integers(-half, half, (12, channels))
    # Around half-way points: codes and a half, divided by the factor.
    codes = rng.integers(-140, 140, (12, channels)) + 0.5
    factor = np.maximum(np.array(multiplier, float), 1) * 2.0 ** (np.array(shift) - 31.0)
    near = np.round(codes / factor) + rng.integers(-1, 2, (12, channels))
    edges = np.array([[-half], [half - 1], [0], [-1], [1]]) * np.ones(channels, int)
    return np.concatenate([any_, np.clip(near, -half, half - 1).astype(np.int64), edges])


@st.composite
def cases(draw):
    rounding = draw(st.sampled_from(ROUNDINGS))
    lanes = draw(st.integers(1, 2))
    channels = lanes * draw(st.integers(1, 2))
    count = draw(st.sampled_from([1, channels]))
    top = draw(st.sampled_from([-4, 0, 3, 15]))
    factors = st.lists(MULTIPLIERS, min_size=count, max_size=count)
    low, high = sorted((draw(st.integers(-128, 127)), draw(st.integers(-128, 127))))
    return {
        "channels": channels,
        "lanes": lanes,
        "acc_width": draw(st.sampled_from(WIDTHS[: -2 if rounding == "float32" else None])),
        "multiplier": [of(rounding, m) for m in draw(factors)],
        "shift": draw(st.lists(st.integers(-31, top), min_size=count, max_size=count)),
        "zero_point": draw(st.integers(-128, 127)),
        "low": low,
        "high": high,
        "rounding": rounding,
    }


WIDE = {"low": -128, "high": 127, "zero_point": 0, "lanes": 1, "channels": 1}


@pytest.mark.slow
@settings(max_examples=40)
@given(case=cases(), stall=st.sampled_from([0.0, 0.4]))
@example({**WIDE, "acc_width": 20, "multiplier": [1 << 30], "shift": [-6], "rounding": "double"}, 0)
@example({**WIDE, "acc_width": 10, "multiplier": [1 << 30], "shift": [0], "rounding": "double"}, 0)
@example({**WIDE, "acc_width": 32, "multiplier": [1 << 30], "shift": [9], "rounding": "double"}, 0)
@example({**WIDE, "acc_width": 20, "multiplier": [1 << 30], "shift": [13], "rounding": "single"}, 0)
@example({**WIDE, "acc_width": 9, "multiplier": [1 << 30], "shift": [14], "rounding": "single"}, 0)
@example({**WIDE, "acc_width": 5, "multiplier": [3 << 29], "shift": [30], "rounding": "single"}, 0)
@example({**WIDE, "acc_width": 31, "multiplier": [3 << 29], "shift": [-2], "rounding": "single"}, 0)
@example(
    {**WIDE, "acc_width": 24, "multiplier": [5 << 28], "shift": [-15], "rounding": "double"}, 0
)
@example(
    {**WIDE, "acc_width": 27, "multiplier": [5 << 28], "shift": [-18], "rounding": "single"}, 0
)
@example({**WIDE, "acc_width": 20, "multiplier": [1 << 30], "shift": [-6], "rounding": "even"}, 0)
@example({**WIDE, "acc_width": 20, "multiplier": [3 << 29], "shift": [-6], "rounding": "odd"}, 0)
@example({**WIDE, "acc_width": 9, "multiplier": [1 << 30], "shift": [14], "rounding": "even"}, 0)
@example({**WIDE, "acc_width": 5, "multiplier": [3 << 29], "shift": [30], "rounding": "odd"}, 0)
@example({**WIDE, "acc_width": 31, "multiplier": [3 << 29], "shift": [-2], "rounding": "even"}, 0)
@example({**WIDE, "acc_width": 27, "multiplier": [5 << 28], "shift": [-18], "rounding": "even"}, 0)
@example(
    {**WIDE, "acc_width": 5, "multiplier": [3 << 29], "shift": [-31], "rounding": "float32"}, 0
)
@pytest.mark.parametrize("form", range(5))
def test_requantize_is_the_contract(form, case, stall):
    parts = Requantize(**case).scaling.parts
    beat_cycles = [1, parts, 8, 16, 31][form]
    cell = Requantize(**case, beat_cycles=beat_cycles)
    assert cell.multipliers == cell.lanes * [parts, 1, 0, 0, 0][form]
    x = accumulators(case["acc_width"], case["channels"], case["multiplier"], case["shift"])
    options = {k: case[k] for k in ("multiplier", "shift", "zero_point", "low", "high", "rounding")}
    expected = to_beats(model(x, **options), cell.lanes)
    run = run_cell(
        cell, to_beats(x, cell.lanes), len(expected), stall_in=stall, stall_out=stall, idle=14
    )
    assert np.array_equal(run.output, expected)
    if not stall:
        assert run.latency == cell.latency
        assert np.all(np.diff(run.given["o"]) == cell.beat_cycles)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("multiplier", [1518500250, 1 << 30, 3 << 29])
@pytest.mark.parametrize("shift", [-9, -3, 0])
def test_requantize_every_small_accumulator(rounding, multiplier, shift):
    multiplier = of(rounding, multiplier)
    cell = Requantize(
        channels=1, lanes=1, acc_width=9, multiplier=[multiplier], shift=[shift], rounding=rounding
    )
    x = np.arange(-256, 256)
    expected = model(x, [multiplier], [shift], 0, -128, 127, rounding)
    assert np.array_equal(run_cell(cell, x[:, None], 512).output.ravel(), expected)


@pytest.mark.parametrize("form", range(5))
def test_requantize_in_float32_beside_all_halves(form):
    """Sixths are halves by the rounding of float32; all others near are none."""
    rescale = Rescale.of(1 / 6, 1 / 160, rounding=Rounding.FLOAT32)
    case = {
        "channels": 2,
        "lanes": 1,
        "acc_width": 18,
        "rounding": "float32",
        "zero_point": -9,
        "multiplier": rescale.multiplier,
        "shift": rescale.shift,
        "low": -128,
        "high": 127,
    }
    parts = Requantize(**case).scaling.parts
    cell = Requantize(**case, beat_cycles=[1, parts, 8, 16, 31][form])
    halves = (np.arange(-128, 128) + 9.5)[:, None] / np.array(rescale.real)
    x = np.concatenate([np.round(halves) + d for d in (-1, 0, 1)]).astype(np.int64)
    x = x[:: (2, 3, 6, 9, 14)[form]]
    options = {k: case[k] for k in ("multiplier", "shift", "zero_point", "low", "high", "rounding")}
    expected = to_beats(model(x, **options), 1)
    assert np.any(expected != to_beats(model(x, **{**options, "rounding": "even"}), 1))
    run = run_cell(cell, to_beats(x, 1), len(expected))
    assert np.array_equal(run.output, expected)
    assert run.latency == cell.latency


def test_requantize_starts_with_the_first_channel_after_reset():
    multiplier, shift = [1 << 30, 1518500250, 2147483647], [-2, -5, -1]
    x = np.random.default_rng(0).integers(-2048, 2048, (5, 3))
    expected = to_beats(model(x, multiplier, shift, 0, -128, 127, "double"), 1)
    for beat_cycles in (1, 2, 8):
        cell = Requantize(
            channels=3,
            lanes=1,
            acc_width=12,
            multiplier=multiplier,
            shift=shift,
            beat_cycles=beat_cycles,
        )
        run = run_cell(cell, to_beats(x, 1), 15, stall_out=0.3, reset_after=17)
        assert np.array_equal(run.output, expected)


def test_requantize_figures():
    def one(width, shift):
        return Requantize(
            channels=4,
            lanes=2,
            acc_width=width,
            multiplier=[1 << 30, 1, 2, 3],
            shift=[-3, -4, -5, shift],
        )

    assert one(18, -6).multipliers == 4
    assert one(19, -6).multipliers == 8
    assert one(18, 1).multipliers == 8

    assert lane_multipliers(2) == {1: 2, 2: 1, 8: 0, 16: 0, 31: 0}
    assert lane_multipliers(4) == {1: 4, 4: 1, 8: 0, 16: 0, 31: 0}
    assert one(18, -6).memory_bits == 4 * (31 + 2)


@pytest.mark.parametrize(
    ("shift", "low", "width"),
    # A code is 2^(1 - shift) accumulators: 2^7 codes and a half on either side of 0 suffice.
    [(-9, -128, 18), (-8, -128, 17), (-10, -128, 19), (-30, -128, 24), (9, -128, 24)],
)
def test_requantize_saturates_accumulators_that_give_the_same_code(shift, low, width):
    codes = OutputRange(0, low, 127)
    assert saturated_width(24, (1 << 30,), (shift,), "double", codes) == width
    # A channel of zeros has no say.
    assert saturated_width(24, (0, 1 << 30), (0, shift), "double", codes) == width
    assert saturated_width(24, (0,), (shift,), "double", codes) == 24


def test_requantize_multiplies_saturated_accumulators():
    options = {"multiplier": [3 << 29], "shift": [-9], "zero_point": 3, "rounding": "double"}
    cell = Requantize(channels=1, lanes=1, acc_width=24, beat_cycles=2, **options)
    assert (cell.width, cell.multipliers) == (18, 1)
    edges = np.arange(-3, 4) + np.array(
        [[-(1 << 17)], [1 << 17], [-(1 << 23) + 3], [(1 << 23) - 4]]
    )
    x = np.concatenate([edges.ravel(), np.arange(-90_000, 90_000, 1_001)])
    expected = model(x, [3 << 29], [-9], 3, -128, 127, "double")
    assert np.array_equal(run_cell(cell, x[:, None], len(x)).output.ravel(), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"acc_width": 33},
        {"low": 3, "high": 2},
        {"beat_cycles": 2, "shift": [-12]},
        {"acc_width": 32, "shift": [-20], "rounding": "float32"},
        {"shift": [1, 2]},
        {"shift": [31]},
    ],
)
def test_requantize_refuses_bad_parameters(options):
    good = {"channels": 4, "lanes": 2, "acc_width": 20, "multiplier": [1 << 30], "shift": [-3]}
    with raises(ValueError):
        Requantize(**(good | options))


@pytest.mark.slow
def test_requantize_lint(tmp_path):
    for width, shift, rounding, low in [
        (18, -4, "double", 3), (24, 2, "double", 3), (20, -4, "single", 3),
        (20, -4, "float32", 384),
    ]:  # fmt: skip
        cell = Requantize(
            channels=2,
            lanes=2,
            acc_width=width,
            multiplier=[1 << 30, low],
            shift=[-3, shift],
            rounding=rounding,
        )
        assert_lint_clean(cell, tmp_path)
    for beat_cycles, shift in ((2, -1), (4, -12), (8, -1), (31, -12)):
        cell = Requantize(
            channels=1,
            lanes=1,
            acc_width=20,
            multiplier=[1 << 30],
            shift=[shift],
            beat_cycles=beat_cycles,
        )
        assert_lint_clean(cell, tmp_path)
