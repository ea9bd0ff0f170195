"""Kinds of files that rlx does not read, by their content, and their conversion to ONNX.

Nothing in a file is executed or unpickled, and no more of it is read than its two ends. The names
of files in a zip archive are found by their signatures, so that a damaged archive is named too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from rlx.frontends.foreign import hints
from rlx.frontends.foreign.folders import folder_hint, folder_kind
from rlx.frontends.reading import read_end, read_start
from rlx.support.errors import FormatError, UsageError
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.support.errors import RlxError

READS: Final = "rlx reads TFLite, ONNX and its own .rlx files"

_START_BYTES: Final = 64 << 10
"""Bytes at the start of a file that are looked at."""
_END_BYTES: Final = 256 << 10
"""Bytes at the end of a zip archive, which holds the list of its files."""
_MAX_NAME_BYTES: Final = 512
"""Bytes of a name in an archive; longer ones are passed over."""
_MAX_MEMBERS: Final = 10_000
"""Names of an archive that are looked at."""

# Entries of a zip archive: the signature and the number of bytes between it and the name's length,
# and between the length and the name. One is before each file, the other in the list at the end.
_ZIP_ENTRY: Final = re.compile(rb"PK\x03\x04.{22}(..)..|PK\x01\x02.{24}(..).{16}", re.DOTALL)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CORE_ML: Final = re.compile(rb"\x08[\x01-\x14]\x12([\x80-\xff][\x01-\x7f]|[\x02-\x7f])\x0a")
_NUMBERS_AND_COMMAS: Final = re.compile(r"[^,;\t\n]*([,;\t][^,;\t\n]*)+\n")


@dataclass(frozen=True, slots=True)
class Sample:
    """Sample of a file, by which its kind is found.

    Attributes:
        start: Its first bytes, at most 64 KiB.
        members: Names of files in it, if it is a zip archive.
        name: Its name.
    """

    start: bytes
    members: tuple[str, ...]
    name: str

    def holds(self, *words: bytes) -> bool:
        """Return whether one of ``words`` is in the first bytes."""
        return any(word in self.start for word in words)

    def has_member(self, pattern: str) -> bool:
        """Return whether the name of a file in the archive matches a pattern from its begin."""
        return any(re.match(pattern, name) for name in self.members)

    @property
    def suffix(self) -> str:
        """End of the name with the dot, in lower case."""
        return PurePath(self.name).suffix.lower()

    @property
    def text(self) -> str | None:
        """The first bytes as text; None if they are none."""
        if not self.start or _CONTROL.search(self.start):
            return None
        # The last character may be cut.
        return self.start.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Attributes:
        what: Its name in a message, with the article.
        hint: Hint for the user, with ``{name}`` and ``{stem}`` for the file's name as Python text.
        matches: Whether a file is of this kind.
    """

    what: str
    hint: str
    matches: Callable[[Sample], bool]


def _begins(*starts: bytes) -> Callable[[Sample], bool]:
    return lambda s: s.start.startswith(starts)


def _is_keras_weights(sample: Sample) -> bool:
    named = sample.name.lower().endswith((".weights.h5", "_weights.h5"))
    return sample.start.startswith(_HDF5) and named and not sample.holds(b"model_config")


def _is_keras_hdf5(sample: Sample) -> bool:
    keras = sample.holds(b"keras_version", b"model_config", b"layer_names")
    return sample.start.startswith(_HDF5) and (keras or sample.suffix in (".h5", ".keras"))


def _is_state_dict(sample: Sample) -> bool:
    """Return whether a PyTorch archive's first object is a table of tensors, by its first bytes."""
    at = sample.start.find(b"\x80\x02", 0, 4096)
    object_ = sample.start[at + 2 : at + 40] if at >= 0 else b""
    # A dictionary, plain or ordered; anything else is an object of the user's own classes.
    return _is_torch(sample) and object_.startswith((b"}", b"ccollections\nOrderedDict\n"))


def _is_torch(sample: Sample) -> bool:
    return sample.has_member(r"[^/]+/data\.pkl$")


def _is_torchscript(sample: Sample) -> bool:
    return sample.has_member(r"[^/]+/(code/|constants\.pkl$)") and sample.has_member(
        r"[^/]+/(data|constants)\.pkl$"
    )


