"""Every refusal says what to do: each error is raised with a hint, or its class has one."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import pkgutil
import re

import pytest

import rlx
import rlx.cli
from rlx.frontends.refusal import FileRefusedError
from rlx.support import errors
from rlx.support.errors import RlxError
from support import ROOT

MODULES = (
    "rlx.cli.streams", "rlx.ops.rescale", "rlx.frontends.refusal", "rlx_fpga.explore.advice",
    "rlx_sim.bound.instruction",
)  # fmt: skip
FOLDERS = ("rlx", "targets", "sim")
FEW_WORDS = 2


def _classes() -> dict[str, type[Exception]]:
    """Return every class of errors in rlx by name."""
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != "amaranth":  # which the environment of `make test-c` does not have
                raise
    found: dict[str, type[Exception]] = {}
    waiting: list[type[Exception]] = [RlxError, FileRefusedError]
    while waiting:
        one = waiting.pop()
        if one.__module__.split(".")[0] in ("rlx", "rlx_fpga", "rlx_c", "rlx_cortexm", "rlx_sim"):
            found[one.__name__] = one
        waiting += one.__subclasses__()
    return found


CLASSES = _classes()


def _calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    """Return the calls that make an error of rlx, with the name of its class."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            # ``pytest.UsageError`` is not ours.
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if name in CLASSES and owner in ("", "errors"):
                found.append((name, node))
    return found


@pytest.mark.parametrize("kind", [one for one in CLASSES.values() if issubclass(one, RlxError)])
def test_an_error_of_a_worker_is_the_same_in_the_process_that_asked(kind):
    error = kind.__new__(kind, "wrong")
    RlxError.__init__(error, "wrong", where="graph", hint="--seeds 1")
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is kind
    assert (str(other), other.__dict__, other.args) == (str(error), error.__dict__, error.args)


def _hint(call: ast.Call) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg in ("hint", "advice")), None)


def _is_empty(hint: ast.expr | None) -> bool:
    """Return whether a hint is missing, None, or a text of very few words."""
    if hint is None:
        return True
    if isinstance(hint, ast.Constant):
        return hint.value is None or len(str(hint.value).split()) < FEW_WORDS
    return False


def lacking(source: str) -> list[tuple[int, str]]:
    """Return lines and classes of errors that are made without a hint, and whose class has none."""
    return [
        (call.lineno, name)
        for name, call in _calls(ast.parse(source))
        if _is_empty(_hint(call)) and not CLASSES[name].default_hint
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_error_is_raised_without_a_hint(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name in lacking(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise UsageError('x')", [(1, "UsageError")]),
        ("raise UsageError('x', hint=None)", [(1, "UsageError")]),
        ("raise UsageError('x', hint='help')", [(1, "UsageError")]),
        ("\nraise errors.OutputError('x')", [(2, "OutputError")]),
        ("raise UsageError('x', hint='write for example 5')", []),
        ("raise UsageError('x', hint=hint_for(name))", []),
        ("raise ShapeError('x')", []),
        ("raise pytest.UsageError('x')", []),
    ],
)
def test_what_the_check_finds(source, found):
    assert lacking(source) == found


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_hints_of_classes_are_sentences(name):
    hint = CLASSES[name].default_hint
    assert hint == "" or len(hint.split()) > FEW_WORDS


def test_the_hint_of_the_class_counts_where_there_is_no_other():
    assert errors.ShapeError("x").hint == errors.ShapeError.default_hint
    assert errors.ShapeError("x", hint="give two operands").hint == "give two operands"


def test_codes_are_distinct():
    codes = [
        one.code for one in vars(errors).values()
        if inspect.isclass(one) and issubclass(one, RlxError)
    ]  # fmt: skip
    assert len(codes) == len(set(codes))
    assert [code for code in codes if not re.fullmatch(r"RLX-E\d{3}", code)] == []


def test_modules_with_errors_are_seen():
    names = {m.name for m in pkgutil.walk_packages(rlx.__path__, "rlx.")} | set(MODULES)
    assert {one.__module__ for one in CLASSES.values()} <= names
