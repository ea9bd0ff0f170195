"""Instruction sets: those of this machine, the fastest first, and names that it lacks."""

from __future__ import annotations

from rlx.support.errors import UsageError
from rlx_host import instruction_set
from rlx_host.instruction_set import INSTRUCTION_SETS, available, find
from support.messages import raises


def test_the_portable_one_is_everywhere_and_last():
    assert available()[-1].name == "scalar"
    assert find(None) is available()[0]


def test_every_one_is_found_by_name():
    assert [find(one.name) for one in available()] == list(available())


def test_one_that_the_machine_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(instruction_set, "available", lambda: INSTRUCTION_SETS[-1:])
    with raises(UsageError):
        find("avx2")
