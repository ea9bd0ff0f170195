"""The examples that ship: the list is complete, the files are what they say, copies are whole."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.support.errors import OutputError, UsageError
from rlx.support.files.shipped import copy, example, examples
from support import ROOT
from support.files.tflite_builder import run_tflm

sys.path.insert(0, str(ROOT / "tests" / "examples"))
from make_tflite import DIGITS, digits_tflite

from support.messages import raises

sys.path.pop(0)


def tracked(folder: str) -> set[str]:
    """Return the files that git knows under ``folder``, by path in it."""
    done = subprocess.run(
        ["git", "ls-files", "."], cwd=ROOT / folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines())


def test_every_folder_is_listed():
    folders = {name.partition("/")[0] for name in tracked("examples") if "/" in name}
    assert set(examples()) == folders


@pytest.mark.parametrize("name", examples())
def test_an_example_has_a_summary_and_its_omitted_files(name):
    chosen = example(name)
    assert 20 < len(chosen.summary) < 100
    assert chosen.summary.endswith(".")
    assert all((chosen.folder / file).is_file() for file in chosen.omitted)
    assert all(companion in examples() for companion in chosen.companions)


@pytest.mark.parametrize("name", examples())
def test_a_copy_has_every_file_that_is_of_use(name, tmp_path):
    made = copy(name, tmp_path)
    assert made[0] == tmp_path / name
    assert [p.name for p in made] == [name, *example(name).companions]
    for path in made:
        found = {p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()}
        assert found == tracked(f"examples/{path.name}") - set(example(path.name).omitted)


def test_a_copy_leaves_what_is_there(tmp_path):
    (tmp_path / "digits").mkdir()
    assert copy("regression_tests", tmp_path) == [tmp_path / "regression_tests"]
    with raises(OutputError):
        copy("digits", tmp_path)
    (tmp_path / "file").touch()
    with raises(OutputError):
        copy("digits", tmp_path / "file")


def test_unknown_names_get_a_suggestion():
    with raises(UsageError):
        example("firmware")
    with raises(UsageError):
        example("xyz")


def test_the_samples_are_the_held_out_digits_as_the_network_takes_them():
    pytest.importorskip("sklearn")
    from examples.digits import train

    with np.load(DIGITS / "samples.npz") as found:
        wanted = train.samples()
        assert set(found) == set(wanted)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
        assert found["image"].dtype == np.int8


def test_the_onnx_files_are_what_their_script_makes(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("sklearn")
    folder = ROOT / "examples" / "onnx_to_firmware"
    onnx.checker.check_model(folder / "digits.onnx", full_check=True)
    from examples.digits.train import HELD_OUT, digits

    images, labels = digits()
    with np.load(folder / "test.npz") as test, np.load(folder / "calib.npz") as calib:
        assert np.array_equal(test["labels"], labels[-HELD_OUT:])
        assert np.array_equal(test["image"].ravel(), images[-HELD_OUT:].ravel())
        assert np.array_equal(calib["image"].ravel(), images[:200].ravel())


def test_the_tflite_file_is_the_same_network():
    graph = rlx.load(DIGITS / "digits.rlx").graph
    data = (DIGITS / "digits.tflite").read_bytes()
    assert data == digits_tflite(graph)
    read = rlx.load(DIGITS / "digits.tflite").graph
    with np.load(DIGITS / "samples.npz") as samples:
        for image in samples["image"][:8]:
            (wanted,) = evaluate(graph, {"image": image})
            (found,) = evaluate(read, {"image": image})
            (oracle,) = run_tflm(data, image)
            assert np.array_equal(found, wanted)
            assert np.array_equal(oracle, wanted)
