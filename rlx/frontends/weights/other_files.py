"""Files that hold weights in a form that is not read: their kinds, and hints for a conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.frontends.foreign import foreign, hints
from rlx.frontends.weights.weight import shown
from rlx.support.errors import FormatError, FrontendError

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.errors import RlxError

READS: Final = "weights are read from .safetensors, .npz, .gguf and .onnx files"

_TORCH: Final = """write them in Python as safetensors:
import torch
from safetensors.torch import save_file
save_file(torch.load('{name}', weights_only=True), '{stem}.safetensors')"""

_KERAS: Final = """load them into the network in Python, and write its arrays:
import numpy as np
np.savez('{stem}.npz', **{{v.path: v.numpy() for v in model.weights}})"""

_OTHER: Final = "write them in Python with numpy.savez, or with save_file of safetensors"

_HINTS: Final = {
    hints.STATE_DICT: _TORCH,
    hints.TORCH: _TORCH,
    hints.PICKLE: _TORCH,
    hints.KERAS: _KERAS,
    hints.KERAS_WEIGHTS: _KERAS,
    hints.GIT_LFS: hints.GIT_LFS,
    hints.HTML: hints.HTML,
}
"""Hints where weights were asked for, by the hint of a kind of file where a model was."""


def refuse(path: Path) -> RlxError:
    """Return the error for a file in which no weights are found.

    Raises:
        UsageError: It cannot be read.
    """
    where = shown(path)
    if path.stat().st_size == 0:
        return FrontendError("the file is empty", where=where, hint="copy or download it again")
    kind = foreign.kind_of(path)
    if kind is None:
        return FormatError(f"nothing shows what it is; {READS}", where=where, hint=_OTHER)
    hint = _HINTS.get(kind.hint, _OTHER)
    if hint in (_TORCH, _KERAS):
        hint = hint.format(name=where, stem=where.removesuffix(path.suffix) or where)
    what = kind.what.partition(":")[0]
    return FormatError(f"is {what}; {READS}", where=where, hint=hint)
