"""Netlists as pipelines: the values of every cycle, and as many flip-flops as predicted."""

import re

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator
from targets.fpga.architectures.parallel.test_design import choice, core_of, network

from rlx_fpga.architectures.parallel.netlist import FREE, Netlist
from rlx_fpga.architectures.parallel.pipeline import LEVELS, NetlistPipeline, schedule
from rlx_fpga.cost.costs import PORTS

INPUTS = 3


def flip_flops(component):
    """Return the bits of the registers of each module, as Amaranth writes them."""
    found = {}
    cell = ""
    for line in rtlil.convert(component, name="top", emit_src=False).splitlines():
        if match := re.match(r"module \\(?:top\.)?(\S+)", line):
            module = match[1]
            found[module] = 0
        elif match := re.match(r"\s+cell (\S+)", line):
            cell = match[1]
        elif (match := re.match(r"\s+parameter \\WIDTH (\d+)", line)) and "dff" in cell:
            found[module] += int(match[1])
    return found


def random_netlist(rng, size):
    """Return a netlist of steps of all kinds, whose numbers have at most 24 bits."""
    netlist = Netlist()
    steps = [netlist.input(place) for place in range(INPUTS)]
    steps += [netlist.constant(int(value)) for value in rng.integers(-500, 500, 2)]
    while len(steps) < size:
        a, b, c, d = (steps[k] for k in rng.integers(0, len(steps), 4))
        p, q = map(int, rng.permutation([0, int(rng.integers(0, 4))]))
        low, high = sorted(map(int, rng.integers(-300, 300, 2)))
        code = netlist.clamp(a, -128, 127)
        made = [
            lambda a=a, b=b, p=p, q=q, low=low: netlist.sum(a, b, (p, q), negative=low % 2 > 0),
            lambda a=a, p=p, low=low: netlist.offset(a, p, low, negative=low % 2 > 0),
            lambda a=a, b=b, low=low, high=high: netlist.choice(a, b, (high, low)),
            lambda a=a, p=p: netlist.right(a, 5 * p),
            lambda a=a, low=low, high=high: netlist.clamp(a, low, high),
            lambda a=a, b=b: netlist.maximum(a, b),
            lambda a=a, b=b, c=c, d=d: netlist.pick(a, b, c, d),
            lambda code=code: netlist.table(code, rng.integers(-999, 999, 256).tolist()),
        ][rng.integers(8)]()
        if netlist.steps[made].width <= 24:
            steps.append(made)
    return netlist, steps[-4:]


def test_stages_are_as_early_as_the_levels_between_registers_allow():
    rng = np.random.default_rng(0)
    for _ in range(20):
        netlist, _ = random_netlist(rng, 40)
        depth = []
        for step in netlist.steps:
            below = max((depth[operand] for operand in step.operands), default=0)
            depth.append(below + (step.kind not in FREE))
        for (stage, level), levels in zip(schedule(netlist), depth, strict=True):
            assert stage * LEVELS + level == levels
            assert 0 <= level <= LEVELS
            assert level or not stage


def test_flip_flops_are_counted_exactly():
    rng = np.random.default_rng(1)
    for size in (5, 9, 20, 60):
        netlist, outputs = random_netlist(rng, size)
        pipeline = NetlistPipeline(netlist, INPUTS, outputs, 24)
        assert pipeline.cost("xc7").ff == sum(flip_flops(pipeline).values())


@pytest.mark.parametrize("make", [network, choice])
def test_flip_flops_of_whole_designs_are_counted_exactly(make):
    """Those of the layers, and those in which values wait for their consumers."""
    design = core_of(make()).component
    found = flip_flops(design)
    costs = design.costs("xc7")
    assert {name: costs[name].ff for name in costs if name != PORTS} == {
        layer.name: found[layer.name] for layer in design.layers
    }
    assert design._delayed_bits() + design.latency == found["top"]


@pytest.mark.sim
def test_results_of_every_cycle_are_those_of_the_steps():
    rng = np.random.default_rng(2)
    for size in (6, 12, 30, 50):
        netlist, outputs = random_netlist(rng, size)
        pipeline = NetlistPipeline(netlist, INPUTS, outputs, 32)
        codes = rng.choice([-128, -1, 0, 127, 5, -77], (INPUTS, 40))
        values = netlist.evaluate(codes)
        expected = np.array([values[output] for output in outputs]).T
        assert np.array_equal(simulated(pipeline, codes.T, len(outputs)), expected)


def simulated(pipeline, frames, outputs):
    """Give a frame in every cycle; return the results, each ``latency`` cycles later."""
    simulator = Simulator(pipeline)
    simulator.add_clock(1e-6)
    found = []

    async def bench(ctx):
        for cycle in range(len(frames) + pipeline.latency):
            for lane, code in enumerate(frames[min(cycle, len(frames) - 1)].tolist()):
                ctx.set(pipeline.i[lane], code)
            if cycle >= pipeline.latency:
                found.append([ctx.get(pipeline.o[lane]) for lane in range(outputs)])
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()
    return found
