"""The pytest plugin: the fixtures ``rlx`` and ``rlx_network``, and the option ``rlx_models``.

pytest loads it in every project where rlx is installed, so it imports nothing of rlx before a test
asks for a fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rlx.testing.networks import Network, Networks

_INI = "rlx_models"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the configuration file and that of the command line."""
    parser.addini(
        _INI,
        "Networks for the fixture 'rlx': a line 'name = path' for each; a path is relative to the"
        " configuration file.",
        type="linelist",
    )
    parser.getgroup("rlx").addoption(
        "--rlx-keep",
        metavar="DIR",
        type=Path,
        help="New folder to emit to, and to keep. Default: pytest's temporary folder.",
    )
    parser.getgroup("rlx").addoption(
        "--rlx-missing",
        choices=("fail", "skip", "allow"),
        default="fail",
        help="Where a simulator is missing that no test named: fail the test (default), skip it,"
        " or run what is there.",
    )
    parser.getgroup("rlx").addoption(
        "--rlx-record",
        action="store_true",
        help="Write the files of require_golden instead of comparing with them.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with a parameter ``rlx_network`` once for each model."""
    if "rlx_network" in metafunc.fixturenames:
        names = list(models(metafunc.config))
        if not names:
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid} runs for each model, but {_INI} names none; in"
                f" pytest.ini: {_INI} = NAME = PATH"
            )
        metafunc.parametrize("rlx_network", names, indirect=True)


def models(config: pytest.Config) -> dict[str, Path]:
    """Return the path of each model that the configuration names.

    Raises:
        pytest.UsageError: A line is not ``name = path``, or there is no such file.
    """
    root = config.inipath.parent if config.inipath else config.rootpath
    paths: dict[str, Path] = {}
    for line in config.getini(_INI):
        name, equals, text = (part.strip() for part in line.partition("="))
        if not (name and equals and text):
            raise pytest.UsageError(f"{_INI}: {line!r} is not 'name = path'")
        if name in paths:
            raise pytest.UsageError(f"{_INI}: two models are called {name!r}")
        paths[name] = root / text
        if not paths[name].is_file():
            raise pytest.UsageError(f"{_INI}: model {name!r}: no file {str(paths[name])!r}")
    return paths


@pytest.fixture(scope="session")
def rlx(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Networks:
    """Return the networks under test; each is emitted, built and run once in a session."""
    from rlx.testing.networks import Networks

    keep: Path | None = request.config.getoption("--rlx-keep")
    settings: dict[str, Any] = {
        "missing": request.config.getoption("--rlx-missing"),
        "record": request.config.getoption("--rlx-record"),
    }
    if keep is None:
        return Networks(models(request.config), tmp_path_factory.mktemp("rlx"), **settings)
    try:
        keep.mkdir(parents=True)
    except FileExistsError:
        raise pytest.UsageError(f"--rlx-keep: {str(keep)!r} exists already") from None
    except OSError as error:
        raise pytest.UsageError(f"--rlx-keep: {str(keep)!r}: {error.strerror}") from None
    return Networks(models(request.config), keep, **settings)


@pytest.fixture
def rlx_network(request: pytest.FixtureRequest, rlx: Networks) -> Network:
    """Return each network that the configuration names, one after the other."""
    return rlx[request.param]
