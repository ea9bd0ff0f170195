"""Networks through the compilers for every core and goal, in short."""

from __future__ import annotations

import pytest

from campaign import compile as campaign
from campaign.compile import Unit, Variant, findings, variants
from campaign.networks import Knobs, make
from rlx.frontends.tflite import frontend as tflite
from rlx_cortexm.core import CORES
from support import require_program


def test_every_core_is_compiled_for() -> None:
    assert {v.cpu for v in variants()} == set(CORES)


@pytest.mark.parametrize("seed", [3, 10])
def test_networks_compile_without_a_word(seed: int) -> None:
    require_program("arm-none-eabi-gcc")
    assert findings(tflite.load(make(seed, Knobs(elements=512)))) == []


def test_what_compilers_say_is_found() -> None:
    require_program("arm-none-eabi-gcc")
    variant = Variant("cortex-m3", "size", "caller")
    unit = Unit(variant.cpu, "net.c", "static int f(int x) { int y; y = x; return x; }\n", ())
    found = list(campaign._compiled([unit], {unit: variant}))
    assert len(found) == 2
    assert found[0].startswith("--cpu cortex-m3 --optimize size --io caller: cortex-m3: net.c:1:")
    assert any("unused-but-set-variable" in line for line in found)
