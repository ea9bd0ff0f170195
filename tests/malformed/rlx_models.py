"""A sound ``.rlx`` file, and files that differ from it in one place."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

import rlx.ops  # noqa: F401 - a file holds ops
from malformed.tflite_models import sound_model
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.file import to_file_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

Change = "Callable[[dict[str, Any], dict[str, Any]], object]"


@functools.cache
def sound_file() -> bytes:
    """Return the file of the sound model: input, conv, pool, reshape, dense, softmax."""
    return to_file_bytes(tflite.load(sound_model(), name="sound.tflite"))


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the JSON of a file."""
    length = int.from_bytes(data[:8], "little")
    content = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["rlx"])
    return load_tensors(data), content


def joined(tensors: dict[str, Any], content: dict[str, Any], *, seal: bool = True) -> bytes:
    """Return the file of tensors and JSON, by default with a checksum that is right."""
    if seal:
        digest = hashlib.sha256(json.dumps(content["document"], sort_keys=True).encode())
        for name in sorted(tensors, key=lambda n: int(n.partition(".")[2])):
            digest.update(tensors[name].tobytes())
        content["sha256"] = digest.hexdigest()
    return save_tensors(tensors, metadata={"rlx": json.dumps(content)})


def changed(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """Return the sound file after ``change(tensors, document)``, sealed again."""
    tensors, content = parts(sound_file())
    change(tensors, content["document"])
    return joined(tensors, content)


def edited(*path: Any, value: Any) -> bytes:
    """Return the sound file with the place ``path`` of its document set to ``value``."""

    def change(_: Any, document: Any) -> None:
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return changed(change)


def op(name: str, *path: Any, value: Any) -> bytes:
    """Return the sound file with an attribute of the first op called ``name`` changed."""
    return edited("nodes", index_of(name), "op", *path, value=value)


def index_of(name: str) -> int:
    """Return the number of the first node whose op is called ``name``."""
    _, content = parts(sound_file())
    return [n["op"]["@"] for n in content["document"]["nodes"]].index(name)


def metadata(text: str) -> bytes:
    """Return a file without tensors whose description is ``text``."""
    return save_tensors({}, metadata={"rlx": text})


def resealed(**fields: Any) -> bytes:
    """Return the sound file with fields beside the document changed."""
    tensors, content = parts(sound_file())
    content.update(fields)
    return joined(tensors, content, seal=False)
