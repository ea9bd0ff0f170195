"""Several samples in one run, floats for quantized inputs, and back."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import QuantParams, TensorType, f32, i8
from rlx.ops.numbers import sample_reals
from rlx.runtime import CompiledGraph, Session, batching
from support import ROOT
from support.messages import raises

RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def digits():
    """Return the network of digits, and its samples as integers, [n, 8, 8, 1]."""
    folder = ROOT / "examples" / "digits"
    with np.load(folder / "samples.npz") as arrays:
        return rlx.load(folder / "digits.rlx"), arrays["image"][:90, 0]


def dense() -> rlx.Graph:
    """A product with a parameter, for one sample, and another output."""
    graph = rlx.Graph("dense")
    x, w = graph.input("x", (1, 4)), graph.param("w", (4, 3))
    graph.output((x @ w).relu(), x * 2.0, names=["y", "twice"])
    return graph


class TestTogether:
    def test_bits_are_those_of_single_runs(self, digits) -> None:
        module, samples = digits
        compiled = Session().compile(module)
        (found,) = compiled.run({"image": samples})
        singles = [compiled.run({"image": sample[np.newaxis]})[0] for sample in samples]
        np.testing.assert_array_equal(found, np.concatenate(singles))
        np.testing.assert_array_equal(found, module.run({"image": samples}).output.array)
        assert compiled.batching == batching.Batching(most=64)
        assert str(compiled.batching) == "up to 64 samples together"

    def test_programs_are_kept_for_full_batches_and_the_rest(self, digits) -> None:
        module, samples = digits
        compiled = Session().compile(module)
        compiled.run({"image": samples})
        kept = compiled._batches._programs
        assert list(kept) == [64, 26]
        first = kept[64]
        compiled.run({"image": samples[:65]})
        assert list(compiled._batches._programs) == [26, 64]
        assert kept[64] is first

    def test_large_samples_run_in_smaller_batches(self, digits, monkeypatch) -> None:
        module, samples = digits
        compiled = Session().compile(module)
        arena = compiled.manifest().arena_bytes
        monkeypatch.setattr(batching, "MAX_BATCH_BYTES", 3 * arena)
        (found,) = compiled.run({"image": samples[:8]})
        assert compiled.batching.most == 3
        np.testing.assert_array_equal(
            found, Session().compile(module).run({"image": samples[:8]})[0]
        )
        monkeypatch.setattr(batching, "MAX_BATCH_BYTES", arena)
        other = Session().compile(module)
        (found,) = other.run({"image": samples[:2]})
        assert found.shape == (2, 10)
        assert str(other.batching) == f"one by one: a sample takes {arena:,} bytes"

    def test_parameters_may_change(self) -> None:
        compiled = Session().compile(dense())
        x = RANDOM.standard_normal((5, 4)).astype(np.float32)
        with raises(ValueError):
            compiled.run({"x": x})
        for factor in (1, -2):
            w = factor * np.ones((4, 3), np.float32)
            compiled.set_param("w", w)
            y, twice = compiled.run({"x": x})
            np.testing.assert_allclose(y, np.maximum(x @ w, 0), rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(twice, 2 * x)
            (only,) = compiled.run({"x": x}, outputs=["twice"])
            np.testing.assert_array_equal(only, twice)
            assert list(compiled.run_named({"x": x})) == ["y", "twice"]
            np.testing.assert_array_equal(compiled.submit({"x": x}).wait()[1], twice)
            np.testing.assert_array_equal(compiled(x)[1], twice)


class TestOneByOne:
    def test_where_samples_would_mix(self) -> None:
        """The sum over all dimensions mixes the samples of a batch."""
        graph = rlx.trace("g", lambda x: (x + x.sum(0, 1), x.reshape(4)), f32(1, 4))
        compiled = Session().compile(graph)
        x = RANDOM.standard_normal((3, 4)).astype(np.float32)
        shifted, flat = compiled.run({"x": x})
        assert compiled.batching.most == 1
        assert str(compiled.batching).startswith("one by one: ")
        np.testing.assert_allclose(shifted, x + x.sum(-1, keepdims=True), rtol=1e-6)
        np.testing.assert_array_equal(flat, x)

    def test_where_an_output_is_constant(self) -> None:
        graph = rlx.trace(
            "g", lambda x: {"y": x, "one": x.builder.constant(np.ones((1, 2), np.float32))},
            f32(1, 4),
        )  # fmt: skip
        compiled = Session().compile(graph)
        _, one = compiled.run({"x": np.zeros((3, 4))})
        assert one.tolist() == [[1.0, 1.0]] * 3
        reason = "output 'one' does not depend on the inputs"
        assert str(compiled.batching) == f"one by one: {reason}"


class TestOneSampleOnly:
    @pytest.mark.parametrize(
        ("type_", "reason"),
        [
            (f32(4, 3), r"input 'x' has no leading dimension of 1: f32[4, 3]"),
            (f32(1), r"input 'x' has no leading dimension of 1: f32[1]"),
            (f32(rlx.Dim("n"), 3), "its dimensions have the symbols n"),
        ],
    )
    def test_is_said(self, type_: TensorType, reason: str) -> None:
        compiled = Session().compile(rlx.trace("g", lambda x: x + 1.0, type_))
        assert str(compiled.batching) == f"one sample only: {reason}"

    def test_where_there_is_nothing_to_batch(self) -> None:
        graph = rlx.Graph("g")
        graph.output(graph.param("w", (1, 2)) + 1.0)
        assert str(Session().compile(graph).batching) == "one sample only: it has no inputs"

    def test_where_runs_follow_one_another(self) -> None:
        graph = rlx.Graph("g")
        total = graph.state("total", (1, 2))
        graph.set_state(total, total + graph.input("x", (1, 2)))
        compiled = Session().compile(graph)
        reason = "it has states: runs follow one another"
        assert str(compiled.batching) == f"one sample only: {reason}"
        with raises(ValueError):
            compiled.run({"x": np.zeros((3, 2))})

    def test_where_an_input_is_bound(self) -> None:
        graph = rlx.trace("g", lambda x, y: x + y, f32(1, 2), f32(1, 2))
        compiled = Session().compile(graph)
        compiled.bind_state("y", np.ones((1, 2)))
        with raises(ValueError):
            compiled.run({"x": np.zeros((3, 2))})


def two_inputs() -> CompiledGraph:
    graph = rlx.trace("g", lambda x, y: x + y, f32(1, 2), f32(1, 2))
    return Session().compile(graph)


def test_what_is_no_batch_is_refused():
    compiled = two_inputs()
    with raises(ValueError):
        compiled.run({"x": np.zeros((3, 2)), "y": np.zeros((1, 2))})
    for shape in ((3, 4), (2,), (0, 2), (3, 1, 2)):
        with raises(ValueError):
            compiled.run({"x": np.zeros(shape), "y": np.zeros(shape)})


def test_exact_calls_take_one_sample():
    compiled = two_inputs()
    given = {"x": np.zeros((3, 2), np.float32), "y": np.zeros((3, 2), np.float32)}
    for call in (compiled.run_typed, compiled.run_raw, lambda g: compiled.run_slots(*g.values())):
        with raises(ValueError):
            call(given)


class TestQuantized:
    TYPE = i8(1, 4).with_quant(QuantParams.per_tensor(0.5, -3))

    def compiled(self) -> CompiledGraph:
        graph = rlx.Graph("g")
        x = graph.input("x", self.TYPE)
        graph.output(x, graph.dequantize(x), names=["codes", "reals"])
        return Session().compile(graph)

    def test_real_numbers_are_quantized(self, digits) -> None:
        module, samples = digits
        type_ = module.graph.inputs[0].type
        real = RANDOM.uniform(-1, 17, samples.shape) * type_.quant.scale[0]
        (found,) = Session().compile(module).run({"image": real})
        np.testing.assert_array_equal(found, module.run({"image": real}).output.codes)

    def test_integers_are_taken_as_they_are(self) -> None:
        codes, real = self.compiled().run({"x": [[1, 2, 3, -128]]})
        assert codes.tolist() == [[1, 2, 3, -128]]
        assert real.tolist() == [[2.0, 2.5, 3.0, -62.5]]
        codes, _ = self.compiled().run({"x": [[2.0, 2.5, 3.0, -1000.0]]})
        assert codes.tolist() == [[1, 2, 3, -128]]

    def test_outputs_as_real_numbers(self) -> None:
        compiled = self.compiled()
        x = np.array([[2.0, 2.5, 3.0, -62.5], [0.0, 1.0, 1.5, 0.5]])
        for given in (x, x[:1]):
            codes, real = compiled.run({"x": given}, dequantized=True)
            np.testing.assert_array_equal(codes, given)
            np.testing.assert_array_equal(real, given)
            assert codes.dtype == np.float64
        named = compiled.run_named({"x": x}, dequantized=True)
        np.testing.assert_array_equal(named["codes"], x)

    def test_scales_of_channels_follow_their_axis(self) -> None:
        type_ = i8(2).with_quant(QuantParams((1.0, 2.0), (0, 1), axis=0))
        codes = np.array([[4, 5], [6, 7], [8, 9]], np.int8)
        assert sample_reals(codes[0], type_).tolist() == [4.0, 8.0]
        assert sample_reals(codes, type_).tolist() == [[4.0, 8.0], [6.0, 12.0], [8.0, 16.0]]

    def test_nan_has_no_code(self) -> None:
        for bad in (np.nan, np.inf):
            with raises(ValueError):
                self.compiled().run({"x": [[0.0, 1.0, bad, 2.0]]})

    def test_exact_calls_take_codes_only(self) -> None:
        with raises(TypeError):
            self.compiled().run_typed({"x": np.zeros((1, 4), np.float32)})
