"""Several cases as one graph, which a backend compiles once."""

from __future__ import annotations

import numpy as np

from rlx.ir import Graph, Input, State, copy_node
from rlx.ir.evaluate import evaluate
from rlx.runtime import Session
from rlx.support import config


def join(cases):
    """Return a graph of all cases side by side, its inputs, and the outputs that it must have."""
    graph, inputs, expected = Graph("joined"), {}, []
    for index, case in enumerate(cases):
        new = {}
        for node in case.graph.nodes:
            if isinstance(node.op, Input) and not isinstance(node.op, State):
                name = f"{node.result.name} {index}"
                new[node.result] = graph.input(name, node.result.type)
                inputs[name] = case.inputs[node.result.name]
            else:
                copy = copy_node(graph, node, tuple(new[o] for o in node.operands))
                new.update(zip(node.results, copy.results, strict=True))
        names = [f"{name} {index}" for name in case.graph.output_names]
        graph.output(*(new[v] for v in case.graph.outputs), names=names)
        with np.errstate(all="ignore"):
            expected += map(np.asarray, evaluate(case.graph, case.inputs))
    return graph, inputs, expected


def results(graph, inputs, options, device="cpu"):
    """Return the outputs of the backend; nothing is compared with NumPy first."""
    with config.override(check_compiled=False, compilations=0):
        return Session(device, options).compile(graph).run_typed(inputs)