def _is_exported_program(sample: Sample) -> bool:
    return sample.has_member(
        r"([^/]+/)?(serialized_exported_program\.json|models/[^/]+\.json|archive_format)$"
    )


def _is_frozen_graph(sample: Sample) -> bool:
    """Return whether a file begins with a node of a TensorFlow GraphDef: a name, then an op."""
    start = sample.start
    if start[:1] != b"\x0a":
        return False
    at = 3 if start[1:2] >= b"\x80" else 2  # after the node's length
    name = int.from_bytes(start[at + 1 : at + 2])
    op = start[at + 2 + name : at + 4 + name]
    if start[at : at + 1] != b"\x0a" or op[:1] != b"\x12" or len(op) < 2:
        return False
    return start[at + 4 + name : at + 4 + name + op[1]].isalnum()


def begins_like_core_ml(start: bytes) -> bool:
    """Return whether bytes are those of Core ML: a version, then a description with its inputs.

    ONNX may begin in the same way, but has the name of a program where Core ML has inputs.
    """
    return _CORE_ML.match(start) is not None


def _is_text(sample: Sample) -> bool:
    return sample.text is not None


def _is_csv(sample: Sample) -> bool:
    text = sample.text
    return text is not None and (
        sample.suffix in (".csv", ".tsv") or _NUMBERS_AND_COMMAS.match(text) is not None
    )


def _is_html(sample: Sample) -> bool:
    return sample.start[:512].lstrip().lower().startswith((b"<!doctype html", b"<html"))


_HDF5: Final = b"\x89HDF\r\n\x1a\n"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_TORCH: Final = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"
_PICKLES: Final = tuple(bytes((0x80, protocol)) for protocol in (2, 3, 4, 5))
_IMAGES: Final = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*")

