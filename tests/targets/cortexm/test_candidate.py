"""The choice between kernels."""

import pytest

from rlx_cortexm.candidate import FLASH_PRICE, RAM_PRICE, Candidate, Room, choose


def candidate(name, instructions, flash_bytes=0, scratch_bytes=0):
    return Candidate(name, lambda: None, instructions, flash_bytes, scratch_bytes)


def test_the_fewest_instructions_win():
    assert choose([candidate("a", 30), candidate("b", 20), candidate("c", 25)]).name == "b"


def test_less_flash_wins_among_equals_then_the_first():
    assert choose([candidate("a", 8 * FLASH_PRICE), candidate("b", 0, 8)]).name == "a"
    assert choose([candidate("a", 5), candidate("b", 5)]).name == "a"


@pytest.mark.parametrize(("saved", "wanted"), [(10 * FLASH_PRICE - 1, "a"),
                                               (10 * FLASH_PRICE + 1, "b")])  # fmt: skip
def test_flash_must_save_its_price(saved, wanted):
    assert choose([candidate("a", 1000, 90), candidate("b", 1000 - saved, 100)]).name == wanted


def test_scratch_memory_costs_only_what_the_arena_grows():
    both = [candidate("a", 100), candidate("b", 90, scratch_bytes=50)]
    assert choose(both).name == "a"
    free = Room(lambda nbytes: max(nbytes - 49, 0), 1000)
    assert RAM_PRICE < 10
    assert choose(both, free).name == "b"


def test_the_arena_keeps_its_limit():
    both = [candidate("a", 100, scratch_bytes=10), candidate("b", 0, scratch_bytes=50)]
    assert choose(both, Room(lambda nbytes: nbytes, 49)).name == "a"
    # Where nothing fits, the least scratch memory is best.
    assert choose(both, Room(lambda nbytes: nbytes, 9)).name == "a"
