"""Foldings of a design, which show whether a stored result is still that of a point's design."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from rlx.driver import driver
from rlx.targets import target
from rlx_fpga.architectures.dataflow.design import design_of
from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Graph
    from rlx.ir.module import GraphModule
    from rlx_fpga import FpgaOptions
    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.explore.fold import Fold


def folds_of(module: GraphModule, options: FpgaOptions) -> list[list[Any]]:
    """Return the foldings that are chosen for a network, a row for each layer."""
    pipeline = design_of(_lowered(module, options), options).pipeline
    return [key_of(layer.fold) for layer in pipeline.layers]


def pipeline_of(module: GraphModule, options: FpgaOptions, folds: Sequence[list[Any]]) -> Pipeline:
    """Return the pipeline of a network with foldings.

    Raises:
        LookupError: A layer lacks one of the foldings.
    """
    program = staged_graph(_lowered(module, options))
    rows = zip(program.stages, folds, strict=True)
    return Pipeline(program, {stage.name: _fold(program, stage.name, key) for stage, key in rows})


def digest(folds: Sequence[list[Any]]) -> str:
    """Return a hash of foldings, eight hexadecimal digits."""
    return hashlib.sha256(json.dumps(folds).encode()).hexdigest()[:8]


def is_current(stored_row: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether the row ``stored_row`` belongs to the design of the row ``now``."""
    return stored_row.get("design") == now.get("design")


def key_of(fold: Fold) -> list[Any]:
    """Return the parameters that identify a folding of a layer."""
    return [
        fold.pe, fold.simd, fold.beat_cycles, fold.drain_lanes,
        fold.logic, fold.store.value, fold.packing.value,
    ]  # fmt: skip


def _lowered(module: GraphModule, options: FpgaOptions) -> Graph:
    return driver.lower(module, target.load("fpga"), options=options).module.graph


def _fold(program: StagedGraph, name: str, key: list[Any]) -> Fold:
    """Return the folding of the layer ``name`` that ``key`` identifies."""
    *_, store, packing = key
    stage = next(stage for stage in program.stages if stage.name == name)
    for plain in stage.folds:
        for fold in (plain.packed(Packing(packing)), plain.with_lut_multipliers()):
            stored_fold = fold.stored_in(Store(store))
            if key_of(stored_fold) == key:
                return stored_fold
    raise LookupError(f"{name} has no folding {key}")
