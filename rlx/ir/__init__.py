"""The IR: types, ops, graphs, rule tables, text and file form.

A graph is immutable but for appending; ``supplied`` are functions that modules above it supply.

Level 2. Public modules: ``binding``, ``diff``, ``dims``, ``evaluate``, ``file``, ``file_errors``,
``graph``, ``hash``, ``inspect``, ``layer_diff``, ``layer_names``, ``lookup``, ``macs``,
``manifest``, ``manifest_diff``, ``module``, ``op``, ``payload``, ``port_names``, ``printer``,
``program``, ``regions``, ``sizes``, ``supplied``, ``types``, ``verify``, ``views``.
"""

from functools import partial

from rlx.ir import hash as _hash
from rlx.ir import printer as _printer
from rlx.ir import regions as _regions
from rlx.ir import supplied as _supplied
from rlx.ir.dims import Dim
from rlx.ir.graph import (
    Constant,
    Graph,
    Input,
    Node,
    Param,
    State,
    Value,
    copy_node,
)
from rlx.ir.memo import once_per_node
from rlx.ir.module import (
    GraphModule,
    MemoryPlan,
    Placement,
    Reference,
    Region,
    Stage,
    StateCopy,
)
from rlx.ir.op import Op
from rlx.ir.origin import Origin
from rlx.ir.rewriter import Rewriter, rebuild
from rlx.ir.rules import Refusal, RuleTable, target_hint
from rlx.ir.traits import UNSTATED, Along, Traits
from rlx.ir.types import Array, DType, QuantParams, Shape, TensorType, f32, i8, i32

_supplied.format_graph.supply(partial(_printer.format_graph, full=False))
_supplied.summarize_graph.supply(_printer.summarize_graph)
_supplied.summarize_node.supply(_printer.summarize_node)
_supplied.summarize_value.supply(_printer.summarize_value)
_supplied.structural_hash.supply(_hash.structural_hash)
_supplied.regions_of.supply(_regions.regions_of)

__all__ = [
    "UNSTATED",
    "Along",
    "Array",
    "Constant",
    "DType",
    "Dim",
    "Graph",
    "GraphModule",
    "Input",
    "MemoryPlan",
    "Node",
    "Op",
    "Origin",
    "Param",
    "Placement",
    "QuantParams",
    "Reference",
    "Refusal",
    "Region",
    "Rewriter",
    "RuleTable",
    "Shape",
    "Stage",
    "State",
    "StateCopy",
    "TensorType",
    "Traits",
    "Value",
    "copy_node",
    "f32",
    "i8",
    "i32",
    "once_per_node",
    "rebuild",
    "target_hint",
]
