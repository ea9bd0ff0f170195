"""Run kernels under GCC's sanitizers: ``python -m targets.host.sanitized NAME``.

The interpreter must be started with the library of the address sanitizer: it then watches the
arrays of NumPy too.
"""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.host.native_cases import native_results, node_of, with_constants

from rlx_host.instruction_set import find
from rlx_host.kernels.rules import RULES
from strategies import STRATEGIES

FLAGS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def cases_of_all_ops(data):
    """Nodes of every op that has a rule, with their operands, computed and constant."""
    for op in sorted((op for op in STRATEGIES if op in RULES), key=lambda op: op.name):
        for size in (3, 20):
            case = data.draw(STRATEGIES[op](size=size))
            yield node_of(case, op)
            if case.graph.inputs:
                yield node_of(with_constants(case), op)


def main(name: str) -> None:
    instructions = find(name)

    @settings(max_examples=1, derandomize=True, deadline=None, database=None)
    @given(data=st.data())
    def run(data):
        nodes = list(cases_of_all_ops(data))
        with np.errstate(all="ignore"):
            native_results(nodes, instructions, FLAGS)

    run()
    sys.stdout.write("nothing found\n")


if __name__ == "__main__":
    main(sys.argv[1])
