"""Verification of emitted C: figures, choice of tools, refusals."""

import json
from importlib.metadata import entry_points
from unittest.mock import ANY

import numpy as np
import pytest

from rlx.support.errors import DoesNotFitError, OutputError, ToolMissingError, UsageError
from rlx.support.files.golden import Golden
from rlx.support.files.outputs import Producer, write_folder
from rlx.targets.verifier import NotRun
from rlx_sim import toolchain, verify
from rlx_sim.firmware import simulators
from rlx_sim.hardware.plan import hardware_plan
from rlx_sim.verify import CORTEXM, FPGA, VerificationReport
from rlx_sim.verify_host import HOST as HOST_PROGRAM
from support.messages import raises
from support.networks.tiny_model import golden, tiny_files, write_tiny

HOST = ["host"]


def hide(monkeypatch, *names):
    """Let some tools be missing."""
    real = toolchain._search
    monkeypatch.setattr(toolchain, "_search", lambda name: None if name in names else real(name))


@pytest.mark.qemu
def test_all_simulators_and_figures(tmp_path):
    folder = write_tiny(tmp_path / "tiny", two_outputs=True)
    steps = []
    tools = ["host", "sanitize", "qemu", "unicorn:gcc", "unicorn"]
    done = CORTEXM.verify(folder, tools=tools, progress=steps.append)
    assert steps == [f"{name.split(':')[0]}: 5 frames" for name in tools]
    assert done.passed
    result = done.as_json()
    assert json.loads(json.dumps(result)) == result
    assert (result["target"], result["inputs"], result["equal"]) == ("cortexm", 5, 5)
    assert result["mismatches"] == []
    assert set(result["tools"]) == {"cc", "arm-none-eabi-gcc", "qemu-system-arm", "unicorn", "zig"}
    runs = {run["simulator"] + str(index): run for index, run in enumerate(result["runs"])}
    assert list(runs) == ["host0", "sanitize1", "qemu2", "unicorn3", "unicorn4"]
    assert all(run["equal"] == 5 for run in runs.values())
    assert [run["compiler"] for run in result["runs"]] == ["cc", "cc", "gcc", "gcc", "zig"]
    for figure in ("instructions", "text_bytes", "stack_bytes"):
        assert result[figure] == runs["qemu2"][figure] == runs["unicorn3"][figure] > 0
        assert runs["host0"][figure] is runs["sanitize1"][figure] is None
        assert runs["unicorn4"][figure] > 0
    assert result["stack_bytes"] == result["stack_measured_bytes"] == result["stack_bound_bytes"]
    assert result["ram_bytes"] == result["arena_bytes"] == 8
    assert result["const_bytes"] == 16


@pytest.mark.qemu
def test_default_is_host_and_qemu(tmp_path):
    result = CORTEXM.verify(write_tiny(tmp_path / "tiny"), inputs_limit=2).as_json()
    assert (result["inputs"], result["equal"], result["notes"]) == (2, 2, [])
    assert [run["simulator"] for run in result["runs"]] == ["host", "qemu"]
    assert [row["simulation"] for row in result["seconds"]] == ["host", "qemu"]
    for row in result["seconds"]:
        assert list(row) == ["simulation", "compile", "simulate", "compare"]
        assert row["compile"] > 0
        assert row["simulate"] > 0


@pytest.mark.qemu
def test_unicorn_and_zig_stand_in_with_a_note(tmp_path, monkeypatch):
    hide(monkeypatch, "qemu-system-arm", "arm-none-eabi-gcc")
    result = CORTEXM.verify(write_tiny(tmp_path / "tiny")).as_json()
    assert [run["simulator"] for run in result["runs"]] == ["host", "unicorn"]
    assert "zig" in result["tools"]
    assert result["notes"] == [
        "arm-none-eabi-gcc is not installed: firmware was built with zig",
        "qemu-system-arm is not installed: firmware ran under unicorn",
    ]


