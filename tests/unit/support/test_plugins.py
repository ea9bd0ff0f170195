"""Plug-ins of other packages: what is wrong with one is said in a line, and takes nothing along."""

from __future__ import annotations

import json
import re
import sys
import warnings

import pytest

from rlx import frontends
from rlx.cli import main
from rlx.frontends import Frontend
from rlx.ir import DType, Graph, GraphModule, QuantParams, TensorType
from rlx.ir.file import save
from rlx.ir.lookup import op_class
from rlx.ir.plain import PlainError
from rlx.ops.q import QClamp
from rlx.runtime import Backend
from rlx.support import plugins
from rlx.support.errors import PluginWarning, TargetNotFoundError
from rlx.targets import builder, target, verifier
from support.messages import raises

SOUND = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    depth: int = 1

class Plain:
    name = "acme"
    summary = "files of Acme"
    suffixes = (".acme",)
    options = Options
    def claims(self, start): return start.startswith(b"ACME")
    def load(self, path, options, limits): raise AssertionError
    def knows(self, op): return False
    def lowering(self, node, options): raise AssertionError
    def emit(self, module, options): raise AssertionError
    def build(self, folder, **settings): raise AssertionError
    def verify(self, folder, **settings): raise AssertionError
    def simulators(self): return {}

THING = Plain()
"""
WITHOUT_DEFAULT = SOUND.replace("depth: int = 1", "depth: int")

# What is wrong: the text of the module (None for no module), and the reason.
BROKEN = {
    "no module": (None, "its module 'acme' is missing"),
    "no library": ("import no_such_library.part", "needs the package 'no_such_library', which is "
                                                  "not installed"),
    "ImportError": ("from rlx.targets import Missing",
                    "cannot be loaded: ImportError: cannot import name 'Missing' from"
                    " 'rlx.targets' (*)"),
    "SyntaxError": ("def f(:", "cannot be loaded: SyntaxError: invalid syntax (acme.py, line 1)"),
    "raises": ("raise ValueError('first\\nsecond')", "cannot be loaded: ValueError: first"),
    "exits": ("import sys; sys.exit(3)", "cannot be loaded: SystemExit: 3"),
    "escapes": ("raise ValueError('\\x1b[31m')", "cannot be loaded: ValueError: ?[31m"),
    "no attribute": ("", "cannot be loaded: AttributeError: module 'acme' has no attribute "
                         "'THING'"),
    "a number": ("THING = 3", "expected *"),
    "a class": (SOUND.replace("Plain()", "Plain"), "expected an object, got the class Plain"),
    "api 2": (SOUND + "THING.api = 2", "written for api 2 of plug-ins, this rlx has api 1"),
    "api of words": (SOUND + "THING.api = 'one'", "expected an integer as api, got one"),
    "a property that raises": (
        SOUND + "Plain.api = property(lambda self: 1 / 0)",
        "cannot be loaded: ZeroDivisionError: division by zero",
    ),
}  # fmt: skip
OPTIONS = {
    "no dataclass": (SOUND + "Plain.options = int", "expected 'options' to be a dataclass with a "
                                                    "default for each field"),
    "no default": (WITHOUT_DEFAULT, "expected 'options' to be a dataclass with a default for each "
                                    "field"),
    "a name of another type": (SOUND + "Plain.name = 3", "expected an attribute 'name' of type "
                                                         "str, got int"),
}  # fmt: skip


def pattern(reason):
    return re.escape(reason).replace(r"\*", ".*")


def install(installed, text, *groups, value="acme:THING"):
    modules = {} if text is None else {"acme.py": text}
    return installed(modules, {group: {"acme": value} for group in groups})


@pytest.fixture
def model(tmp_path):
    """A model in a format of rlx."""
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4), DType.I8, QuantParams.per_tensor(0.5, 0)))
    graph.output(graph.apply(QClamp(low=0), x, name="y"), names=["y"])
    save(GraphModule.mir(graph), tmp_path / "net.rlx")
    return tmp_path / "net.rlx"


@pytest.mark.parametrize(
    ("text", "reason"), [*BROKEN.values(), *OPTIONS.values()], ids=[*BROKEN, *OPTIONS]
)
def test_a_broken_frontend_is_named_once_and_left_out(installed, text, reason):
    install(installed, text, "rlx.frontends")
    line = f"^skipped frontend 'acme' of third-party 1.0: {pattern(reason)}$"
    with pytest.warns(PluginWarning, match=line) as caught:
        found = [frontends.formats(), frontends.formats()]
    assert found == [("tflite", "rlx", "onnx")] * 2
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    with pytest.raises(TargetNotFoundError, match=rf"^frontend 'acme' .*: {pattern(reason)}\n"):
        frontends.load("x.acme", "acme")


@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("module", [target, verifier, builder])
def test_a_broken_one_that_is_asked_for_is_an_error_with_its_reason(
    installed, module, text, reason
):
    kind = module.__name__.removeprefix("rlx.targets.")
    install(installed, text, f"rlx.{kind}s")
    with pytest.raises(TargetNotFoundError) as caught:
        module.load("acme")
    assert re.fullmatch(
        rf"{kind} 'acme' of third-party 1\.0: {pattern(reason)}", caught.value.message
    )
    assert "third-party" in caught.value.hint or caught.value.hint in (
        "pip install no_such_library",
        "update rlx, or install a version of the package that is written for api 1",
    )


def test_a_dialect_that_cannot_be_loaded_is_an_error_with_its_reason(installed):
    install(installed, "1 / 0", "rlx.ops", value="acme")
    reason = "dialect 'acme' of third-party 1.0: cannot be loaded: ZeroDivisionError: division by z"
    with pytest.raises(PlainError, match=f"^{reason}"):
        op_class("acme.square")


def test_a_dialect_for_a_later_version_is_refused(installed):
    install(installed, "api = 2", "rlx.ops", value="acme")
    with raises(PlainError):
        op_class("acme.square")


def test_a_package_of_ops_may_have_a_module_called_api(installed):
    install(installed, "from types import ModuleType as M; api = M('api')", "rlx.ops", value="acme")
    with raises(PlainError):
        op_class("acme.square")


@pytest.mark.parametrize("group", ["rlx.frontends", "rlx.targets", "rlx.verifiers", "rlx.builders"])
@pytest.mark.parametrize("api", ["", "THING.api = 1"])
def test_sound_plugins_are_loaded(installed, group, api):
    install(installed, SOUND + api, group)
    (found,) = (one for one in plugins.survey(group) if one.name == "acme")
    assert (found.plugin.name, found.package, found.problem) == ("acme", "third-party 1.0", None)
    assert plugins.load(group, "acme", missing="", hint="").name == "acme"


def test_one_that_was_repaired_is_loaded_when_it_is_asked_for(installed):
    folder = install(installed, None, "rlx.targets")
    with pytest.raises(TargetNotFoundError):
        target.load("acme")
    (folder / "acme.py").write_text(SOUND)
    sys.path_importer_cache.clear()
    assert target.load("acme").name == "acme"


def test_a_frontend_that_fails_on_a_file_is_left_out(installed, model):
    install(
        installed,
        SOUND.replace("return start.startswith", "return start.starts_with"),
        "rlx.frontends",
    )
    unknown = model.with_name("unknown.bin")
    unknown.write_bytes(b"unknown")
    line = r"^skipped frontend 'acme': claims\(\) failed: AttributeError: 'bytes' object has no"
    with pytest.warns(PluginWarning, match=line), pytest.raises(frontends.registry.FormatError):
        frontends.load(unknown)
    assert frontends.load(model).graph.nodes


def test_a_frontend_that_raises_is_blamed_in_place_of_rlx(capsys, installed, tmp_path):
    install(installed, SOUND.replace("raise AssertionError", "return 1 / 0"), "rlx.frontends")
    (tmp_path / "net.acme").write_bytes(b"ACME")
    status, _, err = run(capsys, "inspect", tmp_path / "net.acme")
    assert status == 70
    assert "Traceback" in err
    assert err.endswith(
        "error[RLX-E900]: net.acme: the frontend 'acme' failed: ZeroDivisionError: division by"
        " zero\n"
        "  try: it is of another package than rlx: report it there, with the lines above\n"
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [(b"no section", 0), (b"[rlx.frontends]\nno value", 1), (b"\xff\xfe", 1)],
)
def test_damaged_metadata_of_one_package_harms_no_other(installed, text, count):
    folder = install(installed, SOUND, "rlx.frontends")
    other = folder / "other-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (other / "entry_points.txt").write_bytes(text)
    with warnings.catch_warnings(record=True, action="always") as caught:
        assert frontends.formats() == ("tflite", "rlx", "onnx", "acme")
        assert "cortexm" in target.names()
    lines = [str(one.message) for one in caught]
    assert len(lines) == count
    assert all(line.startswith("skipped package other 2.0: damaged metadata: ") for line in lines)


def run(capsys, *arguments):
    capsys.readouterr()
    status = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


LINE = "warning: skipped frontend 'acme' of third-party 1.0: its module 'acme' is missing\n"


@pytest.mark.parametrize(
    "command", [["inspect"], ["check", "--target", "cortexm"], ["inspect", "--json"]]
)
def test_commands_work_beside_a_broken_package(capsys, installed, model, command):
    install(
        installed,
        None,
        "rlx.frontends",
        "rlx.targets",
        "rlx.verifiers",
        "rlx.builders",
        "rlx.tools",
    )
    status, out, err = run(capsys, command[0], model, *command[1:])
    assert (status, err) == (0, LINE)
    if "--json" in command:
        json.loads(out)


def test_a_command_that_names_the_broken_target_says_why(capsys, installed, model):
    install(installed, None, "rlx.targets")
    status, _, err = run(capsys, "emit", model, "--target", "acme", "-o", model.with_name("out"))
    assert (status, err) == (6, (
        "error[RLX-E060]: target 'acme' of third-party 1.0: its module 'acme' is missing\n"
        "  try: update, repair or uninstall third-party 1.0\n"
    ))  # fmt: skip


def test_targets_and_doctor_list_it(capsys, installed):
    install(installed, SOUND + "THING.api = 2", "rlx.targets", "rlx.frontends")
    status, out, _ = run(capsys, "targets")
    assert status == 0
    assert "not usable: target 'acme' of third-party 1.0: written for api 2 of plug-ins" in out
    status, out, _ = run(capsys, "doctor", "--json")
    assert status == 0
    found = {one["kind"]: one for one in json.loads(out)["plugins"]}
    assert found["target"] == {
        "kind": "target",
        "name": "acme",
        "package": "third-party 1.0",
        "problem": "written for api 2 of plug-ins, this rlx has api 1",
        "advice": "update rlx, or install a version of the package that is written for api 1",
    }
    assert set(found) == {"target", "frontend"}
    status, out, _ = run(capsys, "doctor")
    assert "frontend acme of third-party 1.0: not loaded: written for api 2 of plug-ins" in out


@pytest.mark.parametrize("text", ["def THING(): 1 / 0", "def THING(): return [3]"])
def test_a_tool_probe_that_fails_is_left_out(capsys, installed, text):
    install(installed, text, "rlx.tools")
    status, out, err = run(capsys, "doctor")
    assert status == 0
    assert "emit for cortexm: ready" in out
    assert err.startswith("warning: skipped tool probe 'acme' of third-party 1.0: call() failed: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("group", "interface"),
    [
        ("rlx.backends", Backend), ("rlx.builders", builder.Builder), ("rlx.frontends", Frontend),
        ("rlx.verifiers", verifier.Verifier),
    ],
)  # fmt: skip
def test_what_is_checked_is_the_interface(group, interface):
    known = plugins.GROUPS[group]
    members = {*interface.__annotations__, *vars(interface)}
    members = {name for name in members if not name.startswith("_")}
    assert {*known.methods, *known.values} == members


def test_every_group_that_rlx_registers_is_known():
    from importlib.metadata import distribution

    groups = {e.group for e in distribution("rlx").entry_points if e.group.startswith("rlx.")}
    assert groups <= set(plugins.GROUPS)
