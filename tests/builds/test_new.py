"""Projects of ``rlx new`` build by the commands of their README, and compute the right answer."""

from __future__ import annotations

import importlib.util
import re
import shlex

import pytest

from rlx import frontends
from rlx.cli import main
from rlx.driver import projects
from rlx.ir import DType, Graph, Rewriter, TensorType
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QClamp
from rlx.support.errors import FrontendError, OutputError, UsageError
from rlx.support.process import run
from support import ROOT, missing, require_program
from support.messages import raises

TIMEOUT_S = 300
PASSED = "digits: self-test passed, 6 layers, 640 bytes of arena\n"
MODEL = ROOT / "examples" / "digits" / "digits.rlx"
BASE = ROOT / "tests" / "projects" / "zephyr_base"


def commands(folder):
    """Return the commands of a project's README, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```$", (folder / "README.md").read_text(), re.M | re.S)
    return [shlex.split(line.removeprefix("$ ")) for one in blocks for line in one.splitlines()]


def walk(folder, environment):
    """Run the commands of the README; return what each printed."""
    printed = []
    for command in commands(folder):
        done = run(command, cwd=folder, timeout_s=TIMEOUT_S, env=environment, inherit_env=True)
        printed.append(done.stdout + done.stderr)
    return printed


@pytest.mark.slow
@pytest.mark.qemu
def test_firmware_prints_the_digit(tmp_path, environment):
    for program in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        require_program(program)
    projects.create("firmware", tmp_path / "new")
    *_, last = walk(tmp_path / "new", environment)
    assert PASSED in last
    assert re.search(r"^digit: 7, \d\d % sure$", last, re.M)


@pytest.mark.slow
def test_cmake_project_runs_here_and_is_a_library_for_a_core(tmp_path, environment):
    require_program("cmake"), require_program("arm-none-eabi-gcc")
    projects.create("cmake", tmp_path / "new")
    printed = walk(tmp_path / "new", environment)
    assert printed[2].startswith(PASSED)
    assert re.search(r"^digit: 7, \d\d % sure$", printed[2], re.M)
    assert "100% tests passed, 0 tests failed out of 1" in printed[3]
    assert (tmp_path / "new" / "build-arm" / "libdigits.a").is_file()


@pytest.mark.slow
def test_zephyr_application_builds_with_stand_ins(tmp_path, environment):
    """Against stand-ins for Zephyr's libraries: see tests/projects/zephyr_base."""
    cmake = require_program("cmake")
    folder = tmp_path / "new"
    projects.create("zephyr", folder)
    variables = {**environment, "ZEPHYR_BASE": str(BASE)}
    for command in ([cmake, "-B", "build"], [cmake, "--build", "build"]):
        run(command, cwd=folder, timeout_s=TIMEOUT_S, env=variables, inherit_env=True)
    done = run([folder / "build" / "zephyr_final"], timeout_s=10)
    assert done.stdout.startswith(PASSED)
    settings = (folder / "prj.conf").read_text()
    assert all(re.fullmatch(r"#.*|CONFIG_[A-Z_]+=\w+", line) for line in settings.splitlines())


@pytest.mark.slow
@pytest.mark.sim
def test_litex_simulation_computes_what_the_reference_does(tmp_path, environment):
    if importlib.util.find_spec("litex") is None:
        missing("litex is not installed")
    projects.create("litex", tmp_path / "new")
    variables = {**environment, "PYTHONWARNINGS": "ignore"}
    *_, last = walk(tmp_path / "new", variables)
    result, reference = re.search(r"^result (.*), reference (.*)$", last, re.M).groups()
    assert result == reference


def test_litex_project_takes_networks_with_one_input_and_output(tmp_path):
    graph = Graph("two")
    given = [graph.input(name, TensorType((1, 4), DType.I8)) for name in ("a", "b")]
    for value in given:
        graph.output(graph.apply(QClamp(low=0, high=127), value))
    save(GraphModule(graph, Stage.MIR), tmp_path / "two.rlx")
    with raises(UsageError):
        projects.create("litex", tmp_path / "new", tmp_path / "two.rlx")


def renamed(name):
    """Return the digits network with another name."""
    module = frontends.load(MODEL)
    rewriter = Rewriter(module.graph, name=name)
    for _ in rewriter:
        pass
    return module.with_graph(rewriter.finish())


def test_a_network_is_called_as_emit_calls_it(tmp_path):
    save(renamed("motion"), tmp_path / "motion.q.rlx")
    assert "motion.rlx" in projects.create("cmake", tmp_path / "new", tmp_path / "motion.q.rlx")
    emit = ["emit", str(tmp_path / "motion.q.rlx"), "--target", "cortexm"]
    assert main([*emit, "-o", str(tmp_path / "c")]) == 0
    assert (tmp_path / "c" / "include" / "motion.h").is_file()


@pytest.mark.slow
def test_project_takes_any_model(tmp_path, environment):
    """Two inputs, a name that another target has: main.c still builds, and tests the network."""
    cmake = require_program("cmake")
    save(renamed("Application"), tmp_path / "model.rlx")
    folder = tmp_path / "new"
    files = projects.create("cmake", folder, tmp_path / "model.rlx")
    assert "Application_net.rlx" in files
    for command in ([cmake, "-B", "build"], [cmake, "--build", "build"]):
        run(command, cwd=folder, timeout_s=TIMEOUT_S, env=environment, inherit_env=True)
    done = run([folder / "build" / "application"], timeout_s=10)
    assert done.stdout == PASSED.replace("digits", "Application_net")


@pytest.mark.parametrize("name", projects.KINDS)
def test_files_are_named_in_the_readme_and_repeat(name, tmp_path):
    files = projects.project_files(projects.kind(name), None)
    readme = files["README.md"].decode()
    unnamed = {"README.md", ".gitignore"}
    assert [path for path in files if path not in unnamed and f"`{path}`" not in readme] == []
    assert projects.project_files(projects.kind(name), None) == files
    for path, content in files.items():
        if not path.endswith(".rlx"):
            text = content.decode("ascii")
            assert text.endswith("\n"), path
            assert not re.search(r"[ \t]$|\{[{%#]|\t", text, re.M), path
            assert path.endswith(".py") or "\n\n\n" not in text, path


def test_command_says_what_to_type_next(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "cmake", "product"]) == 0
    assert capsys.readouterr().out == (
        "wrote 7 files to product; next:\n"
        "  cd product\n  cmake -B build\n  cmake --build build\n  build/application\n"
    )
    assert (tmp_path / "product" / "digits.rlx").read_bytes() == MODEL.read_bytes()


def test_what_to_type_next_can_be_typed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "cmake", "my product"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "  cd 'my product'"


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with raises(OutputError):
        projects.create("cmake", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_unknown_kinds_and_unreadable_models_are_refused(tmp_path):
    with raises(UsageError):
        projects.create("firmwear", tmp_path / "new")
    (tmp_path / "model.tflite").write_bytes(b"no network")
    with pytest.raises(FrontendError):
        projects.create("cmake", tmp_path / "new", tmp_path / "model.tflite")
    for model in (tmp_path / "none.tflite", ROOT / "examples/mnist/tinyconv_float.rlx"):
        with raises(UsageError):
            projects.create("cmake", tmp_path / "new", model)
    assert not (tmp_path / "new").exists()