def test_without_tools_for_arm_the_host_runs_and_the_result_says_what_did_not(
    tmp_path, monkeypatch
):
    folder = write_tiny(tmp_path / "tiny")
    gcc, qemu = "gcc-arm-none-eabi libnewlib-arm-none-eabi", "qemu-system-arm"
    compilers, emulators = ("arm-none-eabi-gcc", "zig"), ("qemu-system-arm", "unicorn")
    for hidden, reason, packages in (
        (compilers, "no compiler", gcc),
        (emulators, "no emulator", qemu),
        ((*compilers, *emulators), "no compiler, no emulator", f"{gcc} {qemu}"),
    ):
        with monkeypatch.context() as patch:
            hide(patch, *hidden)
            done = CORTEXM.verify(folder)
            assert done.passed
            result = done.as_json()
            assert CORTEXM.tools_used(folder, None) == result["tools"]
        assert [run["simulator"] for run in result["runs"]] == ["host"]
        install = f"pip install 'rlx[zig]', or on Debian: apt-get install {packages}"
        missing = NotRun("qemu", "C on a cortex-m4", reason, install)
        assert done.not_run == (missing,)
        assert result["not_run"] == [missing.as_json()]
        assert str(missing) == f"C on a cortex-m4: {reason}; {install}"
        assert "instructions" not in result
        assert VerificationReport.from_json(result, cached="then").not_run == done.not_run
        assert "not run: C on a cortex-m4" in repr(done)


@pytest.mark.qemu
def test_without_a_host_compiler_the_emulator_runs(tmp_path, monkeypatch):
    hide(monkeypatch, "cc")
    done = CORTEXM.verify(write_tiny(tmp_path / "tiny"))
    assert [run["simulator"] for run in done.as_json()["runs"]] == ["qemu"]
    assert [(one.name, one.reason) for one in done.not_run] == [("host", "no compiler")]
    assert done.not_run[0].install == (
        "pip install 'rlx[zig]', or on Debian: apt-get install gcc libc6-dev"
    )


def test_a_core_that_only_one_emulator_has_names_that_one(monkeypatch):
    hide(monkeypatch, "arm-none-eabi-gcc", "zig", "qemu-system-arm", "unicorn")
    small, large = (simulators.plan_of(cpu).not_run[-1] for cpu in ("cortex-m0", "cortex-m55"))
    assert small.install == "pip install 'rlx[zig]'"
    assert large.install == (
        "on Debian: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    )


def test_an_unknown_tool_is_refused_before_missing_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "find", lambda name: pytest.fail(f"sought {name}"))
    with raises(UsageError):
        FPGA.tools_used(tmp_path, ["icarus"])


@pytest.mark.parametrize(
    ("verifier", "message"),
    [
        (CORTEXM, r"C on this machine: no compiler; .* emitted C cannot be checked\n"),
        (FPGA, r"SystemVerilog in Verilator: no simulator, no C\+\+ compiler, no make; "),
    ],
)
def test_a_machine_without_any_tool_cannot_verify(tmp_path, monkeypatch, verifier, message):
    monkeypatch.setattr(toolchain, "_search", lambda name: None)
    producer = Producer(rlx_version="0", target=verifier.target)
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    with pytest.raises(
        ToolMissingError, match=r"^no simulation can run here \(" + message
    ) as caught:
        verifier.verify(tmp_path / "tiny")
    assert caught.value.exit_status == 6
    assert "apt-get install" in caught.value.hint
    assert "pip install 'rlx[" in caught.value.hint


def test_hardware_without_cocotb_runs_in_verilator(monkeypatch):
    monkeypatch.setattr(toolchain, "_search", lambda name: None if name == "cocotb" else ANY)
    plan = hardware_plan()
    assert plan.tools == ("verilator",)
    assert [str(one) for one in plan.not_run] == [
        "cocotb bench: no test bench; pip install 'rlx[sim]'"
    ]


