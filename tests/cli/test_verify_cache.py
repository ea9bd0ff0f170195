"""``rlx verify`` of what has not changed takes the result of the earlier run, and says so."""

import hashlib
import json
import shutil

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.support.process import program

pytestmark = [pytest.mark.qemu, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path, digits_model):
    out = tmp_path / "c"
    rlx.emit(digits_model, "cortexm", out, frames=2)
    with rlx.config.override(cache=tmp_path / "cache"):
        yield out


def verify(capsys, *arguments):
    status = main(["verify", *map(str, arguments), "--with", "host", "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_the_second_run_starts_no_program_but_for_versions(folder, capsys, monkeypatch):
    status, first = verify(capsys, folder)
    assert status == 0
    assert "cached" not in first
    monkeypatch.setattr(program, "_start", None)  # versions are known in this process
    status, second = verify(capsys, folder)
    assert status == 0
    assert second.pop("cached").endswith(" UTC")
    assert second == first
    assert main(["verify", str(folder), "--with", "host"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(from the cache, ran 20" in shown
    assert "--no-cache runs it again)" in shown


def test_whatever_it_depends_on_makes_it_run_again(folder, capsys, monkeypatch):
    assert "cached" not in verify(capsys, folder)[1]
    assert "cached" in verify(capsys, folder)[1]
    assert "cached" not in verify(capsys, folder, "--no-cache")[1]
    assert "cached" not in verify(capsys, folder, "--frames", "1")[1]
    with monkeypatch.context() as other:
        other.setattr("rlx.driver.verification.repeat.__version__", "9.9.9")
        assert "cached" not in verify(capsys, folder)[1]
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    assert "cached" in verify(capsys, copy)[1]
    (folder / "src" / "digits.c").write_text("int x;\n", encoding="utf-8")
    assert main(["verify", str(folder), "--with", "host"]) == 2
    assert "differs from the manifest" in capsys.readouterr().err


def test_what_failed_is_run_again(folder, capsys):
    path = folder / "golden" / "output_0.npy"
    wrong = np.load(path)
    wrong.flat[0] ^= 1
    np.save(path, wrong)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["golden/output_0.npy"] = {
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for _ in range(2):
        status, report = verify(capsys, folder)
        assert status == 1
        assert "cached" not in report
