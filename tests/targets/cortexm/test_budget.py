"""Networks that do not fit are refused, and the message says why."""

import re

import pytest
from targets.cortexm.graph_builder import emit_graph, planned, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.cli import main
from rlx.support.errors import DoesNotFitError
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.budget import check_budget
from rlx_sim.firmware.firmware import FirmwareBuild
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
REPORT = {
    "arena_bytes": 70_000,
    "constant_bytes": 60_000,
    "peak": {"layer": 3, "name": "conv2", "op": "q.conv2d", "bytes": 70_000},
}


def test_what_fits_is_not_refused():
    check_budget("net", REPORT, 12_000, ram=70_000, flash=72_000)
    check_budget("net", REPORT, 12_000, ram=None, flash=None)


def test_refusal_names_both_limits():
    with raises(DoesNotFitError):
        check_budget("net", REPORT, 12_000, ram=64_000, flash=1_000)


def test_refusal_names_the_limit_that_is_exceeded():
    with pytest.raises(DoesNotFitError, match=r"\n  RAM: [^\n]*\n  hint: use ram=70000$"):
        check_budget("net", REPORT, 12_000, ram=69_999, flash=72_000)
    with pytest.raises(
        DoesNotFitError,
        match=r"budget\n  flash: [^\n]*\n  hint: use flash=72000; this holds a margin [^\n]*$",
    ):
        check_budget("net", REPORT, 12_000, ram=70_000, flash=71_999)


def test_what_the_refusal_says_fits():
    graph = KERNEL_GRAPHS[0]()
    with pytest.raises(DoesNotFitError) as refusal:
        TARGET.emit(planned(graph), CortexMOptions(ram=1, flash=1))
    ram, flash = (int(number) for number in re.findall(r"=(\d+)", refusal.value.hint))
    assert TARGET.emit(planned(graph), CortexMOptions(ram=ram, flash=flash)).files
    with pytest.raises(DoesNotFitError):
        TARGET.estimate(planned(graph), CortexMOptions(ram=ram - 1))


def test_a_flash_that_leaves_no_margin_for_code_is_refused():
    graph = KERNEL_GRAPHS[0]()
    with pytest.raises(DoesNotFitError) as refusal:
        TARGET.estimate(planned(graph), CortexMOptions(flash=1))
    flash = int(re.findall(r"=(\d+)", refusal.value.hint)[0])
    report = TARGET.estimate(planned(graph), CortexMOptions(flash=flash))
    assert report["constant_bytes"] + report["code_bytes"] + 256 < flash
    with pytest.raises(DoesNotFitError):
        TARGET.estimate(planned(graph), CortexMOptions(flash=flash - 1))


@pytest.mark.qemu
@pytest.mark.parametrize(
    "make_graph", KERNEL_GRAPHS[:2], ids=lambda make_graph: make_graph.__name__
)
@pytest.mark.parametrize(
    ("cpu", "factor"),
    [("cortex-m4", 1.0), ("cortex-m4", 1.1), ("cortex-m4", 1.5), ("cortex-m0", 1.0),
     ("cortex-m3", 1.0), ("cortex-m55", 1.0)],
)  # fmt: skip
def test_the_firmware_keeps_to_the_suggested_flash(tmp_path, make_graph, cpu, factor):
    graph = make_graph()
    with pytest.raises(DoesNotFitError) as refusal:
        TARGET.estimate(planned(graph), CortexMOptions(cpu=cpu, flash=1))
    flash = int(factor * int(re.findall(r"=(\d+)", refusal.value.hint)[0]))
    emission = TARGET.emit(planned(graph), CortexMOptions(cpu=cpu, flash=flash))
    build = FirmwareBuild(cpu=cpu)
    sizes = build.build(write(tmp_path / "net", emission), tmp_path / "build").sizes
    assert sizes.text + sizes.const + sizes.data <= flash


@pytest.mark.qemu
@pytest.mark.parametrize("make_graph", KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def test_estimate_of_the_code_is_right_within_a_third(tmp_path, make_graph):
    emission = emit_graph(make_graph())
    firmware = FirmwareBuild().build(write(tmp_path / "net", emission), tmp_path / "build")
    assert emission.report["code_bytes"] == pytest.approx(firmware.sizes.text, rel=0.34, abs=200)
    assert emission.report["constant_bytes"] == pytest.approx(
        firmware.sizes.const, rel=0.02, abs=64
    )


def test_command_line_refuses_with_status_3(tmp_path, capsys):
    out = tmp_path / "net"
    arguments = ["emit", str(DIGITS), "--target", "cortexm", "-o", str(out)]
    assert main([*arguments, "--ram", "400", "--flash", "64K"]) == 3
    assert not out.exists()
    assert capsys.readouterr().err.splitlines() == [
        "error[RLX-E112]: digits: over the memory budget",
        "  RAM: the arena needs 456 bytes, --ram is 400 bytes; the peak is in conv2 (q.conv2d)",
        "  try: use --ram 456",
    ]
    assert main([*arguments, "--ram", "64Q"]) == 2
    assert main([*arguments, "--ram", "456", "--flash", "64K"]) == 0
    assert "arena 456 bytes" in (out / "report" / "memory.txt").read_text()
    assert (out / "report" / "memory.svg").read_text().startswith("<svg ")
    assert main(["estimate", str(DIGITS), "--target", "cortexm", "--ram", "400"]) == 3


def test_sizes_that_round_to_the_same_are_shown_in_bytes():
    report = {**REPORT, "arena_bytes": 1030}
    with pytest.raises(DoesNotFitError) as caught:
        check_budget("net", report, 1_000, ram=1024, flash=60_990)
    assert "the arena needs 1,030 bytes, ram is 1,024 bytes;" in caught.value.message
    assert (
        "up to 61,000 bytes, of which 58.6 KiB for constants, flash is 60,990 bytes"
        in caught.value.message
    )
