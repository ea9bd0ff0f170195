import pytest

from rlx.support.errors import UsageError
from rlx_fpga import FpgaOptions
from rlx_fpga.devices import devices
from rlx_fpga.explore.solver import Amount
from rlx_fpga.options import parse_folds, parse_rate


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dsp": -1}, r"^--dsp must be at least 0 DSP slices, not -1\n  hint: leave --dsp out"),
        ({"bram": -1}, r"^--bram must be at least 0 block RAMs, not -1\n  hint: leave --bram out"),
        ({"lut": -1}, r"^--lut must be at least 0 LUTs, not -1\n  hint: leave --lut out"),
        (
            {"bram": 31, "device": "ice40-up5k"},
            r"^--bram 31 is more than ice40-up5k has: 30 block RAMs\n  hint: leave --bram out to"
            r" use all of them, or choose a larger device$",
        ),
        (
            {"optimize": "beauty"},
            r"^optimize cannot be 'beauty'\n  hint: ",
        ),
        (
            {"fps": 0.0},
            r"^fps must be a number above 0, not 0.0\n  hint: leave --fps out, or write .*",
        ),
        (
            {"clock": float("nan")},
            r"^clock must be a number above 0, not nan\n  hint: leave --clock out, or write .*",
        ),
        ({"prefix": "module"}, r"^prefix 'module' is a reserved word"),
        (
            {"stream_bits": 24},
            r"^stream_bits cannot be 24\n  hint: use 32, 64, 128, or leave --stream-bits out for",
        ),
        (
            {"weights": "load"},
            r"^--weights load needs --architecture engine: in architecture dataflow the weights",
        ),
        (
            {"weights": "stream", "architecture": "parallel"},
            r"^--weights stream needs --architecture engine: in architecture parallel the weights",
        ),
        (
            {"device": "asic"},
            r"^no device is called 'asic'\n  hint: devices: ecp5-25k, .*zu7ev; boards: ulx3s-25f, ",
        ),
    ],
)
def test_options_refuse_bad_values(values, message):
    with pytest.raises(UsageError, match=message):
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
        with pytest.raises(ValueError, match=r"is not a number of frames per second: write for"):
            parse_rate(text)


def test_foldings_are_read_from_text():
    assert parse_folds("a=4x9, n2_dense=1x1") == (("a", 4, 9), ("n2_dense", 1, 1))
    assert parse_folds("") == ()
    with pytest.raises(ValueError, match=r"^a folding is written LAYER=PExSIMD, .*, not 'a=4'$"):
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
    ("values", "message"),
    [
        ({"io": "float"}, r"^--io float: a core cannot convert from or to floats: .*\n  hint: "),
        ({"io": "int16"}, r"^io cannot be 'int16'\n  hint: .*int8"),
        ({"architecture": "dataflw"},
         r"^no architecture is called 'dataflw'\n  hint: did you mean 'dataflow'\?"),
    ],
)  # fmt: skip
def test_styles_and_ports_that_do_not_exist_are_refused(values, message):
    with pytest.raises(UsageError, match=message):
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
