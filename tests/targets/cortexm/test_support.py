"""The shared C functions for scaling equal ``rlx.ops.numerics`` wherever they are used."""

import numpy as np
import pytest

from rlx.ops.numerics.exponential import one_over_one_plus_x
from rlx.ops.numerics.fixed_point import Rounding, multiply_by_quantized_multiplier
from rlx.support.files.golden import Golden
from rlx_cortexm.firmware import FirmwareBuffer, firmware_files
from rlx_cortexm.render import ENV
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare

HEADER = "#include <stdint.h>\nint32_t t_run(const int8_t *input, int8_t *output, void *arena);\n"
SOURCE = """\
#include "t.h"
#include <limits.h>
#include <string.h>
#define T_CODE_SECTION
%s
int32_t t_run(const int8_t *input, int8_t *output, void *arena)
{
  (void)arena;
  for (int32_t i = 0; i < %d; i++) {
    int32_t x[3];
    int64_t y;
    memcpy(x, input + 12 * i, 12);
    y = %s;
    memcpy(output + 8 * i, &y, 8);
  }
  return 0;
}
"""

POWERS = 2 ** np.arange(32, dtype=np.int64)
EDGES = np.unique(np.concatenate([[0], POWERS - 1, POWERS, POWERS + 1, POWERS * 3 // 2]))
EDGES = np.unique(np.concatenate([EDGES, -EDGES]))
MULTIPLIERS = np.array([0, 2**30, 2**30 + 1, 3 * 2**29, 2**31 - 2, 2**31 - 1], np.int64)

ONCE = [Rounding.SINGLE, Rounding.EVEN, Rounding.ODD]

SIMULATORS = [
    HostC(optimization="-O1", sanitize=True),
    pytest.param(Qemu(), marks=pytest.mark.qemu),
    pytest.param(Qemu(FirmwareBuild("cortex-m3")), marks=pytest.mark.qemu),
    pytest.param(Unicorn(FirmwareBuild(compiler="zig")), marks=pytest.mark.qemu),
]


def triples(low, high, shifts):
    """Every edge value, and drawn ones, times every multiplier and shift."""
    random = np.random.default_rng(1).integers(low, high, 40, np.int64, endpoint=True)
    near = random + 1 - random % 2
    values = np.unique(np.concatenate([EDGES, random, near]))
    values = values[(values >= low) & (values <= high)]
    grid = np.meshgrid(values, MULTIPLIERS, np.array(shifts, np.int64), indexing="ij")
    return np.stack([part.ravel() for part in grid], axis=1)


def check(simulator, folder, function, call, x, expected):
    """Run ``call`` of the rendered ``function`` on rows of ``x`` and compare."""
    support = ENV.get_template("support.c.j2").render(
        prefix="t", macro="T", support=frozenset({function})
    )
    count = len(x)
    files = {
        "include/t.h": HEADER,
        "src/t.c": SOURCE % (support, count, call),
        **firmware_files(
            "t",
            [FirmwareBuffer(str(12 * count))],
            [FirmwareBuffer(str(8 * count))],
            arena_bytes="4",
        ),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    rows = x.astype("<i4").reshape(1, -1).view(np.int8)
    golden = Golden((rows,), (expected.astype("<i8").reshape(1, -1).view(np.int8),))
    simulation = simulator.simulate(folder, golden, timeout_s=60)
    actual = simulation.outputs[0].view("<i8").ravel()
    wrong = np.flatnonzero(actual != expected)
    assert not wrong.size, f"{x[wrong[0]]}: {actual[wrong[0]]}, not {expected[wrong[0]]}"
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_scale_wide(simulator, tmp_path):
    x = triples(-(2**31), 2**31 - 1, range(-31, 31))
    expected = multiply_by_quantized_multiplier(*x.T)
    check(simulator, tmp_path, "scale_wide", "scale_wide(x[0], x[1], x[2])", x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_scale_narrow(simulator, tmp_path):
    x = triples(-(2**30) + 1, 2**30 - 1, range(1, 32))
    value, multiplier, shift = x.T
    expected = multiply_by_quantized_multiplier(value, multiplier, -shift)
    check(simulator, tmp_path, "scale_narrow", "scale_narrow(x[0], x[1], x[2])", x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize("rounding", ONCE, ids=lambda r: r.value)
def test_scale_once(simulator, rounding, tmp_path):
    x = triples(-(2**31), 2**31 - 1, range(1, 63))
    value, multiplier, shift = x.T
    expected = multiply_by_quantized_multiplier(value, multiplier, 31 - shift, rounding)
    function = f"scale_{rounding.value}"
    check(simulator, tmp_path, function, f"{function}(x[0], x[1], x[2])", x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_scale_high(simulator, tmp_path):
    x = triples(-(2**31), 2**31 - 1, range(1, 31))
    value, multiplier, shift = x.T
    expected = multiply_by_quantized_multiplier(value, multiplier, -1 - shift, Rounding.SINGLE)
    check(simulator, tmp_path, "scale_high", "scale_high(x[0], x[1], x[2])", x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize("rounding", [Rounding.EVEN, Rounding.ODD], ids=lambda r: r.value)
def test_scale_power(simulator, rounding, tmp_path):
    x = triples(-(2**30) + 1, 2**30 - 1, range(1, 32))
    value, _, shift = x.T
    expected = multiply_by_quantized_multiplier(value, 2**30, 1 - shift, rounding)
    function = f"scale_power_{rounding.value}"
    check(simulator, tmp_path, function, f"{function}(x[0], x[1], x[2])", x, expected)


def near_halves(shifts, multipliers):
    """Numbers whose product with a float32 factor is next to a half, or is one in float32."""
    rows = []
    for multiplier, shift in zip(multipliers, shifts, strict=True):
        factor = multiplier / 2.0**shift
        steps = np.arange(-300, 301) + 0.5
        values = np.round(steps / factor).astype(np.int64)
        for value in (values - 1, values, values + 1):
            inside = value[np.abs(value) < 2**31]
            rows.append(np.stack([inside, 0 * inside + multiplier, 0 * inside + shift], axis=1))
    return np.concatenate(rows)


def some(simulator, rows):
    """Return all rows, or as many as the memory of a board holds."""
    return rows if isinstance(simulator, HostC) else rows[:: len(rows) // 20_000 + 1]


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_scale_float32_wide(simulator, tmp_path):
    x = triples(-(2**31), 2**31 - 1, range(1, 63))
    x[:, 1] &= ~127
    random = np.random.default_rng(3)
    drawn = random.integers(2**23, 2**24, 20) << 7
    x = some(simulator, np.concatenate([x, near_halves(random.integers(31, 54, 20), drawn)]))
    value, multiplier, shift = x.T
    expected = multiply_by_quantized_multiplier(value, multiplier, 31 - shift, Rounding.FLOAT32)
    call = "scale_float32_wide(x[0], x[1], x[2])"
    check(simulator, tmp_path, "scale_float32_wide", call, x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_requantize_float32(simulator, tmp_path):
    """Factors such as a sixth meet halves all the time, and those by float32's own rounding."""
    quotients = np.float32(1) / np.array([6, 10, 12, 20, 30, 80, 1000, 3e4, 5e6], np.float32)
    mantissas, exponents = np.frexp(quotients)
    multipliers = np.ldexp(mantissas, 31).astype(np.int64)
    random = np.random.default_rng(4)
    drawn = random.integers(2**23, 2**24, 60) << 7
    edges = triples(-(2**31), 2**31 - 1, range(33, 63))
    edges[:, 1] &= ~127
    x = np.concatenate([
        near_halves(31 - exponents, multipliers), near_halves(random.integers(33, 56, 60), drawn),
        edges,
    ])  # fmt: skip
    x = some(simulator, x)
    value, multiplier, shift = x.T
    low, high, zero_point = -128, 127, -17
    scaled = multiply_by_quantized_multiplier(value, multiplier, 31 - shift, Rounding.FLOAT32)
    expected = np.clip(scaled + zero_point, low, high)
    even = multiply_by_quantized_multiplier(value, multiplier, 31 - shift, Rounding.EVEN)
    assert np.count_nonzero(np.clip(even + zero_point, low, high) != expected) > 100
    call = f"requantize_float32(x[0], x[1], x[2] - 32, {low}, {high}, {zero_point})"
    check(simulator, tmp_path, "requantize_float32", call, x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_reciprocal(simulator, tmp_path):
    drawn = np.random.default_rng(2).integers(0, 2**31, 20_000, np.int64)
    values = np.concatenate([EDGES[(EDGES >= 0) & (EDGES < 2**31)], drawn])
    x = np.stack([values, values, values], axis=1)
    expected = one_over_one_plus_x(values)
    check(simulator, tmp_path, "softmax", "reciprocal_q31(x[0])", x, expected)


POWERS_OF = {"power_even": Rounding.EVEN, "power_odd": Rounding.ODD, "high": Rounding.SINGLE}


@pytest.mark.parametrize("kind", ["narrow", "wide", "single", "even", "odd", "float32_wide",
                                  *POWERS_OF])  # fmt: skip
def test_requantize_clamps_around_the_zero_point(kind, tmp_path):
    low, high, zero_point = -20, 90, 127
    most = 2**30 - 1 if kind in ("narrow", "power_even", "power_odd") else 2**31 - 1
    x = triples(-most, most, (1, 5, 20))
    value, multiplier, shift = x.T
    rounding = Rounding.DOUBLE if kind in ("narrow", "wide") else POWERS_OF.get(kind)
    rounding = rounding or Rounding(kind.removesuffix("_wide"))
    multiplier = multiplier & ~127 if rounding is Rounding.FLOAT32 else multiplier
    x = np.stack([value, multiplier, shift], axis=1)
    own = {"narrow": -shift, "wide": shift, "high": -1 - shift}.get(kind, 31 - shift)
    if kind.startswith("power"):
        multiplier, own = 2**30, 1 - shift
    scaled = multiply_by_quantized_multiplier(value, multiplier, own, rounding)
    expected = np.clip(scaled + zero_point, low, high)
    call = f"requantize_{kind}(x[0], x[1], x[2], {low}, {high}, {zero_point})"
    check(HostC(sanitize=True), tmp_path, f"requantize_{kind}", call, x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize(("low", "high", "zero_point"), [(-128, 127, -128), (-20, 90, 17),
                                                         (3, 127, 3)])  # fmt: skip
def test_requantize_folded(simulator, low, high, zero_point, tmp_path):
    x = triples(-(2**30) + 1, 2**30 - 1, (1, 5, 20, 22))
    value, multiplier, shift = x.T
    offset = (2 * zero_point + 1) << (shift - 1)
    sums = multiply_by_quantized_multiplier(value, multiplier, 0 * shift) + offset
    inside = np.abs(sums) < 2**31 - 1
    scaled = multiply_by_quantized_multiplier(value, multiplier, -shift)
    expected = np.clip(scaled + zero_point, low, high)
    offset_in_c = f"{2 * zero_point + 1} * (INT32_C(1) << (x[2] - 1))"
    call = f"requantize_folded(2 * x[0], x[1], x[2], {offset_in_c}, {low}, {high}, {zero_point})"
    check(simulator, tmp_path, "requantize_folded", call, x[inside], expected[inside])


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize(("low", "high", "zero_point"), [(-128, 127, -128), (-20, 90, 17),
                                                         (3, 127, 3)])  # fmt: skip
@pytest.mark.parametrize("places", [2, 12])
def test_requantize_level(simulator, places, low, high, zero_point, tmp_path):
    larger = range(2, places + 1)
    x = triples(-(2**30) + 1, 2**30 - 1, larger)
    x[:, 0] >>= x[:, 2]
    value, multiplier, more = x.T
    scaled = multiply_by_quantized_multiplier(value, multiplier, more - 1 - places)
    expected = np.clip(scaled + zero_point, low, high)
    function = f"requantize_level_{places}"
    value_in_c = "x[0] * (INT32_C(1) << x[2])"
    call = f"{function}({value_in_c}, x[1], x[2], {low}, {high}, {zero_point})"
    check(simulator, tmp_path, function, call, x, expected)


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize(("low", "high", "zero_point"), [(-128, 127, -128), (-20, 90, 17),
                                                         (3, 127, 3)])  # fmt: skip
@pytest.mark.parametrize("places", [1, 7, 12])
@pytest.mark.parametrize("rounding", ONCE, ids=lambda r: r.value)
def test_requantize_level_once(simulator, rounding, places, low, high, zero_point, tmp_path):
    single = rounding is Rounding.SINGLE
    x = triples(-(2**30) + 1, 2**30 - 1, range(places + 1))
    x[:, 0] >>= x[:, 2]
    value, multiplier, more = x.T
    shift = more - 1 - places if single else more + 1 - places
    scaled = multiply_by_quantized_multiplier(
        value, multiplier if single else 2**30, shift, rounding
    )
    expected = np.clip(scaled + zero_point, low, high)
    function = f"requantize_level_{rounding.value}_{places}"
    value_in_c = "x[0] * (INT32_C(1) << x[2])"
    call = f"{function}({value_in_c}, x[1], x[2], {low}, {high}, {zero_point})"
    check(simulator, tmp_path, function, call, x, expected)
