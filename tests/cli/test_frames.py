"""Numbers of frames that there are not, and frames that test nothing."""

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.support.errors import UsageError

WARNING = "warning: all 3 vectors have the same outputs, so a program that ignores its input"


@pytest.fixture(scope="module")
def emitted(tmp_path_factory, digits_model):
    folder = tmp_path_factory.mktemp("frames") / "out"
    rlx.emit(digits_model, "cortexm", folder, frames=2)
    return folder


def vectors(path, *levels):
    frames = [np.full((1, 8, 8, 1), level, np.int8) for level in levels]
    np.savez(path, image=np.stack(frames))
    return path


def test_more_frames_than_a_folder_holds_are_refused(emitted, capsys):
    assert main(["verify", str(emitted), "--with", "host", "--frames", "99"]) == 2
    assert capsys.readouterr().err == (
        f"error[RLX-E001]: {emitted}: 99 frames requested, but it holds 2\n"
        "  try: request at most 2, or emit it with more frames\n"
    )
    with pytest.raises(UsageError, match="3 frames requested, but it holds 2\n"):
        rlx.verify(emitted, tools="host", frames=3)


@pytest.mark.parametrize("command", ["run", "emit"])
def test_more_frames_than_samples_are_refused(tmp_path, digits_model, capsys, command):
    path = str(vectors(tmp_path / "x.npz", 1, 2))
    more = {
        "run": ["--input", path],
        "emit": ["--vectors", path, "--target", "cortexm", "-o", str(tmp_path / "out")],
    }[command]
    assert main([command, str(digits_model), *more, "--frames", "3"]) == 2
    assert "input 'image': 3 frames requested, but it holds 2\n" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([command, str(digits_model), *more, "--frames", "2"]) == 0


@pytest.mark.parametrize(("levels", "warned"), [((5, 5, 5), True), ((-128, 0, 127), False)])
def test_vectors_with_the_same_outputs_are_warned_of(
    tmp_path, digits_model, capsys, levels, warned
):
    path = vectors(tmp_path / "x.npz", *levels)
    arguments = [digits_model, "--target", "cortexm", "--vectors", path, "-o", tmp_path / "out"]
    assert main(["emit", *map(str, arguments)]) == 0
    assert (WARNING in capsys.readouterr().err) is warned
