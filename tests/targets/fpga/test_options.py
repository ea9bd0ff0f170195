import pytest

from rlx.errors import UsageError
from rlx_fpga import FpgaOptions
from rlx_fpga.options import parse_folds


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dsp": -1}, r"^the budget must be at least 0 multipliers, not -1$"),
        ({"prefix": "module"}, r"^prefix 'module' is a reserved word"),
        ({"device": "asic"}, r"^no device is called 'asic'; devices: ecp5-25k, .*zu7ev$"),
    ],
)
def test_options_refuse_bad_values(values, message):
    with pytest.raises(UsageError, match=message):
        FpgaOptions(**values)


def test_budget_is_the_device_s_unless_given():
    assert FpgaOptions().dsp_budget == 156
    assert FpgaOptions(device="ecp5-25k").dsp_budget == 28
    assert FpgaOptions(device="ecp5-25k", dsp=100).dsp_budget == 100
    assert FpgaOptions(dsp=0).dsp_budget == 0


def test_foldings_are_read_from_text():
    assert parse_folds("a=4x9, n2_dense=1x1") == (("a", 4, 9), ("n2_dense", 1, 1))
    assert parse_folds("") == ()
    with pytest.raises(ValueError, match=r"^a folding is written LAYER=PExSIMD, .*, not 'a=4'$"):
        parse_folds("a=4")


def test_prefix_comes_from_the_option_or_the_model():
    assert FpgaOptions(prefix="mine").prefix_for("x") == "mine"
    assert FpgaOptions().prefix_for("My model; rm -rf /") == "My_model_rm_rf"
    assert len(FpgaOptions().prefix_for("m" * 100)) == 32