def test_icarus_stands_in_for_verilator(monkeypatch):
    icarus = toolchain.InstalledTool("icarus", ("iverilog",), "12.0")
    there = {"icarus": icarus, "verilator": ANY}
    monkeypatch.setattr(toolchain, "_search", there.get)
    plan = hardware_plan()
    assert plan.tools == ("testbench:icarus",)
    assert [one.name for one in plan.not_run] == ["verilator", "cocotb"]
    assert plan.not_run[0].reason == "no C++ compiler, no make"
    assert plan.not_run[1].install == (
        "pip install 'rlx[sim]', and on Debian: apt-get install g++ make"
    )
    assert plan.notes == ("Verilator cannot run: the emitted testbench ran in Icarus Verilog",)


@pytest.mark.qemu
def test_one_simulation_by_two_names_runs_once(tmp_path):
    folder, steps = write_tiny(tmp_path / "tiny"), []
    tools = ["host", "unicorn", "unicorn:zig", "qemu:gcc", "qemu", "host"]
    result = CORTEXM.verify(folder, tools=tools, progress=steps.append).as_json()
    assert steps == ["host: 5 frames", "unicorn: 5 frames", "qemu: 5 frames"]
    assert [(run["simulator"], run["compiler"]) for run in result["runs"]] == [
        ("host", "cc"), ("unicorn", "zig"), ("qemu", "gcc"),
    ]  # fmt: skip
    assert (result["emulator"], result["compiler"]) == ("unicorn", "zig")


@pytest.mark.qemu
def test_processor_is_the_one_that_was_emitted_for(tmp_path):
    producer = Producer(rlx_version="0", target="cortexm", facts={"cpu": "cortex-m33"})
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    assert CORTEXM.verify(tmp_path / "tiny", tools=["qemu"]).figures["cpu"] == "cortex-m33"


@pytest.mark.qemu
def test_what_was_measured_must_fit(tmp_path):
    limits = {"ram": 7, "flash": 50}
    producer = Producer(rlx_version="0", target="cortexm", options=limits)
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    with raises(DoesNotFitError):
        CORTEXM.verify(tmp_path / "tiny")
    assert CORTEXM.verify(tmp_path / "tiny", tools=["host"]).passed
    enough = {"ram": 8, "flash": 400}
    producer = Producer(rlx_version="0", target="cortexm", options=enough)
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer, force=True)
    assert CORTEXM.verify(tmp_path / "tiny").passed


@pytest.mark.qemu
def test_part_is_a_limit_and_makes_a_time_of_the_instructions(tmp_path):
    cycles = {"low": 1.0, "high": 2.0, "clock_mhz": 50.0, "source": "Arm X"}
    part = {"name": "Chip 1", "flash_bytes": 400, "ram_bytes": 16}
    producer = Producer(rlx_version="0", target="cortexm", facts={"part": part, "cycles": cycles})
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    result = CORTEXM.verify(tmp_path / "tiny")
    report = result.as_json()
    assert report["milliseconds"]["low"] == pytest.approx(report["instructions"] / 50e3, rel=1e-3)
    assert report["milliseconds"]["high"] == pytest.approx(report["instructions"] / 25e3, rel=1e-3)
    (time,) = [block for block in result.view() if block.title == "Computed for Chip 1"]
    assert time.figures[0].note.endswith("cycles, Arm X; not measured)")
    (measured,) = [block for block in result.view() if block.title.startswith("Measured: ")]
    notes = {figure.label: figure.note for figure in measured.figures}
    assert notes["RAM"] == "50 % of 16 B of Chip 1; arena 8, variables 0"
    assert " % of 400 B of Chip 1; constants 16, code " in notes["flash"]
    small = {"part": {**part, "flash_bytes": None, "ram_bytes": 7}}
    producer = Producer(rlx_version="0", target="cortexm", facts=small)
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer, force=True)
    with raises(DoesNotFitError):
        CORTEXM.verify(tmp_path / "tiny")