KINDS: Final = (
    FileKind("a file of Keras weights (HDF5) without the network", hints.KERAS_WEIGHTS,
         _is_keras_weights),
    FileKind("a Keras model (HDF5)", hints.KERAS, _is_keras_hdf5),
    FileKind("an HDF5 file", hints.ARRAYS_OR_MODEL, _begins(_HDF5)),
    FileKind(
        "a Keras model (.keras)",
        hints.KERAS,
        lambda s: s.has_member(r"config\.json$") and s.has_member(r"metadata\.json$"),
    ),
    FileKind("a program of torch.export (.pt2)", hints.EXPORTED_PROGRAM, _is_exported_program),
    FileKind("a TorchScript model", hints.TORCHSCRIPT, _is_torchscript),
    FileKind("a PyTorch state dict: weights without the network", hints.STATE_DICT, _is_state_dict),
    FileKind("a PyTorch file", hints.TORCH, _is_torch),
    FileKind("a PyTorch file of the form before 1.6", hints.TORCH, _begins(_OLD_TORCH)),
    FileKind("a file of NumPy arrays", hints.ARRAYS, lambda s: s.has_member(r".*\.npy$")),
    FileKind("a NumPy array", hints.ARRAYS, _begins(b"\x93NUMPY")),
    FileKind("a zip archive", hints.ZIP, _begins(*_ZIP)),
    FileKind("a Python pickle", hints.PICKLE, _begins(*_PICKLES)),
    FileKind("a TensorFlow SavedModel without its folder", hints.SAVED_MODEL_FILE,
         _begins(b"\x08\x01\x12")),
    FileKind("a frozen TensorFlow graph", hints.FROZEN_GRAPH, _is_frozen_graph),
    FileKind("a GGUF language model", hints.LANGUAGE_MODEL, _begins(b"GGUF")),
    FileKind("a Core ML model", hints.COMPILED, lambda s: begins_like_core_ml(s.start)),
    FileKind("an ONNX Runtime model (.ort)", hints.COMPILED, lambda s: s.start[4:8] == b"ORTM"),
    FileKind("an ncnn model", hints.COMPILED, _begins(b"7767517\n")),
    FileKind("an OpenVINO model", hints.COMPILED,
         lambda s: _is_text(s) and s.holds(b"<net ") and s.holds(b"<layers")),
    FileKind("a TensorFlow.js model", hints.TENSORFLOW_JS,
         lambda s: _is_text(s) and s.holds(b'"modelTopology"')),
    FileKind("a pointer of Git LFS, not the file itself", hints.GIT_LFS,
         _begins(b"version https://git-lfs.github.com/spec/")),
    FileKind("a web page (HTML)", hints.HTML, _is_html),
    FileKind("a gzip archive", hints.PACKED, _begins(b"\x1f\x8b")),
    FileKind("an xz archive", hints.PACKED, _begins(b"\xfd7zXZ\0")),
    FileKind("a bzip2 archive", hints.PACKED, _begins(b"BZh")),
    FileKind("a Zstandard archive", hints.PACKED, _begins(b"\x28\xb5\x2f\xfd")),
    FileKind("a 7-Zip archive", hints.PACKED, _begins(b"7z\xbc\xaf\x27\x1c")),
    FileKind("a tar archive", hints.PACKED, lambda s: s.start[257:262] == b"ustar"),
    FileKind("an image", hints.SAMPLES, _begins(*_IMAGES)),
    FileKind("a sound file", hints.SAMPLES,
         lambda s: s.start[:4] == b"RIFF" and s.start[8:12] == b"WAVE"),
    FileKind("a program", hints.PROGRAM, _begins(b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe")),
    FileKind("a Python program", hints.PYTHON, lambda s: s.suffix == ".py" and _is_text(s)),
    FileKind("a table of numbers (CSV)", hints.SAMPLES, _is_csv),
    FileKind("a text file", hints.OTHER, _is_text),
)  # fmt: skip
"""The kinds that are recognised; the first that matches counts."""

_WEIGHTS: Final = FileKind(
    "a file of weights (safetensors) without the network", hints.SAFETENSORS, lambda _: True
)


def kind_of(path: Path) -> FileKind | None:
    """Return the kind of a file that rlx does not read, by its content; None if that is not known.

    Raises:
        UsageError: It cannot be read.
    """
    start = read_start(path, _START_BYTES)
    members: tuple[str, ...] = ()
    if start.startswith(_ZIP):
        members = _members(start) + _members(read_end(path, _END_BYTES))
    sample = Sample(start, members, path.name)
    return next((kind for kind in KINDS if kind.matches(sample)), None)


def is_weights(path: Path) -> bool:
    """Return whether a safetensors file holds no graph of rlx, as far as its first bytes show.

    Raises:
        UsageError: It cannot be read.
    """
    start = read_start(path, _START_BYTES)
    size = int.from_bytes(start[:8], "little")
    # Those of rlx have their metadata at the start. The reader reports a truncated file.
    return start[8:10] == b'{"' and b'"rlx"' not in start and 8 + size <= path.stat().st_size


def refuse(path: Path, kind: FileKind) -> RlxError:
    """Return the error for a file of a kind that rlx does not read."""
    return _error(path, kind.what, kind.hint)


def refuse_weights(path: Path) -> RlxError:
    """Return the error for a safetensors file that holds no graph of rlx."""
    return refuse(path, _WEIGHTS)


def refuse_folder(path: Path) -> RlxError:
    """Return the error for a folder that was passed as a model."""
    kind = folder_kind(path)
    if kind is not None:
        return _error(path, *kind)
    return UsageError("is a folder, not a model file", where=_shown(path), hint=folder_hint(path))


def _error(path: Path, what: str, hint: str) -> FormatError:
    name = shorten(printable(path.name))
    stem = name.removesuffix(path.suffix) or name
    filled = hint.replace("{name}", name).replace("{stem}", stem)
    return FormatError(f"is {what}; {READS}", where=_shown(path), hint=filled)


def _shown(path: Path) -> str:
    return shorten(printable(path.name or str(path)))


def _members(data: bytes) -> tuple[str, ...]:
    """Return the names of files in a part of a zip archive."""
    names: list[str] = []
    for match in _ZIP_ENTRY.finditer(data):
        size = int.from_bytes(match[1] or match[2], "little")
        if 0 < size <= _MAX_NAME_BYTES and len(names) < _MAX_MEMBERS:
            names.append(data[match.end() : match.end() + size].decode("utf-8", errors="replace"))
    return tuple(names)
