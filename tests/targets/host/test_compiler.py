"""The compiler: found by setting or on the path; its failures name what to do."""

from __future__ import annotations

import shutil

import pytest

import rlx
from rlx.support.errors import SimulationError, ToolMissingError
from rlx_host import BACKEND, compiler
from rlx_host.compiler import build, find_compiler, identity, version
from rlx_host.library import open_library
from support import require_program

RETURNS_3 = """
__attribute__((visibility("default"))) int three(void);
int three(void) { return 3; }
"""


def test_the_setting_has_precedence():
    with rlx.config.override(cc="my-cc -m64"):
        assert find_compiler() == ("my-cc", "-m64")


def test_zig_is_used_without_another_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: name == "ziglang")
    assert compiler._installed.__wrapped__()[1:] == ("-m", "ziglang", "cc")


def test_no_compiler_is_none(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    assert compiler._installed.__wrapped__() is None


@pytest.mark.parametrize("command", ["gcc", "clang"])
def test_a_library_is_loaded_and_its_files_removed(command, tmp_path, monkeypatch):
    require_program(command)
    monkeypatch.setattr("rlx.support.files.scratch._parent_folder", lambda: tmp_path)
    assert open_library(build(RETURNS_3, [command], ())).three() == 3
    assert list(tmp_path.glob("rlx-native-*")) == []


def test_text_that_does_not_compile_is_an_error():
    with pytest.raises(SimulationError) as caught:
        build("int main(", find_compiler(), ())
    assert "program.c" in str(caught.value)
    assert "RLX_BACKEND=numpy" in str(caught.value.hint)


def test_a_missing_compiler_is_an_error():
    with pytest.raises(ToolMissingError):
        build("", ["no-such-compiler"], ())


def test_bytes_that_are_not_a_library_are_an_error():
    with pytest.raises(SimulationError, match="cannot be loaded"):
        open_library(b"nothing")


def test_compilers_differ_without_starting_them(tmp_path):
    program = tmp_path / "cc"
    program.write_text("1")
    first = identity([str(program)])
    program.write_text("12")
    assert identity([str(program)]) != first
    assert identity(["no-such-compiler", "-m64"]) == "no-such-compiler -m64"


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


def test_the_version_is_asked_once_for_each_file(tmp_path):
    calls = tmp_path / "calls"
    asked = f"echo call >> {calls}; echo"
    command = script(tmp_path / "cc", f"{asked} my-cc 1.2; echo more")
    assert [version(command) for _ in range(2)] == ["my-cc 1.2"] * 2
    assert calls.read_text() == "call\n"
    assert version(script(tmp_path / "cc", f"{asked} my-cc 1.2.3")) == "my-cc 1.2.3"


def test_a_compiler_without_a_version_has_its_command(tmp_path):
    command = script(tmp_path / "cc", "exit 1")
    assert version(command) == command[0]
    assert version(["no-such-compiler", "-m64"]) == "no-such-compiler -m64"


def test_messages_name_the_version():
    with rlx.config.override(cc=None):
        assert BACKEND.compiler() == version(find_compiler())
    assert any(digit in BACKEND.compiler() for digit in "123456789")