@pytest.mark.qemu
def test_unicorn_runs_what_qemu_has_no_board_for(tmp_path):
    producer = Producer(rlx_version="0", target="cortexm", facts={"cpu": "cortex-m0"})
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    result = CORTEXM.verify(tmp_path / "tiny").as_json()
    assert (result["equal"], result["cpu"]) == (5, "cortex-m0")
    assert [run["simulator"] for run in result["runs"]] == ["host", "unicorn"]
    assert result["notes"] == [
        "qemu-system-arm has no board with a cortex-m0: firmware ran under unicorn"
    ]


def test_mismatches_are_counted_by_input(tmp_path):
    vectors = golden(6)
    wrong = vectors.outputs[0].copy()
    wrong[1] ^= 1
    wrong[4, 2] ^= 1
    write_tiny(tmp_path / "tiny", vectors=Golden(vectors.inputs, (wrong,)))
    done = CORTEXM.verify(tmp_path / "tiny", tools=["host", "host"])
    assert not done.passed
    assert (done.inputs, done.equal) == (6, 4)
    assert done.as_json()["mismatches"][:2] == [
        {
            "simulator": "host",
            "frame": frame,
            "output": 0,
            "element": element,
            "expected": int(wrong[frame, element]),
            "actual": int(vectors.outputs[0][frame, element]),
            "name": "",
            "elements": elements,
        }
        for frame, element, elements in ((1, 0, wrong[1].size), (4, 2, 1))
    ]
    assert CORTEXM.verify(tmp_path / "tiny", tools=HOST, inputs_limit=1).passed


def test_nothing_run_is_not_passed():
    assert not VerificationReport("cortexm", 0, 0, ()).passed


@pytest.mark.parametrize(
    ("verifier", "tool"),
    [(CORTEXM, "qemy"), (CORTEXM, "verilator"), (FPGA, "qemy"), (FPGA, "unicorn:gcc")],
)
def test_unknown_tool_is_refused(tmp_path, verifier, tool):
    producer = Producer(rlx_version="0", target=verifier.target)
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    with raises(UsageError):
        verifier.verify(tmp_path / "tiny", tools=[tool])


def test_unknown_compiler_is_refused(tmp_path):
    with raises(UsageError):
        CORTEXM.verify(write_tiny(tmp_path / "tiny"), tools=["qemu:tcc"])


def test_processor_without_a_board_is_refused(tmp_path):
    producer = Producer(rlx_version="0", target="cortexm", facts={"cpu": "cortex-a9"})
    write_folder(tmp_path / "tiny", tiny_files(), producer=producer)
    with raises(UsageError):
        CORTEXM.verify(tmp_path / "tiny", tools=HOST)


def test_folder_of_another_target_is_refused(tmp_path):
    folder = write_tiny(tmp_path / "tiny")
    with raises(OutputError):
        FPGA.verify(folder)


def test_changed_folder_is_refused(tmp_path):
    folder = write_tiny(tmp_path / "tiny")
    np.save(folder / "golden/output_0.npy", golden(5).outputs[0] ^ 1)
    with pytest.raises(OutputError, match=r"golden/output_0.npy: the file differs from the manif"):
        CORTEXM.verify(folder, tools=HOST)


def test_tool_that_was_asked_for_must_be_there(tmp_path, monkeypatch):
    hide(monkeypatch, "qemu-system-arm")
    with pytest.raises(ToolMissingError):
        CORTEXM.verify(write_tiny(tmp_path / "tiny"), tools=["qemu"])


def test_verifiers_come_in_by_their_entry_points():
    found = {entry.name: entry.load() for entry in entry_points(group="rlx.verifiers")}
    assert found == {"cortexm": verify.CORTEXM, "fpga": verify.FPGA, "host": HOST_PROGRAM}


def test_programs_have_no_waveforms(tmp_path):
    with raises(UsageError):
        CORTEXM.verify(tmp_path, waves=tmp_path / "a.vcd")
