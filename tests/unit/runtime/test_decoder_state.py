"""A small transformer token by token, with its cache as states, against all tokens at once."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.runtime import CompiledGraph, Session
from support.networks.decoder import SENTENCE, TOKENS, step, whole


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return Session().compile(whole()).run({"tokens": SENTENCE})[0]


@pytest.fixture
def compiled() -> CompiledGraph:
    return Session().compile(step())


def scores(compiled: CompiledGraph, count: int, begin: int = 0) -> np.ndarray:
    """Return the scores for the next ``count`` tokens of the sentence."""
    place = compiled.output_names.index("scores")
    tokens = SENTENCE[begin : begin + count, np.newaxis]
    return np.concatenate([compiled.run_slots(token)[place].copy() for token in tokens])


def test_two_hundred_steps_are_one_pass(compiled, expected):
    found = scores(compiled, TOKENS)
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert compiled.read_state("position").tolist() == [TOKENS]


def test_a_state_is_read_and_bound_again(compiled, expected):
    """A run goes on from states that were stored in the middle."""
    first = scores(compiled, 50)
    stored = {name: compiled.read_state(name) for name in compiled.state_names}
    scores(compiled, 20, 50)
    for name, value in stored.items():
        compiled.bind_state(name, value)
    both = np.concatenate([first, scores(compiled, 50, 50)])
    np.testing.assert_allclose(both, expected[:100], atol=1e-5, rtol=0)


def test_clones_decode_sentences_of_their_own(compiled, expected):
    scores(compiled, 10)
    clone = compiled.clone()
    compiled.reset_state()
    np.testing.assert_allclose(scores(compiled, 5), expected[:5], atol=1e-5, rtol=0)
    np.testing.assert_allclose(scores(clone, 5, 10), expected[10:15], atol=1e-5, rtol=0)


def test_caches_are_written_in_place(compiled):
    plan = compiled._programs[()].lowered.module.plan
    assert not plan.copies
    scores(compiled, 1)
    program = compiled._programs[()].program
    for name, array in program.states.items():
        place = compiled.output_names.index(name)
        assert np.shares_memory(program.outputs[place], array)
