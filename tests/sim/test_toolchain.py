"""Tools are found with their version, or named together with the command that adds them."""

import sys
from importlib.metadata import entry_points

import pytest

from rlx.support.errors import ToolMissingError
from rlx_sim import toolchain
from rlx_sim.toolchain import InstalledTool, find, search, survey
from support.messages import raises

NAMES = [
    "cc",
    "gcc",
    "clang",
    "arm-none-eabi-gcc",
    "zig",
    "qemu-system-arm",
    "unicorn",
    "pyelftools",
    "make",
    "c++",
    "verilator",
    "icarus",
    "cocotb",
    "yosys",
    "nextpnr-ecp5",
    "nextpnr-ice40",
]


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def empty_path(tmp_path, monkeypatch):
    """A PATH with one empty folder, and no result remembered before or after."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    toolchain._search.cache_clear()
    yield folder
    toolchain._search.cache_clear()


def test_survey_has_every_tool_with_its_installation():
    lines = survey()
    assert [line.name for line in lines] == NAMES
    for line in lines:
        assert line.purpose
        assert "apt-get install" in line.install or "pip install 'rlx[" in line.install
        assert line.tool == search(line.name)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205", "12.2.1"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "7.2.22"),
        ("Debian clang version 14.0.6", "14.0.6"),
    ],
)
def test_version_is_the_programs_own(empty_path, text, version):
    path = program(empty_path, "arm-none-eabi-gcc", f"echo '{text}'")
    assert find("arm-none-eabi-gcc") == InstalledTool("arm-none-eabi-gcc", (path,), version)


@pytest.mark.parametrize("text", ["exit 1", "echo no version"])
def test_program_that_does_not_work_is_missing(empty_path, text):
    program(empty_path, "qemu-system-arm", text)
    with raises(ToolMissingError):
        find("qemu-system-arm")


def test_zig_stands_in_for_a_host_compiler(empty_path):
    if search("zig") is None:
        pytest.skip("ziglang is not installed")
    assert search("gcc") is None
    assert find("cc").command == (sys.executable, "-m", "ziglang", "cc")


def test_unknown_name_is_a_value_error():
    with raises(ValueError):
        find("make-coffee")


def test_survey_comes_in_by_its_entry_point():
    (entry,) = entry_points(group="rlx.tools", name="simulation")
    assert entry.load() is survey
