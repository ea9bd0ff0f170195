"""Files in which no weights are found."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from rlx.frontends.weights import WeightStore
from rlx.support.errors import FormatError, FrontendError, UsageError
from support.messages import raises

READS = "; weights are read from .safetensors, .npz, .gguf and .onnx files"


def zipped(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, b"\x80\x02}q\x00.")
    return path


def refused(path):
    with pytest.raises(FormatError) as caught:
        WeightStore.open(path)
    assert caught.value.where == path.name
    assert caught.value.message.endswith(READS)
    return caught.value.message.removesuffix(READS), caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "what", "hint"),
    [
        ("net.bin", b"\x80\x02}q\x00.", "is a Python pickle", "save_file(torch.load('net.bin', "),
        ("net.h5", b"\x89HDF\r\n\x1a\n", "is a Keras model (HDF5)", "np.savez('net.npz', "),
        ("w.npz", b"version https://git-lfs.github.com/spec/v1\n",
         "is a pointer of Git LFS, not the file itself", "git lfs pull"),
        ("w.npy", b"\x93NUMPY\x01\x00", "is a NumPy array", "with numpy.savez, or "),
        ("w.dat", bytes(range(40)), "nothing shows what it is", "with numpy.savez, or "),
    ],
)  # fmt: skip
def test_other_formats_are_named(tmp_path, name, content, what, hint):
    path = tmp_path / name
    path.write_bytes(content)
    message, found = refused(path)
    assert message == what
    assert hint in found


def test_archives_without_arrays(tmp_path):
    members = "archive/data.pkl", "archive/data/0", "archive/version"
    message, hint = refused(zipped(tmp_path / "net.pt", *members))
    assert message == "is a PyTorch state dict"
    assert hint.endswith("torch.load('net.pt', weights_only=True), 'net.safetensors')")
    message, hint = refused(zipped(tmp_path / "net.keras", "config.json", "metadata.json"))
    assert message == "is a Keras model (.keras)"
    assert "np.savez('net.npz', **{v.path: v.numpy() for v in model.weights})" in hint
    assert refused(zipped(tmp_path / "other.npz"))[0] == "is a zip archive"


def test_an_empty_file(tmp_path):
    (tmp_path / "w.npz").touch()
    with raises(FrontendError):
        WeightStore.open(tmp_path / "w.npz")


def test_the_content_counts_not_the_name(tmp_path):
    save_file({"w": np.ones(2)}, tmp_path / "weights.bin")
    assert list(WeightStore.open(tmp_path / "weights.bin")) == ["w"]
    np.savez(tmp_path / "arrays.npz", w=np.ones(2))
    (tmp_path / "arrays.npz").rename(tmp_path / "arrays.dat")
    assert list(WeightStore.open(tmp_path / "arrays.dat")) == ["w"]
    with raises(UsageError):
        WeightStore.open(tmp_path / "gone.npz")
