"""The garbage collector rests while a netlist is made, and no longer."""

from __future__ import annotations

import gc

import pytest

from rlx_fpga.garbage import gc_paused


def test_nothing_is_collected_within():
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_errors_let_it_collect_again():
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()


def test_who_collects_nothing_at_all_is_left_alone():
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
