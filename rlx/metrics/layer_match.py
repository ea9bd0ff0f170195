"""Matching of the layers of two versions of a network."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

L = TypeVar("L")


def matched_runs(
    old: Sequence[L], new: Sequence[L], key: Callable[[L], tuple[str, str]]
) -> Iterator[tuple[Sequence[L], Sequence[L]]]:
    """Yield all layers of both versions in order, as runs that belong together.

    Layers are matched as lines of a text are: a pair of runs is equal in every key, or it is the
    run of one version that replaces a run of the other; either run may be empty.

    Args:
        old: Layers of the first version.
        new: Layers of the second one.
        key: Gives the op of a layer, and its name in the model.
    """
    keys = [[key(one) for one in layers] for layers in (old, new)]
    if not set(keys[0]) & set(keys[1]):  # another training results in other names
        keys = [[(op, "") for op, _ in names] for names in keys]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for _, first, last, begin, end in matcher.get_opcodes():
        yield old[first:last], new[begin:end]
