"""Compilation without the search for reference cycles."""

from __future__ import annotations

import gc
import threading

import pytest

import rlx
from rlx.passes import Policies
from rlx.runtime import CompileOptions, Session
from rlx.runtime.garbage import uncollected
from rlx.support.errors import UnsupportedOpError


@pytest.fixture(autouse=True)
def collecting():
    """Leave the search as it was."""
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


def negated() -> rlx.Graph:
    return rlx.trace("negated", lambda x: (-x).softmax(-1), rlx.f32(2))


def test_the_search_is_off_in_the_block_only():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), uncollected():
        _ = 1 / 0
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def test_threads_leave_it_on():
    begun, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with uncollected():
            begun.set()
            assert go_on.wait(10)

    thread = threading.Thread(target=other)
    with uncollected():
        thread.start()
        assert begun.wait(10)
    assert gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled()


def test_compilation_searches_nothing(monkeypatch):
    found = []
    lower = rlx.runtime.compilations.lower

    def watched(*args, **options):
        found.append(gc.isenabled())
        return lower(*args, **options)

    monkeypatch.setattr(rlx.runtime.compilations, "lower", watched)
    Session().compile(negated())
    assert (found, gc.isenabled()) == ([False], True)
    options = CompileOptions(policies=Policies.parse(["native"]))
    with pytest.raises(UnsupportedOpError):
        Session().compile(negated(), options)
    assert gc.isenabled()
