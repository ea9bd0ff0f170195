"""The choice of kernels for all layers together."""

import pytest
from targets.cortexm.graph_builder import GraphBuilder, planned
from targets.cortexm.kernel_graphs import RELU

from rlx_c.candidate import Candidate
from rlx_c.choice import OBJECTIVES, MemoryLimits, Need, Objective, choose, flash_bytes
from rlx_c.layer import Kernel
from rlx_cortexm.code_size import code_bytes, code_sizes
from rlx_cortexm.program import KernelSettings, program

PRICES = Objective(flash=10, ram=8)


def candidate(name, instructions, table_bytes=0, scratch_bytes=0, tables=None):
    return Candidate(name, None, lambda: None, instructions, table_bytes, scratch_bytes, tables)


def chosen(*layers, arena=0, objective=PRICES, free=0, **limits):
    """Return the names of what is chosen; ``free`` bytes of scratch memory are there anyway."""
    needs = [Need(layer, lambda nbytes: arena + max(nbytes - free, 0)) for layer in layers]
    found = choose(needs, arena, objective, MemoryLimits(**limits), code_sizes)
    return None if found is None else [c.name for c in found]


def test_the_fewest_instructions_win():
    assert chosen([candidate("a", 30), candidate("b", 20), candidate("c", 25)]) == ["b"]


@pytest.mark.parametrize(("saved", "wanted"), [(99, "a"), (101, "b")])
def test_flash_must_save_its_price(saved, wanted):
    both = [candidate("a", 1000, 90), candidate("b", 1000 - saved, 100)]
    assert chosen(both) == [wanted]
    assert chosen(both, objective=OBJECTIVES["speed"]) == ["b"]
    assert chosen(both, objective=OBJECTIVES["size"]) == ["a"]


def test_scratch_memory_costs_only_what_the_arena_grows():
    both = [candidate("a", 100), candidate("b", 90, scratch_bytes=50)]
    assert chosen(both) == ["a"]
    assert chosen(both, free=49) == ["b"]
    assert chosen(both, objective=OBJECTIVES["ram"], free=49) == ["a"]


def test_what_one_layer_pays_for_another_has():
    layer = [candidate("a", 500), candidate("b", 0, scratch_bytes=100)]
    assert chosen(layer) == ["a"]
    assert chosen(layer, layer) == ["b", "b"]


def test_the_arena_keeps_its_limit_or_grows_by_a_share():
    both = [candidate("a", 10**6, scratch_bytes=10), candidate("b", 0, scratch_bytes=5000)]
    assert chosen(both, ram=5000) == ["b"]
    assert chosen(both, ram=4999) == ["a"]
    assert chosen(both, ram=9) is None
    assert chosen(both) == ["a"]
    assert chosen(both, arena=40_000) == ["b"]
    assert chosen(both, objective=OBJECTIVES["speed"]) == ["b"]


def test_a_limit_of_flash_is_kept_at_the_lowest_cost_in_instructions():
    first = [candidate("a", 0, 100), candidate("b", 1000, 0)]
    second = [candidate("c", 0, 100), candidate("d", 500, 0)]
    free = Objective(flash=0, ram=0)
    assert chosen(first, second, objective=free) == ["a", "c"]
    assert chosen(first, second, objective=free, flash=199) == ["a", "d"]
    assert chosen(first, second, objective=free, flash=99) == ["b", "d"]
    third = [candidate("e", 0, 1)]
    assert chosen(first, second, third, objective=free, flash=0) is None


def test_equal_tables_and_kernels_are_counted_once():
    kernel = Kernel.of(
        "clamp", "clamp/kernel", {"length": 4, "element": "int8_t", "low": 0, "high": 5}
    )
    own = Candidate("a", kernel, lambda: None, 0, 100, 0, "weights")
    once = flash_bytes([own], code_sizes)
    assert once > 100
    assert flash_bytes([own, own], code_sizes) == once
    assert flash_bytes([own, candidate("b", 0, 7)], code_sizes) == once + 7


def size(program):
    """Return the estimate of a program's machine code."""
    return code_bytes(program.kernels, len(program.steps))


def network():
    """Return a graph whose layers have kernels of every kind."""
    builder = GraphBuilder("net")
    builder.conv((1, 16, 16, 16), 16, (3, 3), **RELU)
    builder.conv((1, 12, 12, 32), 32, (1, 1), **RELU)
    builder.conv((1, 12, 12, 32), 32, (1, 1), **RELU)
    return planned(builder.graph)


def test_objectives_get_what_they_ask_for():
    module = network()
    found = {name: program(module, KernelSettings(name)) for name in OBJECTIVES}

    def instructions(name):
        return sum(step.layer.instructions for step in found[name].steps)

    def flash(name):
        return found[name].constant_bytes + size(found[name])

    assert min(OBJECTIVES, key=instructions) == "speed"
    assert flash("size") == min(map(flash, OBJECTIVES)) < flash("balanced")
    # A byte may be worth it where it saves very many instructions; "size" does not ask for any.
    assert found["ram"].arena_bytes <= min(found[n].arena_bytes for n in ("balanced", "speed"))
    assert found["ram"].arena_bytes < found["speed"].arena_bytes


def test_what_fits_is_found():
    module = network()
    small = program(module, KernelSettings("size"))
    flash = small.constant_bytes + size(small)
    tight = program(module, KernelSettings("speed", flash=flash))
    assert tight.constant_bytes + size(tight) <= flash
    lean = program(module, KernelSettings("ram"))
    fast = program(module, KernelSettings("speed", ram=lean.arena_bytes))
    assert fast.arena_bytes == lean.arena_bytes
    # Nothing fits: what comes closest is shown to the user.
    assert size(program(module, KernelSettings(flash=1))) == size(small)
    assert program(module, KernelSettings(ram=1)).arena_bytes == lean.arena_bytes
