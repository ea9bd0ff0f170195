"""Real numbers and uint8 at inputs and outputs, against TensorFlow Lite Micro and the host."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import bridges

from rlx.driver.reference import reference_outputs
from rlx.ir import DType, Graph, QuantParams, TensorType, f32
from rlx.ops.q import CODE_RANGE
from rlx.ops.real import RealCast, RealDequantize, RealQuantize, Ties
from rlx.support.errors import EmitError, UsageError
from rlx.support.files.golden import Golden
from rlx_cortexm import CortexMOptions
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.rules import lowering
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from support.messages import raises
from support.references.oracle import Quant, run_operator

TIMEOUT_S = 120

SIMULATORS = [
    HostC("gcc", "-O2"),
    HostC("gcc", "-O1", sanitize=True),
    *(
        pytest.param(simulator, marks=pytest.mark.qemu)
        for simulator in (
            Qemu(),
            Qemu(FirmwareBuild("cortex-m3")),
            Unicorn(FirmwareBuild("cortex-m0")),
        )
    ),
]

NAMES = {DType.I8: "int8", DType.U8: "uint8", DType.I16: "int16"}
QUANTS = [(0.05, -4), (1.0, 0), (float(np.float32(1 / 3)), 127), (2.0**-20, -128), (3e5, 5)]


def near(scale):
    """Return float32 numbers where something may go wrong.

    Every half step and its neighbours, beyond both ends too; zeros, subnormal and large numbers.
    """
    scale = np.float32(scale)
    halves = (np.arange(-700, 701) / 2).astype(np.float32) * scale
    numbers = [
        halves,
        np.nextafter(halves, np.float32(np.inf)),
        np.nextafter(halves, np.float32(-np.inf)),
        np.array([0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, scale * 1e-7], np.float32),
        scale * np.array([1e6, -1e6, 2e9, -2e9], np.float32),
    ]
    return np.concatenate(numbers).astype(np.float32)


BEYOND = np.array([np.inf, -np.inf, np.nan, -np.nan, 3.4e38, -3.4e38], np.float32)
"""Numbers for which the interpreter's conversion to an integer is not defined."""


def quantizer(scale, zero_point, dtype=DType.I8, ties=Ties.AWAY):
    return RealQuantize(quant=QuantParams.per_tensor(scale, zero_point), dtype=dtype, ties=ties)


@pytest.mark.parametrize("quant", QUANTS)
def test_quantize_equals_tflm(quant):
    x = near(quant[0])
    for dtype in (DType.I8, DType.I16):
        point = 0 if dtype is DType.I16 else quant[1]
        expected = run_operator(
            "QUANTIZE", [(x, None)], (x.shape, Quant(quant[0], point)), dtype=NAMES[dtype]
        )
        (found,) = quantizer(quant[0], point, dtype).evaluate(x)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("quant", QUANTS)
