"""``rlx.frontends.load``, through which all frontends are used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import numpy as np
import pytest
from malformed.tflite_models import sound_model
from safetensors.numpy import save

from rlx import frontends
from rlx.frontends import registry
from rlx.ir import Graph, file
from rlx.ir.hash import structural_hash
from rlx.ir.module import GraphModule, Stage
from rlx.support import plugins
from rlx.support.errors import FormatError, FrontendError, UsageError, VerifyError
from rlx.support.limits import Limits
from support.files.mutation import mutate
from support.messages import raises

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "some model.tflite"
    path.write_bytes(sound_model())
    return path


def test_load_tells_tflite_by_its_bytes(model: Path) -> None:
    renamed = model.rename(model.with_name("model.bin"))
    found = frontends.load(str(renamed))
    assert found.stage is Stage.MIR
    assert found.graph.name == "model.bin"
    assert {str(n.origin).split(" ")[0] for n in found.graph.nodes} == {"model.bin"}


def test_load_tells_tflite_by_its_name(model: Path) -> None:
    model.write_bytes(b"\0nothing of the kind")
    with raises(FrontendError):
        frontends.load(model)


def test_load_takes_a_named_format(model: Path) -> None:
    assert frontends.load(model, "tflite").graph.name == "some model"


@pytest.fixture
def own(model: Path) -> Path:
    """The same model as a file of our own, under a name that tells nothing."""
    path = model.with_name("own.bin")
    file.save(frontends.load(model), path)
    return path


def test_load_reads_own_files(model: Path, own: Path) -> None:
    found = frontends.load(own)
    assert structural_hash(found.graph) == structural_hash(frontends.load(model).graph)
    assert frontends.load(own, "rlx").stage is Stage.MIR


def test_load_refuses_weights_without_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(save({"w": np.zeros(3, np.float32)}))
    with raises(FrontendError):
        frontends.load(path, "rlx")


def test_load_keeps_the_limit_of_own_files(own: Path) -> None:
    with raises(FrontendError):
        frontends.load(own, limits=Limits(file_bytes=1000))
    with raises(UsageError):
        frontends.load(own.with_name("gone.rlx"), "rlx")


def test_damaged_own_files_are_refused_or_read(own: Path) -> None:
    data = own.read_bytes()
    accepted = 0
    for seed in range(150):
        own.write_bytes(mutate(data, seed))
        try:
            frontends.load(own)
        except (FrontendError, VerifyError):
            continue
        accepted += 1
    # Everything but the padding is under a checksum.
    assert accepted < 15


def test_load_refuses_an_unknown_format(model: Path) -> None:
    with raises(UsageError):
        frontends.load(model, "pickle")


def test_load_refuses_an_unknown_file(model: Path) -> None:
    model = model.with_name("weights.pkl")
    model.write_bytes(b"\x81\x04")
    with raises(FormatError):
        frontends.load(model)


def test_load_refuses_a_missing_file(tmp_path: Path) -> None:
    with raises(UsageError):
        frontends.load(tmp_path / "gone.tflite")


def test_load_refuses_a_folder(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").mkdir()
    with raises(UsageError):
        frontends.load(tmp_path / "m.tflite")


def test_load_reads_no_more_than_the_limit(model: Path) -> None:
    with raises(FrontendError):
        frontends.load(model, limits=Limits(file_bytes=1000))


@dataclass(frozen=True)
class PluginOptions:
    """Choices of a user."""

    title: str = "untitled"


class Plugin:
    """A frontend from another package."""

    name = "plugin"
    suffixes = (".plug",)
    options = PluginOptions

    def claims(self, start: bytes) -> bool:
        return start.startswith(b"PLUG")

    def load(self, path: Path, options: PluginOptions, limits: Limits) -> GraphModule:
        return GraphModule(Graph(f"{options.title} {path.name} {limits.rank}"), Stage.HIR)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("plugin", f"{__name__}:PLUGIN", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda _: Plugin())
    monkeypatch.setattr(plugins, "entries", lambda group: [entry] if group else [])


@pytest.mark.usefixtures("plugin")
def test_load_asks_plugins(tmp_path: Path) -> None:
    assert frontends.formats()[-1] == "plugin"
    for name, start in (("a.plug", b""), ("b.bin", b"PLUG")):
        (tmp_path / name).write_bytes(start)
        assert frontends.load(tmp_path / name).graph.name == f"untitled {name} 8"
        found = frontends.load(tmp_path / name, options=PluginOptions("t"), limits=Limits(rank=4))
        assert found.graph.name == f"t {name} 4"


@pytest.mark.usefixtures("plugin")
def test_load_refuses_the_options_of_another_format(model: Path) -> None:
    with raises(UsageError):
        frontends.load(model, options=PluginOptions())
