"""Import the nodes of an ONNX graph one by one; unsupported ones are collected.

Tests: tests/unit/frontends/onnx/test_frontend.py
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.bodies import standard_body
from rlx.frontends.onnx.branches import branch, is_branch
from rlx.frontends.onnx.file import DOMAIN, Node, Subgraph, package
from rlx.frontends.onnx.ops import IMPORTERS, SYMBOLIC, Call, Real, Scope
from rlx.frontends.onnx.ops.attributes import bind_attributes, resolved
from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.frontends.onnx.ops.on_quantized import on_quantized
from rlx.frontends.onnx.ops.symbols import plain
from rlx.frontends.onnx.unknown import unknown
from rlx.frontends.refusal import FileRefusedError, MalformedError, UnsupportedError
from rlx.support.errors import ShapeError
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.file import Attribute, Function
    from rlx.frontends.onnx.ops.registry import Importer
    from rlx.frontends.onnx.ops.scope import Results

# Numbers of onnx.defs.OpSchema.AttrType whose values are read as Python's types.
_PYTHON_TYPES: Mapping[int, tuple[type, ...]] = {1: (float,), 2: (int,), 3: (str,)}


@dataclass(slots=True)
class Refusals:
    """Nodes that cannot be imported.

    Attributes:
        refused: Label of each node, its operator, and why.
    """

    refused: list[tuple[str, str, UnsupportedError]] = field(default_factory=list)


def import_nodes(scope: Scope, nodes: Sequence[Node], refusals: Refusals) -> None:
    """Import nodes in order.

    A node that is refused leaves its results out; of those after it only the operator is checked.

    Raises:
        MalformedError: A node contradicts itself or its operands.
    """
    for node in nodes:
        call = Call(scope, node, _schema(scope, node))
        try:
            name_tables = (scope.values, scope.model.tensors, scope.model.texts)
            known = all(not n or any(n in one for one in name_tables) for n in node.inputs)
            results = _results(call, refusals, run=known)
        except UnsupportedError as error:
            refusals.refused.append((call.label, node.operator, error))
            continue
        except MalformedError as error:
            raise error.inside(call.label) from None
        for name, result in zip(node.outputs, results, strict=False):
            if name and result is not None:
                scope.values[name] = result


def _schema(scope: Scope, node: Node) -> Any:  # noqa: ANN401 - of onnx.defs
    """Return the operator's definition in the version that the file imports, None if unknown."""
    version = scope.versions.get(node.domain)
    if version is None:
        return None
    defs = package().defs
    try:
        return defs.get_schema(node.type, version, node.domain)
    except defs.SchemaError:
        return None


def _results(
    call: Call, refusals: Refusals, *, run: bool
) -> Sequence[Real | npt.NDArray[Any] | None]:
    """Return the results of a node; nothing if an operand is missing because of a refusal."""
    node = call.node
    body = call.scope.model.functions.get((node.domain, node.type))
    importer = None
    if body is None and is_branch(call):
        return branch(call, partial(_import_subgraph, refusals)) if run else ()
    if body is None:
        importer = IMPORTERS.get((node.domain, node.type))
        body = None if importer else standard_body(call, run=run)
        if importer is None and body is None:
            reason, hint = unknown(node.domain, node.type)
            raise UnsupportedError(reason, hint=hint)
        _check_signature(call)
    if any(isinstance(a, Subgraph) for a in node.attributes.values()):
        raise UnsupportedError("holds a graph of its own, which rlx does not model")
    if not run:
        return ()
    with _as_refusals(call):
        if importer is None:
            return _expand(call, body, refusals) if body else ()
        return _result_list(_run_importer(call, importer))


@contextmanager
def _as_refusals(call: Call) -> Iterator[None]:
    """Turn errors of the computation of a node into refusals of the node."""
    try:
        yield
    except ShapeError as error:
        refusal: FileRefusedError = MalformedError(error.message, hint=error.own_hint)
        reason = error.message
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        reason = f"cannot be computed: {shorten(printable(str(error)), 200)}"
        refusal = MalformedError(reason)
    else:
        return
    # An error with open dimensions may disappear with their sizes.
    raise (UnsupportedError(reason, hint=OPEN_SHAPE) if call.is_open else refusal) from None


