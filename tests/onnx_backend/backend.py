"""A backend of ``onnx.backend.test``: models are imported, and run on the host by a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, defs, numpy_helper
from onnx.backend.base import Backend, BackendRep

from rlx.frontends.onnx import frontend
from rlx.runtime import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import ModelProto

    from rlx.runtime.compiled import CompiledGraph

OLDEST = 9
"""The oldest version of the standard that rlx reads."""

CONSTANT_INPUTS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            "AffineGrid", "CenterCropPad", "Compress", "CumProd", "CumSum", "Expand", "OneHot",
            "Reshape", "Split", "Squeeze", "Tile", "TopK", "Unsqueeze", "Upsample",
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
            "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
        ),
        (1,),
    ),
    **dict.fromkeys(
        ("BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow", "NonZero"), (0,)
    ),
    "Col2Im": (1, 2),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "STFT": (1, 3),
}  # fmt: skip
"""Inputs of operators that rlx needs as constants: they say what shape a result
has. The cases give them to the graph; here they become constants."""


class Compiled(BackendRep):  # type: ignore[misc]  # onnx has no types
    """A model that is ready to run.

    Attributes:
        graph: Graph that was made of it.
        inputs: Names of its inputs that are not constants, in order.
        outputs: Names of its outputs, in order.
    """

    def __init__(self, graph: CompiledGraph, inputs: list[str], places: list[int]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.places = places

    def run(self, inputs: Sequence[Any], **_: Any) -> tuple[Any, ...]:
        """Return the outputs for all inputs that the model has, those made constants too."""
        given = {n: np.asarray(inputs[p]) for n, p in zip(self.inputs, self.places, strict=True)}
        return tuple(self.graph.run(given))


class RlxBackend(Backend):  # type: ignore[misc]  # onnx has no types
    """Imports models with ``rlx.frontends.onnx.frontend`` and runs them with ``rlx.runtime``."""

    @classmethod
    def prepare(
        cls,
        model: ModelProto,
        device: str = "CPU",
        *,
        inputs: Sequence[Any] = (),
        computed: str = "",
        **_: Any,
    ) -> Compiled:
        """Return a model that is ready to run.

        Args:
            model: The model.
            device: Device that runs it: the host.
            inputs: Values of its inputs; those that must be constants are taken from here.
            computed: An input that stays one, even if it must be a constant.
        """
        if not cls.supports_device(device):
            raise ValueError(f"no device is called {device}")
        kept, places, changed = with_constants(_raised(model), inputs, computed)
        module = frontend.load(changed.SerializeToString(), name="case.onnx")
        return Compiled(Session().compile(module), kept, places)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether there is such a device."""
        return device == "CPU"


def _raised(model: ModelProto) -> ModelProto:
    """Return a model of operators older than rlx reads as one of version 9, where that is equal."""
    changed = type(model)()
    changed.CopyFrom(model)
    for entry in changed.opset_import:
        if entry.domain == "" and entry.version < OLDEST and all(
            defs.get_schema(n.op_type, OLDEST).since_version
            == defs.get_schema(n.op_type, entry.version).since_version
            for n in model.graph.node
        ):  # fmt: skip
            entry.version = OLDEST
    return changed


def with_constants(
    model: ModelProto, inputs: Sequence[Any], computed: str = ""
) -> tuple[list[str], list[int], ModelProto]:
    """Return the inputs that stay, their places, and the model with the others as constants."""
    names = {
        node.input[place]
        for node in model.graph.node
        for place in CONSTANT_INPUTS.get(node.op_type, ())
        if place < len(node.input)
    }
    names.discard(computed)
    changed = type(model)()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    kept, places = [], []
    for place, info in enumerate(model.graph.input):
        if info.name in names and place < len(inputs):
            changed.graph.initializer.append(_tensor(inputs[place], info.name))
        else:
            changed.graph.input.append(info)
            kept.append(info.name)
            places.append(place)
    return kept, places, changed


def _tensor(value: Any, name: str) -> TensorProto:
    return numpy_helper.from_array(np.asarray(value), name)
