"""Settings: typed, read once from the environment, overridden in a scope and nowhere else."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from dataclasses import asdict, fields
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir import Graph, GraphModule
from rlx.ops.real import RealLog
from rlx.passes import Policy
from rlx.support import config
from rlx.support.config import Config, SettingChanges, from_environment
from rlx.support.errors import UsageError
from support import ROOT
from support.messages import raises

NAMES = [f.name for f in fields(Config)]


def test_values_of_the_environment():
    found = from_environment(
        {
            "RLX_BACKEND": "numpy",
            "RLX_CACHE": "some/folder",
            "RLX_CHECK_COMPILED": "off",
            "RLX_CHECK_FINITE": "Yes",
            "RLX_COMPILATIONS": "0",
            "RLX_COMPILE_CACHE": "0",
            "RLX_COMPILE_CACHE_MIB": "64",
            "RLX_DEBUG": "kernels",
            "RLX_DISPATCH": "common",
            "RLX_DUMP": "out",
            "RLX_PROGRAMS": "3",
            "RLX_QUIET": "1",
            "RLX_THREADS": "256",
            "RLX_VERIFY_EACH": "on",
            "PATH": "/bin",
        }
    )
    assert found == Config(
        backend="numpy", cache=Path("some/folder"), check_compiled=False, check_finite=True,
        compilations=0, compile_cache=False, compile_cache_mib=64, debug="kernels",
        dispatch="common", dump=Path("out"), programs=3, quiet=True, threads=256, verify_each=True,
    )  # fmt: skip


def test_empty_variables_and_those_of_other_programs_set_nothing():
    environment = {config.variable(name): "" for name in NAMES}
    foreign = dict.fromkeys(config.FOREIGN, "anything")
    assert from_environment({**environment, **foreign, "_RLX_COMPLETE": "x"}) == Config()


@pytest.mark.parametrize(
    ("text", "value"), [("off", False), ("OFF", False), ("0", False), ("no", False), ("on", True)]
)
def test_the_cache_is_a_folder_or_a_flag(text, value):
    assert from_environment({"RLX_CACHE": text}).cache is value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("RLX_CHECK_FINITE", "maybe"),
        ("RLX_PROGRAMS", "0"),
        ("RLX_COMPILATIONS", "-1"),
        ("RLX_PROGRAMS", "1e3"),
        ("RLX_DISPATCH", "nativ"),
        ("RLX_DEBUG", "kernel"),
        ("RLX_THREADS", "0"),
        ("RLX_THREADS", "257"),
        ("RLX_THREADS", "two"),
        ("RLX_CHEK_FINITE", "on"),
    ],
)
def test_unknown_and_malformed_variables_are_errors(key, text):
    with raises(UsageError):
        from_environment({key: text})


@pytest.mark.parametrize(
    "changes",
    [
        {"check_finit": True},
        {"check_finite": 1},
        {"programs": True},
        {"dispatch": "fast"},
        {"cache": "folder"},
        {"threads": 1_000_000},
        {"threads": "2"},
    ],
)
def test_unknown_and_malformed_overrides_are_errors(changes):
    before = config.current()
    with raises(UsageError), config.override(**changes):
        pass
    assert config.current() is before


def test_overrides_nest_and_end_with_their_statement():
    before = config.current()
    with config.override(programs=2) as outer:
        assert (outer.programs, outer.quiet) == (2, before.quiet)
        with config.override(quiet=True):
            assert (config.current().programs, config.current().quiet) == (2, True)
        assert config.current() is outer
        with pytest.raises(ZeroDivisionError), config.override(programs=1):
            raise ZeroDivisionError
        assert config.current() is outer
    assert config.current() is before


def test_threads_do_not_see_the_overrides_of_others():
    meet = threading.Barrier(8)
    found: dict[int, list[int]] = {}

    def work(number: int) -> None:
        seen = [config.current().programs]
        with config.override(programs=number):
            for _ in range(50):
                meet.wait()
                seen.append(config.current().programs)
        seen.append(config.current().programs)
        found[number] = seen

    with config.override(programs=99):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 8)]
        handed = contextvars.copy_context()
        last = threading.Thread(target=handed.run, args=(work, 8))
        for thread in (*threads, last):
            thread.start()
        for thread in (*threads, last):
            thread.join()
        assert config.current().programs == 99
    for number in range(1, 8):
        assert found[number] == [8, *[number] * 50, 8]
    assert found[8] == [99, *[8] * 50, 99]


def test_asyncio_tasks_do_not_see_the_overrides_of_others():
    async def work(number: int) -> list[int]:
        seen = [config.current().programs]
        with config.override(programs=number):
            for _ in range(20):
                await asyncio.sleep(0)
                seen.append(config.current().programs)
        return seen

    async def both() -> list[list[int]]:
        with config.override(programs=5):
            return await asyncio.gather(*(work(n) for n in range(1, 9)))

    assert asyncio.run(both()) == [[5, *[n] * 20] for n in range(1, 9)]


def test_the_environment_is_read_once_and_again_on_demand(monkeypatch):
    monkeypatch.setenv("RLX_PROGRAMS", "3")
    assert config.reload().programs == 3
    monkeypatch.setenv("RLX_PROGRAMS", "4")
    assert config.current().programs == 3
    assert config.reload().programs == 4
    monkeypatch.delenv("RLX_PROGRAMS")
    assert config.reload() == config.current()
    assert config.current().programs == 8


@pytest.fixture
def unknown(monkeypatch):
    """An unknown variable in the environment, as long as the test runs."""
    config._process_config.cache_clear()
    with monkeypatch.context() as patch:
        patch.setenv("RLX_QIET", "on")
        yield
    config.reload()


def test_the_command_line_refuses_the_environment_in_one_line(unknown, capsys):
    assert main(["targets"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error[RLX-E001]: environment: no setting is called 'RLX_QIET'"
    assert hint.startswith("  try: did you mean 'RLX_QUIET'? settings: RLX_BACKEND")
    assert main(["--version"]) == 0


def test_each_use_of_a_bad_environment_is_an_error(unknown):
    for _ in range(2):
        with raises(UsageError):
            rlx.CompileOptions()


def test_compile_options_begin_with_the_settings():
    with config.override(backend="other", check_finite=True, dispatch="native", dump=Path("out")):
        options = rlx.CompileOptions()
        given = rlx.CompileOptions(backend="numpy", check_finite=False)
    assert (options.backend, options.check_finite) == ("other", True)
    assert options.policies.default is Policy.NATIVE
    assert (options.dump, rlx.CompileOptions().dump) == (Path("out"), None)
    assert (given.backend, given.check_finite) == ("numpy", False)
    assert rlx.CompileOptions() == rlx.CompileOptions(backend=None, check_finite=False)


def test_the_command_line_stops_at_the_first_number_that_is_none(tmp_path, capsys):
    graph = Graph("g")
    graph.output(graph.apply(RealLog(), graph.input("x", rlx.f32(1, 2)), name="y"))
    rlx.save(GraphModule.mir(graph), tmp_path / "g.rlx")
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 2), np.float32))
    arguments = ["run", str(tmp_path / "g.rlx"), "--input", str(tmp_path / "x.npz")]
    assert main(arguments) == 0
    capsys.readouterr()
    with config.override(check_finite=True):
        assert main(arguments) == 2
    error, *more = capsys.readouterr().err.splitlines()
    assert error.startswith("error[RLX-E001]: check_finite: real.log %1 'y' made -inf at index")
    hint = "  try: change the network or the data, or run it without RLX_CHECK_FINITE"
    assert hint in more


def test_a_compiled_graph_keeps_so_many_programs():
    graph = rlx.Graph("g")
    x = graph.input("x", rlx.TensorType((rlx.Dim("n"),), rlx.DType.F32))
    graph.output(x + x)
    with config.override(programs=2):
        compiled = rlx.Session().compile(graph)
    for size in range(1, 6):
        compiled.run({"x": [1.0] * size})
    assert len(compiled._programs) == 2


def test_dispatch_has_the_policies_by_name():
    assert tuple(map(str, Policy)) == config._DISPATCH
    assert get_args(config.Dispatch) == config._DISPATCH


def test_override_takes_every_setting():
    taken = {name: ref.__forward_arg__ for name, ref in SettingChanges.__annotations__.items()}
    assert taken == Config.__annotations__
    assert list(config._KINDS) == NAMES


def test_rlx_config_needs_no_import_of_its_own():
    program = "import rlx; print(rlx.config.current().programs, 'config' in dir(rlx))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.split() == ["8", "True"]


def test_the_page_lists_every_setting():
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip(" `") for cell in row.strip("|").split("|")]
        for row in page.splitlines()
        if row.startswith("| `")
    ]
    assert [row[0] for row in rows] == NAMES
    for name, variable, takes, default, _ in rows:
        kind, value = config._KINDS[name], asdict(Config())[name]
        assert (variable, takes) == (config.variable(name), kind.takes)
        texts = {
            "backend": "the best one",
            "debug": "none",
            "cc": "none",
            "dump": "none",
            "instruction_set": "none",
            "True": "on",
            "False": "off",
        }
        assert default == texts.get(name if value is None else str(value), str(value))