def _run_importer(call: Call, importer: Importer) -> Results:
    """Return the results of a node's importer; symbols are computed with where they can."""
    found: Results | None = _symbolic(call)
    if found is None:
        found = on_quantized(call, importer)
        call.require_all_read()
    return found


def _result_list(results: Results) -> Sequence[Real | npt.NDArray[Any] | None]:
    """Return results as a list; arrays of expressions without symbols become integers."""
    listed: Sequence[Any] = results if isinstance(results, list | tuple) else [results]
    return [plain(r) if isinstance(r, np.ndarray) and r.dtype == object else r for r in listed]


def _symbolic(call: Call) -> Any:  # noqa: ANN401
    """Return a node's results where an operand holds symbols and the operator can do that."""
    function = SYMBOLIC.get(call.node.type) if call.node.domain == DOMAIN else None
    if function is None:
        return None
    operands = [call.operand(i) for i in range(call.count) if call.has(i)]
    if not any(isinstance(o, np.ndarray) and o.dtype == object for o in operands):
        return None
    if any(isinstance(o, Real) and o.array is None for o in operands):
        return None
    return function(call)


def _check_signature(call: Call) -> None:
    """Check the number of inputs and outputs, and the attributes."""
    schema, node = call.schema, call.node
    if schema is None:
        return
    if schema.deprecated:
        raise UnsupportedError(
            f"the operator is gone from version {schema.since_version} on",
            hint="export the model again with operators of the version that it states",
        )
    for what, count, minimum, maximum in (
        ("inputs", len(node.inputs), schema.min_input, schema.max_input),
        ("outputs", len(node.outputs), schema.min_output, schema.max_output),
    ):
        if not minimum <= count <= maximum:
            expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
            raise MalformedError(f"has {count} {what}, expected {expected}")
    _check_attributes(node, schema)


def _check_attributes(node: Node, schema: Any) -> None:  # noqa: ANN401 - of onnx.defs
    """Check names and types of attributes."""
    for name, value in node.attributes.items():
        if name not in schema.attributes:
            raise MalformedError(
                f"has the attribute '{shorten(name)}', which {node.type} of version "
                f"{schema.since_version} does not have"
            )
        types = _PYTHON_TYPES.get(int(schema.attributes[name].type.value))
        if types and not isinstance(value, (*types, UnsupportedError)):
            raise MalformedError(f"attribute '{name}' is of the wrong type")
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in node.attributes:
            raise MalformedError(f"lacks the attribute '{name}'")


def _import_subgraph(refusals: Refusals, scope: Scope, graph: Subgraph) -> list[Any]:
    """Import a graph inside an operator into a scope; return its results, none if refused."""
    before = len(refusals.refused)
    import_nodes(scope, graph.nodes, refusals)
    if len(refusals.refused) > before:
        return []
    tensors = scope.model.tensors
    return [scope.values[n] if n in scope.values else tensors[n].array for n in graph.outputs]


def _expand(call: Call, function: Function, refusals: Refusals) -> list[Any]:
    """Inline a function in place of the node that calls it."""
    node, outer = call.node, call.scope
    if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
        raise MalformedError("has more inputs or outputs than the function that it calls")
    attributes = bind_attributes(function, call)
    inner = Scope(
        outer.model, outer.graph, {**outer.versions, **function.versions}, caller=call.label,
        limits=outer.limits, folded=outer.folded,
    )  # fmt: skip
    for index, name in enumerate(function.inputs):
        if call.has(index):
            inner.values[name] = call.operand(index)
    missing = {n for p, n in enumerate(function.inputs) if not call.has(p)}
    before = len(refusals.refused)
    import_nodes(
        inner, [_bind_attributes(n, attributes, missing) for n in function.nodes], refusals
    )
    if len(refusals.refused) > before:
        return []
    return [inner.values.get(name) for name in function.outputs]


def _bind_attributes(node: Node, attributes: Mapping[str, Attribute], missing: set[str]) -> Node:
    """Return a function's node with its attributes and without inputs that were left out."""
    return Node(
        node.index, node.name, node.domain, node.type,
        tuple("" if name in missing else name for name in node.inputs), node.outputs,
        resolved(node.attributes, attributes),
    )  # fmt: skip
