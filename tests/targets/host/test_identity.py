"""Text that identifies generated C: equal in every process, and different for different code."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import pytest

from rlx_host import identity
from rlx_host.identity import canonical, generator_digest


class Form(Enum):
    NARROW = 1
    WIDE = 2


@dataclass(frozen=True)
class Block:
    first: int
    form: Form


@dataclass(frozen=True)
class Other:
    first: int
    form: Form


CONSTANTS = (
    None, False, 0, 0.0, -0.0, "0", b"0", (), (0,), ((0,),), (0, 0), ("0, 0",), frozenset({0}),
    Form.NARROW, Form.WIDE, Block(0, Form.WIDE), Block(0, Form.NARROW), Other(0, Form.WIDE),
    (Block(0, Form.WIDE), 1), "Form.WIDE", 0.1, 0.1 + 2**-53,
)  # fmt: skip


def test_different_constants_have_different_texts():
    for a, b in combinations(CONSTANTS, 2):
        assert canonical(a) != canonical(b), (a, b)


def test_sets_have_one_text_in_every_process():
    program = (
        "from rlx_host.identity import canonical;"
        "print(canonical((frozenset({'floats', 'softmax', 'tile_1_2', 'inputs'}), 1)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert texts == {b"({'floats','inputs','softmax','tile_1_2'},1)\n"}


def test_constants_without_a_fixed_text_are_an_error():
    with pytest.raises(TypeError, match=r"got object$"):
        canonical((1, object()))


def test_a_changed_template_is_another_generator(tmp_path, monkeypatch):
    (tmp_path / "host").mkdir()
    template = tmp_path / "host" / "program.c.j2"
    monkeypatch.setattr(identity, "template_root", lambda: tmp_path)
    digests = []
    for text in ("int a;", "int b;", "int a;"):
        template.write_text(text)
        digests.append(generator_digest.__wrapped__())
    assert digests[0] == digests[2] != digests[1]
