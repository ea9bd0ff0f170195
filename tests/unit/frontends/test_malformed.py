"""Files of the malformed list: refused with code, place and remedy, or accepted for a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from malformed import CASES, Accepted

from rlx import frontends
from rlx.support.errors import RlxError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", CASES)
def test_is_refused_with_place_and_remedy_or_accepted(name: str, tmp_path: Path) -> None:
    # The format is named: by its content a file of the list may be of another one.
    suffix, case = CASES[name]
    path = tmp_path / f"m{suffix}"
    path.write_bytes(case.make())
    if isinstance(case, Accepted):
        assert case.reason
        assert frontends.load(path, suffix[1:]).graph.outputs
        return
    with pytest.raises(RlxError) as caught:
        frontends.load(path, suffix[1:])
    error = caught.value
    assert type(error) is case.error
    assert error.where == f"m{suffix}: {case.place}"
    assert error.message.startswith(case.message)
    assert error.message.replace("\n", "").isprintable()
    assert error.hint


def test_the_list_is_long() -> None:
    assert len(CASES) >= 250
    assert sum(suffix == ".rlx" for suffix, _ in CASES.values()) >= 40
