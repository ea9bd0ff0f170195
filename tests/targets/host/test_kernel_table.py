"""The table of kernels: each node with its code, and the reasons of those that NumPy runs."""

from __future__ import annotations

from targets.host.networks import mixed

import rlx
from rlx.runtime import CompileOptions
from rlx.runtime.lowering import lower
from rlx.support.text.tables import lay_out
from rlx_host import BACKEND
from rlx_host.kernel_table import kernel_table
from rlx_host.program import compile_module


def test_every_node_is_listed():
    options = CompileOptions(backend="native", fusion=None)
    module = lower(mixed(), BACKEND, options).module
    table = kernel_table(module, compile_module(module, options))
    assert [row[1] for row in table.rows] == ["real.cumsum", "real.add", "real.add", "real.cumsum"]
    assert table.rows[0][2:] == ("NumPy", "it has no kernel in C")
    assert "elementwise" in "".join(line.text for line in lay_out(table).lines)


def test_the_setting_prints_it(capsys):
    with rlx.config.override(debug="kernels", compilations=0):
        rlx.Session().compile(mixed(), CompileOptions(backend="native", fusion=None))
    assert capsys.readouterr().err.startswith("Code of ")


def test_a_compiled_graph_names_the_code_of_its_nodes():
    compiled = rlx.Session().compile(mixed(), CompileOptions(backend="native", fusion=None))
    assert repr(compiled).endswith(", 2 nodes in C, 2 by NumPy: real.cumsum)>")
