"""Makefiles of others emit networks by ``rlx.mk``."""

from __future__ import annotations

import pytest

from rlx.support.process import run
from support import require_program

TIMEOUT_S = 120


@pytest.fixture
def make(project, environment):
    """Return the project's folder, and a function that runs make there and returns its outputs."""
    folder = project("make")
    program = require_program("make")

    def call(*arguments, check=True):
        done = run(
            [program, *arguments], cwd=folder, timeout_s=TIMEOUT_S, env=environment, check=check
        )
        return done.stdout + done.stderr

    return folder, call


@pytest.mark.slow
def test_network_is_emitted_when_it_changes_and_only_then(make, printed):
    folder, call = make
    assert "emit --target cortexm" in call()
    assert run([folder / "product"], timeout_s=10).stdout == printed
    assert call() == ""
    (folder / "kws.rlx").touch()
    said = call()
    assert "emit --target cortexm" in said
    assert " -o product" not in said  # nothing changed
    assert call() == ""
    options = "OPTIONS=--self-test 1 --self-check --static-arena --package-version '1.2.3'"
    said = call(options)
    assert "emit --target cortexm" in said
    assert "kws_self_test.c" in said
    assert "kws_arena.c" in said
    assert "kws_self_check.c" in (folder / "rlx" / "kws_constants.c").read_text()
    assert run([folder / "product"], timeout_s=10).stdout == printed
    assert call(options) == ""


def test_messages_of_rlx_stop_make(make):
    folder, call = make
    said = call("RAM=100", check=False)
    assert "error[RLX-E112]: digits: over the memory budget" in said
    assert "  try: use --ram 456" in said
    assert not (folder / "product").exists()
