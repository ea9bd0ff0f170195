"""The comparison over processors: what is tried, and what a row holds.

``tests/cli/test_sweep_option.py`` runs it as a command.
"""

from __future__ import annotations

from rlx_cortexm.options import CPUS, CortexMOptions
from rlx_cortexm.sweep import sweep_with


def test_rows_add_constants_and_code():
    report = {"instructions": 7, "arena_bytes": 5, "constant_bytes": 30, "code_bytes": 12}
    sweep = sweep_with(lambda _, options: {**report, "cpu": options.cpu})
    options = CortexMOptions(cpu="cortex-m55")
    assert sweep.estimate(None, options)["cpu"] == "cortex-m55"
    assert sweep.row(report, options) == {
        "instructions": 7, "flash_bytes": 42, "ram_bytes": 5, "constant_bytes": 30,
        "code_bytes": 12,
    }  # fmt: skip


def test_every_processor_is_tried_once_with_its_own_kernels():
    sweep = sweep_with(lambda _, __: {})
    assert sweep.groups["all"] == CPUS
    tried = [CortexMOptions(cpu=cpu) for cpu in CPUS]
    assert [sweep.attempts(one, frozenset()) for one in tried] == [(one,) for one in tried]
    assert len({sweep.lowering_key(one) for one in tried}) == len(CPUS)