def test_dequantize_equals_tflm_for_every_value(quant):
    for dtype, (low, high) in CODE_RANGE.items():
        point = {DType.I8: quant[1], DType.U8: quant[1] + 128, DType.I16: 0}[dtype]
        x = np.arange(low, high + 1).astype(dtype.numpy)
        given = [(x, Quant(quant[0], point))]
        expected = run_operator("DEQUANTIZE", given, (x.shape, None), dtype="float32")
        op = RealDequantize(quant=QuantParams.per_tensor(quant[0], point))
        assert np.array_equal(op.evaluate(x)[0].view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("dtypes", [(a, b) for a in NAMES for b in NAMES if DType.U8 not in (a, b)])
def test_casts_equal_tflm(dtypes):
    source, target = dtypes
    low, high = CODE_RANGE[source]
    x = np.arange(low, high + 1).astype(source.numpy)
    expected = run_operator("CAST", [(x, None)], (x.shape, None), dtype=NAMES[target])
    assert np.array_equal(RealCast(dtype=target).evaluate(x)[0], expected)


def quantizers():
    """Return a graph with a quantizer for each scale, to each type in turn, and what goes in."""
    graph, inputs = Graph("net"), []
    for number, (scale, zero_point) in enumerate(QUANTS):
        numbers = np.concatenate([near(scale), BEYOND])
        inputs.append(numbers[np.newaxis])
        x = graph.input(f"x{number}", f32(numbers.size))
        dtype = (DType.I8, DType.I8, DType.U8, DType.I16, DType.I8)[number]
        point = zero_point + 128 if dtype is DType.U8 else zero_point
        # Half of the roundings for each scale: the test program has few files open.
        for ties in list(Ties)[number % 2 :: 2]:
            graph.output(graph.apply(quantizer(scale, point, dtype, ties), x))
    return graph, *inputs


def dequantizers():
    """Return a graph that turns every value into a real number, and what goes in."""
    graph, inputs = Graph("net"), []
    for dtype, (low, high) in CODE_RANGE.items():
        every = np.arange(low, high + 1, 61 if dtype is DType.I16 else 1).astype(dtype.numpy)
        x = graph.input(dtype.value, TensorType(every.shape, dtype))
        inputs.append(every[np.newaxis])
        for scale, zero_point in QUANTS:
            point = zero_point + 128 if dtype is DType.U8 else zero_point
            op = RealDequantize(quant=QuantParams.per_tensor(scale, point))
            graph.output(graph.apply(op, x))
    return graph, *inputs


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize("make", [quantizers, dequantizers], ids=lambda make: make.__name__)
def test_emitted_code_has_the_bits_of_the_host(tmp_path, make, simulator):
    graph, *inputs = make()
    golden = reference_outputs(graph, tuple(inputs))
    folder = write(tmp_path / "net", emit_graph(graph))
    simulation = simulator.simulate(folder, golden, timeout_s=TIMEOUT_S)
    assert compare("", simulation, golden) == []
    for found, wanted in zip(simulation.outputs, golden.outputs, strict=True):
        assert found.tobytes() == wanted.tobytes()


def test_a_wrong_bit_of_a_float_is_found(tmp_path):
    graph = bridges()
    golden = golden_of(graph)
    folder = write(tmp_path / "net", emit_graph(graph))
    place = next(k for k, v in enumerate(graph.outputs) if v.type.dtype is DType.F32)
    wrong = [y.copy() for y in golden.outputs]
    wrong[place].view(np.uint32)[1, 2, 3] ^= 1
    other = Golden(golden.inputs, tuple(wrong))
    found = compare("", HostC("gcc", "-O1").simulate(folder, other, timeout_s=TIMEOUT_S), other)
    assert [(one.output, one.frame) for one in found] == [(place, 1)]


def refused(op, type_):
    graph = Graph("net")
    node = graph.append(op, graph.input("x", type_))
    return lowering(node, CORES["cortex-m4"])


@pytest.mark.parametrize(
    ("op", "type_", "reason"),
    [
        (quantizer(1.0, 0, DType.I32), f32(2), "expected f32 to i8, u8 or i16, got f32 to i32"),
        (
            quantizer(1.0, 0),
            TensorType((2,), DType.F64),
            "expected f32 to i8, u8 or i16, got f64 to i8",
        ),
        (
            RealQuantize(quant=QuantParams((1.0, 2.0), (0, 0), axis=0)),
            f32(2),
            "expected one scale, got one for each of 2 channels",
        ),
        (
            RealDequantize(quant=QuantParams.per_tensor(1e-42)),
            TensorType((2,), DType.I8),
            "its scale: expected a normal float32 number above 0, got 1e-42",
        ),
        (
            RealDequantize(quant=QuantParams.per_tensor(1.0)),
            TensorType((2,), DType.I32),
            "expected i8, u8 or i16, got i32",
        ),
        (
            RealCast(dtype=DType.F16),
            f32(2),
            "expected types of f32, i16, i32, i8, u8, got f32 to f16",
        ),
    ],
)
def test_what_c_cannot_take_is_refused_with_a_reason(op, type_, reason):
    assert refused(op, type_).reason == reason


def header(**options):
    graph = Graph("net")
    quants = QuantParams.per_tensor(0.5, 3), QuantParams.per_tensor(0.25, 130)
    x = graph.input("x", f32(1, 3))
    graph.output(graph.apply(RealQuantize(quant=quants[0]), x))
    graph.output(graph.apply(RealQuantize(quant=quants[1], dtype=DType.U8), x))
    return emit_graph(graph, **options).files


def test_header_and_readme_have_the_types():
    files = header()
    text = files["include/net.h"]
    assert (
        "int32_t net_run(const float *input, int8_t *output0, uint8_t *output1, void *arena);"
        in text
    )
    assert "input: [in] NET_INPUT_BYTES bytes, aligned to 4" in text
    assert "Those of f32 are floats" in text
    assert "static inline float net_dequantize_output1(uint8_t quantized)" in text
    assert "net_quantize_input" not in text
    assert "| `input` | float[1, 3] | the number itself |" in files["README.md"]
    assert "static float input[NET_INPUT_BYTES / 4];" in files["README.md"]
    assert "static inline float *net_input(void *arena)" in header(io="arena")["include/net.h"]


def test_a_constant_of_real_numbers_is_refused():
    graph = Graph("net")
    graph.output(graph.apply(RealCast(dtype=DType.I8), graph.input("x", f32(2))))
    graph.output(graph.constant(np.zeros(2, np.float32)))
    with raises(EmitError):
        emit_graph(graph)


@pytest.mark.parametrize(
    "io",
    ["float,uint8", "arena,caller", ""],
)
def test_io_takes_a_word_of_each_kind(io):
    with raises(UsageError):
        CortexMOptions(io=io)


def test_words_of_io_come_in_any_order():
    for io in ("float,arena", "arena,float"):
        options = CortexMOptions(io=io)
        assert options.in_arena
        assert options.ports.kind.value == "float"
    assert not CortexMOptions(io="uint8").in_arena
    assert CortexMOptions(io="arena").ports.kind.value == "int8"
