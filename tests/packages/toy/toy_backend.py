"""A backend that runs every op by its definition, ``evaluate``."""

import time

import numpy as np

from rlx.ir import Constant, Refusal
from rlx.memory import to_lir
from rlx.ops.nn import NnOp
from rlx.runtime import Device


class Program:
    workspace_bytes = 0

    def __init__(self, module):
        self.module = module
        self._params = {}
        states = [state for state, _ in module.graph.states]
        self._states = {s.name: np.zeros(s.type.static_shape, s.type.dtype.numpy) for s in states}

    def set_params(self, values):
        self._params = dict(values)

    def run(self, inputs):
        outputs, _ = self._compute(inputs)
        return outputs

    def profile(self, inputs):
        _, times = self._compute(inputs)
        return times

    def read_state(self, name):
        return self._states[name].copy()

    def write_state(self, name, value):
        self._states[name] = np.array(value)

    def _compute(self, inputs):
        graph, given, times = self.module.graph, iter(inputs), []
        known = {**self._states, **self._params}
        values = {v: known[v.name] if v.name in known else next(given) for v in graph.inputs}
        values |= {v: known[v.name] for v in graph.params}
        values |= {n.result: n.op.value for n in graph.nodes if isinstance(n.op, Constant)}
        for node in graph.op_nodes:
            begin = time.perf_counter_ns()
            results = node.op.evaluate(*(values[o] for o in node.operands))
            times.append((node, begin, time.perf_counter_ns()))
            values.update(zip(node.results, results, strict=True))
        outputs = [values[v] for v in graph.outputs]
        named = dict(zip(graph.output_names, outputs, strict=True))
        self._states = {name: named[name] for name in self._states}
        return outputs, times


class Toy:
    api = 1
    name = "toy"
    devices = (Device.CPU,)
    rank = -1  # the NumPy backend is used unless this one is named

    def unavailable(self, device):
        return None

    def refusal(self, node):
        return Refusal("it is run as its decomposition") if isinstance(node.op, NnOp) else None

    def claims(self, op):
        return False

    def plan(self, module, options):
        return to_lir(module, states=True)

    def compile(self, module, options):
        return Program(module)


BACKEND = Toy()
