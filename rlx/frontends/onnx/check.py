"""Checks of an ONNX graph that go beyond single tensors.

Each check walks lists once, with no allocation that depends on a claimed size. Graphs inside of
operators are not deeper than messages of a file may be nested.

Tests: tests/unit/frontends/onnx/test_structure.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.onnx.file import DOMAIN, Subgraph, package
from rlx.frontends.onnx.infos import check_shape
from rlx.frontends.refusal import FileRefusedError, MalformedError, OverLimitError, UnsupportedError
from rlx.support.limits import raise_hint
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.frontends.onnx.file import Function, Model, Node
    from rlx.frontends.onnx.infos import Info
    from rlx.support.limits import Limits

MIN_OPSET: Final = 7
"""Version of the standard operators from which on they are read."""

# Constant operands that layers multiply with: they must be finite.
_WEIGHTS: Final = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (0, 1, 2),
    "MatMul": (0, 1),
    "BatchNormalization": (1, 2, 3, 4),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "RMSNormalization": (1,),
    "PRelu": (1,),
}


def check(model: Model, limits: Limits) -> None:
    """Check a model before anything is built of it.

    Raises:
        MalformedError: It contradicts itself or is over a limit.
        UnsupportedError: It is of a kind that rlx does not read.
    """
    try:
        _check_graph(model, limits)
    except FileRefusedError as error:
        raise error if error.path else error.inside("graph") from None


def _check_graph(model: Model, limits: Limits) -> None:
    _check_versions(model)
    for what, infos in (("graph input", model.inputs), ("graph output", model.outputs)):
        for number, info in enumerate(infos):
            try:
                _check_info(info, limits)
            except FileRefusedError as error:
                raise error.inside(f"{what} {number} '{_shown(info.name)}'") from None
    _check_distinct("graph inputs", (i.name for i in model.inputs))
    known = {*model.tensors, *model.texts, *(i.name for i in model.inputs)}
    _check_order(model.nodes, known, [o.name for o in model.outputs], "graph output")
    for function in model.functions.values():
        label = f"function {shorten(function.name)}"
        try:
            _check_distinct("inputs", function.inputs)
            _check_order(function.nodes, set(function.inputs), function.outputs, "output")
        except FileRefusedError as error:
            raise error.inside(label) from None
    _check_calls(model, limits)
    _check_weights(model)


def _shown(name: str) -> str:
    return shorten(printable(name))


def _check_versions(model: Model) -> None:
    """Refuse versions of the standard operators that nobody here knows."""
    version = model.versions.get(DOMAIN)
    if version is None:
        if any(n.domain == DOMAIN for n in model.nodes):
            raise MalformedError("the file does not say which version of the operators it uses")
        return
    newest = package().defs.onnx_opset_version()
    if version > newest:
        raise UnsupportedError(
            f"the operators are of version {version} (opset); the package onnx "
            f"{package().__version__} knows them up to {newest}",
            hint="install a newer onnx package, or export the model with an older opset",
        )
    if version < MIN_OPSET:
        raise UnsupportedError(
            f"the operators are of version {version} (opset); rlx reads {MIN_OPSET} to {newest}",
            hint="export the model with a newer opset, or convert it with onnx.version_converter",
        )


def _check_info(info: Info, limits: Limits) -> None:
    if info.shape is not None:
        check_shape(info.shape, limits)


def _check_distinct(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MalformedError(f"'{_shown(name)}' is twice among the {what}")
        seen.add(name)


def _check_order(nodes: Sequence[Node], known: set[str], outputs: Sequence[str], what: str) -> None:
    """Check that every value is written once, before it is read (so there is no cycle)."""
    writers = {name: node for node in nodes for name in node.outputs if name}
    for node in nodes:
        try:
            _check_node(node, known, writers)
            for inner in (a for a in node.attributes.values() if isinstance(a, Subgraph)):
                inner_known = {*known, *inner.tensors, *inner.inputs}
                _check_order(inner.nodes, inner_known, inner.outputs, "output of its graph")
        except FileRefusedError as error:
            raise error.inside(node.label) from None
        known.update(filter(None, node.outputs))
    if not outputs:
        raise MalformedError("the graph has no outputs")
    for position, name in enumerate(outputs):
        if name not in known:
            raise MalformedError(f"{what} {position} is '{_shown(name)}', which nothing writes")


def _check_node(node: Node, known: set[str], writers: dict[str, Node]) -> None:
    for position, name in enumerate(node.inputs):
        if not name or name in known:
            continue
        writer = writers.get(name)
        if writer is None:
            raise MalformedError(f"input {position} is '{_shown(name)}', which nothing writes")
        raise MalformedError(
            f"input {position} is '{_shown(name)}', which is written by {writer.label}: a cycle"
        )
    if not any(node.outputs):
        raise MalformedError("has no outputs")
    written: set[str] = set()
    for position, name in enumerate(node.outputs):
        if name and (name in known or name in written):
            raise MalformedError(
                f"output {position} is '{_shown(name)}', which is an input, a constant or "
                "written before (not in SSA form)"
            )
        written.add(name)


def _check_calls(model: Model, limits: Limits) -> None:
    """Check that functions end: none calls itself, and all calls together are not too many."""
    sizes: dict[tuple[str, str], int] = {}
    depths: dict[tuple[str, str], int] = {}
    for key in model.functions:
        _measure(model, key, sizes, depths, limits)
    total = sum(_cost(model, node, sizes) for node in model.nodes)
    if total > limits.nodes:
        raise OverLimitError(
            f"with its functions inlined the graph has {total} nodes; the limit is {limits.nodes}",
            hint=raise_hint("nodes", total),
        )


def _cost(model: Model, node: Node, sizes: dict[tuple[str, str], int]) -> int:
    """Return the nodes that replace one node after functions are inlined."""
    return sizes.get((node.domain, node.type), 1)


def _measure(
    model: Model,
    start: tuple[str, str],
    sizes: dict[tuple[str, str], int],
    depths: dict[tuple[str, str], int],
    limits: Limits,
) -> None:
    """Count the nodes of a function and of those that it calls, without recursion."""
    stack, open_ = [start], set()
    while stack:
        key = stack[-1]
        if key in sizes:
            stack.pop()
            continue
        function = model.functions[key]
        called = [k for k in _called_operators(model, function) if k not in sizes]
        if called:
            open_.add(key)
            if any(k in open_ for k in called):
                raise MalformedError("calls itself").inside(f"function {shorten(key[1])}")
            stack.append(called[0])
            continue
        sizes[key] = sum(_cost(model, n, sizes) for n in function.nodes) or 1
        depths[key] = 1 + max((depths[k] for k in _called_operators(model, function)), default=0)
        if depths[key] > limits.nesting:
            raise OverLimitError(
                f"functions call each other more than {limits.nesting} deep",
                hint=raise_hint("nesting"),
            )
        open_.discard(key)
        stack.pop()


def _called_operators(model: Model, function: Function) -> list[tuple[str, str]]:
    keys = ((n.domain, n.type) for n in function.nodes)
    return [k for k in keys if k in model.functions]


def _check_weights(model: Model) -> None:
    """Refuse weights that are not finite: a layer would compute NaN or infinity from them."""
    for node in model.nodes:
        for index in _WEIGHTS.get(node.type, ()) if node.domain == DOMAIN else ():
            name = node.inputs[index] if index < len(node.inputs) else ""
            tensor = model.tensors.get(name)
            if tensor is None or not tensor.dtype.is_float:
                continue
            wide = tensor.array if tensor.array.dtype.itemsize >= 4 else (
                tensor.array.astype(np.float32)
            )  # fmt: skip
            bad = ~np.isfinite(wide)
            if bad.any():
                where = [int(i) for i in np.unravel_index(int(bad.argmax()), bad.shape)]
                raise MalformedError(
                    f"input {index} is '{_shown(name)}', whose element {where} is "
                    f"{float(wide[tuple(where)])!r}, expected finite weights",
                    hint="train or export the model again: its weights hold NaN or infinity",
                ).inside(node.label)
