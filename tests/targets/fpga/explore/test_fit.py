"""Resources that a design lacks, and options said to help: the first of each kind that does."""

import pytest

from rlx.support.errors import DoesNotFitError, UsageError
from rlx_fpga import FpgaOptions
from rlx_fpga.devices import device, devices
from rlx_fpga.explore.advice import Suggestion, too_large
from rlx_fpga.explore.fit import fitting, shortage

pytestmark = pytest.mark.usefixtures("as_typed")

SMALL = device("ecp5-25k")


def report(dsp=0, bram=0, lut=0, ff=0, **more):
    return {"dsp": dsp, "bram": bram, "lut": lut, "ff": ff, **more}


def filled(**more):
    """Return a report of a design that fills all of the small device."""
    return report(SMALL.dsp, SMALL.bram, SMALL.lut, SMALL.ff) | more


def refused(found, options, estimates=None, variants=(), others=()):
    """Return the message; ``estimates`` are reports by device or aim, others raise."""

    def estimate(other):
        for key in (other.optimize, other.device):
            if key in (estimates or {}):
                return estimates[key]
        raise UsageError("not possible")

    return str(too_large(found, options, estimate, variants, others))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dsp", "needs 29 DSP slices, 28 available"),
        ("bram", "needs 57 block RAMs, 56 available"),
        ("lut", "needs 24,289 LUTs, 24,288 available"),
        ("ff", "needs 24,289 flip-flops, 24,288 available"),
    ],
)
def test_a_full_device_is_enough_and_one_more_is_short(name, text):
    options = FpgaOptions(device=SMALL.name)
    assert shortage(filled(), options) == ""
    assert shortage(filled(**{name: getattr(SMALL, name) + 1}), options) == text


def test_a_budget_takes_the_place_of_the_device_also_if_it_is_nothing():
    options = FpgaOptions(device=SMALL.name, dsp=0, bram=3)
    found = shortage(report(dsp=1, bram=3.5), options)
    assert found == "needs 1 DSP slice, 0 available; needs 3.5 block RAMs, 3 available"
    assert shortage(report(bram=3), options) == ""


def test_logic_cells_and_large_memories_count_where_a_design_has_some():
    options = FpgaOptions(device="ice40-up5k")
    chip = options.chosen_device
    assert shortage(report(logic_cells=chip.lut, spram=chip.spram), options) == ""
    assert shortage(report(logic_cells=chip.lut + 1, spram=chip.spram + 1), options) == (
        f"needs {chip.lut + 1:,} logic cells, {chip.lut:,} available; "
        f"needs {chip.spram + 1} single-port RAMs (SPRAM), {chip.spram} available"
    )


def test_the_budgets_that_were_given_are_raised_if_the_device_has_as_much():
    options = FpgaOptions(device=SMALL.name, dsp=3, lut=500)
    found = refused(report(dsp=5, lut=600), options, variants=[Suggestion("--other", options)])
    assert found == (
        "ecp5-25k: the design does not fit: needs 5 DSP slices, 3 available; needs 600 LUTs,"
        " 500 available\n  hint: --dsp 5 --lut 600"
    )
    # Only what is short, and nothing if the device has too little of another resource.
    assert refused(report(dsp=5), options).endswith("\n  hint: --dsp 5")
    assert refused(report(dsp=3, lut=600), options).endswith("\n  hint: --lut 600")
    large = refused(report(dsp=5, ff=SMALL.ff + 1), options)
    assert large.endswith("\n  hint: make the model smaller")


def test_of_each_kind_the_first_option_that_helps_is_named():
    options = FpgaOptions(device=SMALL.name)
    variants = [
        Suggestion(f"--optimize {aim}", FpgaOptions(device=SMALL.name, optimize=aim))
        for aim in ("latency", "size", "energy")
    ]
    names = [name for name in devices() if name != SMALL.name]
    fits = {"size": filled(), "energy": filled(), names[2]: report(), names[3]: report()}
    found = refused(
        filled(dsp=29),
        options,
        fits,
        variants,
        [Suggestion(flags, options) for flags in ("--architecture a", "--x")],
    )
    hint = found.partition("\n  hint: ")[2]
    assert hint == f"--optimize size, or --architecture a, or --device {names[2]}"


def test_the_device_itself_is_no_way_out():
    options = FpgaOptions(device=SMALL.name)
    found = refused(filled(dsp=29), options, {SMALL.name: report()})
    assert found.endswith("\n  hint: make the model smaller")


@pytest.mark.parametrize("error", [UsageError("no"), DoesNotFitError("no")])
def test_options_that_are_refused_or_too_small_do_not_fit(error):
    def refuse(options):
        raise error

    options = FpgaOptions(device=SMALL.name)
    assert fitting(options, refuse) is None
    assert fitting(options, lambda _: filled(ff=SMALL.ff + 1)) is None
    assert fitting(options, lambda _: filled()) == filled()
