"""``rlx verify`` on a machine without some tools, and ``--require``."""

import json
from xml.etree import ElementTree

import pytest

import rlx
from rlx.cli import main
from rlx.driver.verification.requirement import required
from rlx.support.errors import ToolMissingError, UsageError
from support import missing

MISSING = "C on a cortex-m4: no compiler, no emulator"
ZIG = "pip install 'rlx[zig]'"


@pytest.fixture
def folder(tmp_path, digits_model):
    rlx.emit(digits_model, "cortexm", tmp_path / "c", frames=2)
    with rlx.config.override(cache=tmp_path / "cache"):
        yield tmp_path / "c"


def test_a_plain_machine_runs_what_it_can_and_says_what_it_did_not(folder, plain, capsys):
    assert main(["verify", str(folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"not run: {MISSING}; {ZIG}, or on Debian: apt-get install gcc-arm-none-eabi" in text
    assert text.index("not run: ") < text.index("all equal: 2 of 2 frames")
    assert "--require" not in text
    assert main(["verify", str(folder), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert "cached" in result
    (missing,) = result["not_run"]
    assert (missing["name"], missing["platform"], missing["reason"]) == (
        "qemu", "C on a cortex-m4", "no compiler, no emulator",
    )  # fmt: skip


def test_junit_has_a_skipped_case(folder, plain):
    path = folder.parent / "results.xml"
    assert main(["verify", str(folder), "--junit", str(path)]) == 0
    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("2", "1", "0")
    host, core = suite.findall("testcase")
    assert (host.get("name"), core.get("name")) == ("host", "qemu")
    assert MISSING in core.find("skipped").get("message")


def test_in_ci_the_output_leads_to_require(folder, plain, capsys, monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert main(["verify", str(folder)]) == 0
    assert "--require all makes a missing tool an error" in capsys.readouterr().out
    assert main(["verify", str(folder), "--with", "host"]) == 0
    assert "--require" not in capsys.readouterr().out


@pytest.mark.parametrize("names", [["all"], ["qemu"], ["host", "qemu"]])
def test_what_is_required_and_missing_is_an_error(folder, plain, capsys, names):
    options = [word for name in names for word in ("--require", name)]
    junit = folder.parent / "results.xml"
    assert main(["verify", str(folder), *options, "--junit", str(junit)]) == 6
    error = " ".join(capsys.readouterr().err.split())
    assert f"error[RLX-E061]: required, but cannot run here: {MISSING} " in error
    assert ZIG in error
    assert MISSING in junit.read_text(encoding="utf-8")
    with pytest.raises(ToolMissingError, match="required, but cannot run here"):
        rlx.verify(folder, require=names)


def test_what_is_required_runs_beside_the_default(folder, plain, capsys):
    assert main(["verify", str(folder), "--require", "host", "--json"]) == 0
    assert [run["simulator"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["host"]
    assert main(["verify", str(folder), "--require", "sanitize", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [run["simulator"] for run in result["runs"]] == ["host", "sanitize"]
    assert [one["name"] for one in result["not_run"]] == ["qemu"]
    assert main(["verify", str(folder), "--require", "unicorn"]) == 6
    assert "zig is not installed" in capsys.readouterr().err
    assert main(["verify", str(folder), "--require", "qemy"]) == 2
    assert "did you mean 'qemu'?" in capsys.readouterr().err


def test_simulators_that_are_named_satisfy_a_requirement_with_any_compiler(folder):
    from rlx_sim.verify import CORTEXM

    for tools, names in ((("qemu:zig",), ["qemu"]), (("host",), ["all"]), (("host",), ["host"])):
        assert required(CORTEXM, folder, tools, names).tools == tools
    assert required(CORTEXM, folder, ("host",), ["sanitize", "sanitize"]).tools == (
        "host", "sanitize",
    )  # fmt: skip


def test_testbenches_of_two_simulators_are_two(tmp_path, monkeypatch):
    from rlx_sim.verify import FPGA

    monkeypatch.setattr(type(FPGA), "tools_used", lambda *_: {})
    choice = required(FPGA, tmp_path, ("testbench:icarus",), ["testbench"])
    assert choice.tools == ("testbench:icarus", "testbench")


def test_a_verifier_that_does_not_say_what_it_runs_cannot_be_required(tmp_path):
    class Silent:
        """A verifier of another package."""

    assert required(Silent(), tmp_path, None, []).tools is None
    with pytest.raises(UsageError, match=r"^require: Silent does not say what it would run"):
        required(Silent(), tmp_path, None, ["all"])


@pytest.mark.sim
def test_hardware_runs_in_icarus_where_verilator_is_missing(tmp_path, digits_model, monkeypatch):
    import rlx_sim.toolchain

    real = rlx_sim.toolchain._search
    if real("icarus") is None:
        missing("Icarus Verilog is not installed")
    hidden = ("verilator", "c++", "make")
    monkeypatch.setattr(
        rlx_sim.toolchain, "_search", lambda name: None if name in hidden else real(name)
    )
    rlx.emit(digits_model, "fpga", tmp_path / "hw", frames=3)
    result = rlx.verify(tmp_path / "hw", cache=False)
    report = result.as_json()
    assert result.passed
    assert report["lint"] == "not run"
    assert report["inputs"] == report["equal"] >= 3  # the testbench sends them again
    assert [run["simulation"] for run in report["runs"]] == ["testbench, Icarus"]
    assert list(report["tools"]) == ["icarus"]
    assert report["interval"] == report["predicted_interval"]
    assert [one.name for one in result.not_run] == ["verilator", "cocotb"]
    assert "in Icarus Verilog" in result.view()[1].title
    with pytest.raises(ToolMissingError, match="verilator is not installed"):
        rlx.verify(tmp_path / "hw", waves=tmp_path / "waves.vcd", cache=False)
