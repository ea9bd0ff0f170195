import pytest

from rlx.support.errors import DoesNotFitError, UsageError
from rlx_fpga import FpgaOptions
from rlx_fpga.devices import devices
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import parse_folds, parse_rate
from support.messages import raises


@pytest.mark.parametrize(
    "values",
    [
        {"dsp": -1},
        {"bram": -1},
        {"lut": -1},
        {"bram": 31, "device": "ice40-up5k"},
        {"optimize": "beauty"},
        {"fps": 0.0},
        {"clock": float("nan")},
        {"prefix": "module"},
        {"stream_bits": 24},
        {"weights": "load"},
        {"weights": "stream", "architecture": "parallel"},
        {"fold": (("conv", 1, 1),), "architecture": "engine"},
        {"device": "asic"},
    ],
)
def test_options_refuse_bad_values(values):
    with raises(UsageError):
        FpgaOptions(**values)


def test_budget_is_the_device_s_unless_given():
    assert FpgaOptions().budget == Amount(156, 208, 83640)
    assert FpgaOptions(device="ecp5-25k").budget == Amount(28, 56, 24288)
    assert FpgaOptions(device="ecp5-25k", dsp=0, bram=7, lut=9).budget == Amount(0, 7, 9)
    # Half block RAMs can be used on their own.
    assert FpgaOptions(device="artix7-35t").budget.bram == 100


def test_rate_asks_for_the_smallest_design_that_reaches_it():
    assert FpgaOptions().aim == "throughput"
    assert FpgaOptions().max_cycles is None
    wanted = FpgaOptions(fps=1000.0, clock=75e6)
    assert (wanted.aim, wanted.max_cycles) == ("size", 75000)
    assert FpgaOptions(fps=1.0, optimize="energy").aim == "energy"
    assert FpgaOptions(device="ice40-up5k").clock_hz == 24e6


def test_lut_multipliers_are_used_by_default_without_a_budget():
    assert FpgaOptions().default_lut == 83640 * 2 // 3
    assert FpgaOptions(optimize="size", fps=9.0).default_lut == 83640 * 2 // 3
    assert FpgaOptions(optimize="latency", device="ecp5-25k").default_lut == 24288 * 2 // 3
    for decided in ({"lut": 9}, {"dsp": 9}):
        assert FpgaOptions(**decided).default_lut is None


def test_rate_is_read_from_text():
    assert parse_rate("12.5") == 12.5
    for text in ("x", "0", "-1", "inf", "nan"):
        with raises(ValueError):
            parse_rate(text)


def test_foldings_are_read_from_text():
    assert parse_folds("a=4x9, n2_dense=1x1") == (("a", 4, 9), ("n2_dense", 1, 1))
    assert parse_folds("") == ()
    with raises(ValueError):
        parse_folds("a=4")


def test_prefix_comes_from_the_option_or_the_model():
    assert FpgaOptions(prefix="mine").prefix_for("x") == "mine"
    assert FpgaOptions().prefix_for("My model; rm -rf /") == "My_model_rm_rf"
    assert len(FpgaOptions().prefix_for("m" * 100)) == 32


def test_nothing_is_a_budget_too():
    for name in ("dsp", "bram", "lut"):
        assert getattr(FpgaOptions(**{name: 0}).budget, name) == 0


def test_a_rate_between_two_intervals_needs_the_shorter():
    assert FpgaOptions(clock=1e6, fps=1e6 / 10.9).max_cycles == 10
    assert FpgaOptions(clock=1e6, fps=1e6 / 11.0).max_cycles == 11


@pytest.mark.parametrize(
    "values",
    [
        {"io": "float"},
        {"io": "int16"},
        {"architecture": "dataflw"}
    ],
)  # fmt: skip
def test_styles_and_ports_that_do_not_exist_are_refused(values):
    with raises(UsageError):
        FpgaOptions(**values)


def test_only_unsigned_ports_invert():
    assert [FpgaOptions(io=io).ports.inverts for io in (None, "int8", "uint8")] == [0, 0, 1]
    assert FpgaOptions().ports.kind == FpgaOptions(io="int8").ports.kind


def test_a_prefix_that_is_cut_ends_in_a_letter():
    assert FpgaOptions().prefix_for("a" * 31 + "-b") == "a" * 31
    assert FpgaOptions().prefix_for("a" * 32 + "-b") == "a" * 32


def test_a_third_of_the_luts_stays_free_on_every_device():
    for found in devices().values():
        assert FpgaOptions(device=found.name).default_lut == found.lut * 2 // 3


@pytest.mark.parametrize(
    ("device", "limit"),
    [("ice40-up5k", 185), ("ice40-hx8k", 275), ("ecp5-85k", 257), ("artix7-35t", 464),
     ("zu3eg", 667), ("zu7ev", 775)],
)  # fmt: skip
def test_a_clock_above_the_clock_network_is_refused(device, limit):
    assert FpgaOptions(device=device, clock=limit * 1e6).clock_hz == limit * 1e6
    with pytest.raises(
        DoesNotFitError, match=rf"^{device}: expected a clock of at most {limit} MHz"
    ):
        FpgaOptions(device=device, clock=limit * 1e6 + 1)
