"""Fixtures of all tests: settings of hypothesis, golden files, models, missing tools.

Only tests marked ``models`` find the folder of reference models: so the others pass without it.

Functions that tests import by name are in ``support/`` beside this file.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from rlx.support import plugins
from rlx.support.spelling import typed
from rlx_host import NativeBackend
from rlx_wgpu import backend as wgpu_backend
from support import GoldenFolder, excused, ids, missing, shared_folder
from support.messages import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from playwright.sync_api import Browser

# A test runs what it verifies, and leaves the user's cache alone.
os.environ["RLX_CACHE"] = "off"
# A pass that breaks a graph is named, also where a later one repairs it.
os.environ["RLX_VERIFY_EACH"] = "on"
# NumPy is the reference, and needs no compiler: tests of another backend name it.
NativeBackend.rank = -1

# The same examples on every machine: a red test is red for everybody. Slow machines are not a bug.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Other examples on every run, and more: `pytest --hypothesis-profile nightly`.
settings.register_profile("nightly", settings.get_profile("ci"), derandomize=False,
                          max_examples=2000)  # fmt: skip
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden and messages.txt"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config))
    config.pluginmanager.register(ids)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, object]:
    if (shared := sys.modules.get("rlx.runtime.compilations")) is not None:
        shared.COMPILATIONS.clear()  # a test may replace kernels
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("models") is None:
            patch.setenv("RLX_SHARED", "/only/for/tests/marked/models")
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    given = getattr(getattr(item, "callspec", None), "params", {})
    needs = {"shared", "shared_models"}.intersection(getattr(item, "fixturenames", ())) - set(given)
    if needs and item.get_closest_marker("models") is None:
        pytest.fail(f"a test that takes {min(needs)} is marked models", pytrace=False)
    with excused(mark.name for mark in item.iter_markers()):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    with excused(mark.name for mark in item.iter_markers()):
        return (yield)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Mapping[str, str | bytes]], None]:
    """``golden("cortexm/dense", files)`` compares ``files`` with ``tests/golden/cortexm/dense/``.

    ``pytest --update-golden`` rewrites that folder instead, and removes what is not in ``files``.
    """
    update = bool(request.config.getoption("--update-golden"))

    def check(name: str, files: Mapping[str, str | bytes]) -> None:
        folder = GoldenFolder(Path(__file__).parent / "golden" / name)
        if update:
            folder.write(files)
        folder.check(files)

    return check


@pytest.fixture
def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Mapping[str, str], Mapping[str, Mapping[str, str]]], Path]:
    """``installed({"acme.py": "..."}, {"rlx.targets": {"acme": "acme:TARGET"}})``: a package.

    It is called ``third-party`` 1.0; the result is the folder it is in.
    """
    folder = tmp_path / "site"

    def install(modules: Mapping[str, str], groups: Mapping[str, Mapping[str, str]]) -> Path:
        info = folder / "third_party-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
        lines = [
            f"[{g}]\n" + "".join(f"{n} = {v}\n" for n, v in e.items()) for g, e in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for name, text in modules.items():
            (folder / name).write_text(text)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    monkeypatch.setattr(plugins, "_failed", {})
    monkeypatch.setattr(plugins, "_warned", set())
    before = set(sys.modules)
    yield install
    # Other tests install other modules under the same names.
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def as_typed() -> Generator[None]:
    """Messages of the module name options as the command line does: ``--lut 100``."""
    with typed():
        yield


@pytest.fixture
def only_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have no GPU, so that messages list the same devices everywhere."""
    monkeypatch.setattr(wgpu_backend, "absence", lambda device: f"no {device} is here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with models, vectors and data (``RLX_SHARED``, or ``../shared``)."""
    return shared_folder()


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """The folder of the MLPerf Tiny models, with ``vectors/`` and ``inputs/``."""
    return shared_folder("models/mlperf-tiny")


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """A real browser without a window: not every distribution has one, but CI must."""
    sync_api = pytest.importorskip("playwright.sync_api")
    programs = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    program = next(programs, None)
    if program is None:
        missing("no browser is installed: chromium, chromium-browser or google-chrome")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
