"""Run a program as the docstrings of its parts say, one value after the other, without hardware.

A result is written as soon as its block ends, which is earlier than the engine does it: a program
that overwrites what it still has to read is found here whatever the length of the pipeline.
"""

from itertools import product

import numpy as np

from rlx.ops.numerics.fixed_point import (
    Rounding,
    multiply_by_quantized_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_int32,
)
from rlx_fpga.architectures import architecture
from rlx_fpga.architectures.engine.lower import assemble
from rlx_fpga.architectures.engine.program import Feed, Mode


def program_of(graph, multipliers=5, **options):
    """Return the program of a graph; the rules of all ops come with the architecture."""
    assert architecture("engine")
    return assemble(graph, multipliers, **options)


def interpreted(program, inputs):
    """Return the outputs of ``program`` for one frame, each as its finishing op leaves it."""
    memory = np.full(program.span, 85, np.int64)
    for value, place in zip(program.graph.inputs, program.inputs, strict=True):
        memory[place : place + value.type.size] = inputs[value.name].reshape(-1)
    for one, words, scales in sections(program):
        _run(program, one, words, scales, memory)
    outputs = []
    for value, place, op in zip(program.stored, program.outputs, program.finishes, strict=True):
        found = memory[place : place + value.type.size].astype(np.int8)
        found = found.reshape(value.type.static_shape)
        outputs.append(found if op is None else op.op.evaluate(found)[0])
    return outputs


def sections(program):
    """Yield each instruction with all weights and all constants from its first ones on."""
    word = scale = 0
    for one in program.instructions:
        if program.feed is not Feed.STREAM:
            word, scale = one.weights, one.constants
        yield one, program.weights[word:], program.scales[scale:]
        word, scale = word + one.words, scale + one.scales


def reads(one, span):
    """Yield for each block of an instruction what it reads: addresses, inside, second column."""
    loops = one.loops
    steps = [(*loops.steps[:2], 0, *loops.steps[2:], 0), (*loops.strides, 1)]
    for outer in product(*map(range, loops.counts[:3])):
        block = []
        for inner in product(*map(range, loops.counts[3:])):
            places = (*outer, *inner)
            row = loops.origin[0] + sum(places[k] * steps[0][k] for k in (0, 3))
            column = loops.origin[1] + sum(places[k] * steps[0][k] for k in (1, 4))
            inside = 0 <= row < loops.size[0] and 0 <= column < loops.size[1]
            address = one.source + sum(a * b for a, b in zip(places, steps[1], strict=True))
            block.append((address % span, inside, inner[1] > 0))
        yield block


def _run(program, one, words, scales, memory):
    target, flat = one.target, [weight for word in words for weight in word]
    blocks = one.loops.counts[2]
    for number, block in enumerate(reads(one, program.span)):
        if number % blocks == 0:
            step = place = 0
        assert all(address < program.memory for address, inside, _ in block if inside)
        values = [memory[address] if inside else one.padding for address, inside, _ in block]
        ends = number % blocks == blocks - 1
        lanes = one.last_lanes if ends else one.lanes
        if one.mode is Mode.WIDE:
            rows = np.array(words[step : step + len(block)])[:, :lanes]
            totals = np.array(values) @ rows
        elif one.mode is Mode.NARROW:
            totals = [np.dot(values, flat[step : step + len(block)])]
        elif one.mode is Mode.TABLE:
            tables = program.tables[one.tables :]
            pairs = zip(block, values, strict=True)
            totals = [sum(tables[second][value + 128] for (_, _, second), value in pairs)]
        else:
            totals = [max(values) if one.mode is Mode.MAX else sum(values)]
        step += len(block)
        assert len(totals) == lanes
        for total in totals:
            assert target < program.memory
            memory[target] = _code(one, scales[0 if one.uniform else place], total)
            target, place = target + 1, place + 1
        if ends:
            target += one.skip


def _code(one, scale, total):
    assert -(1 << 31) <= total < 1 << 31
    if one.rounding is not Rounding.DOUBLE:
        sum_, shift = np.int64(total + scale.bias), scale.left - scale.right
        code = multiply_by_quantized_multiplier(sum_, scale.multiplier, shift, one.rounding)
        return int(np.clip(code + one.zero_point, one.low, one.high))
    shifted = wrap_int32(np.int64(total + scale.bias) << scale.left)
    high = saturating_rounding_doubling_high_multiply(shifted, scale.multiplier)
    code = rounding_divide_by_power_of_two(high, scale.right) + one.zero_point
    return int(np.clip(code, one.low, one.high))
