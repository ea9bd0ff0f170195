"""Operators that the ONNX standard itself defines by others.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.frontends.onnx.elements import NUMBERS
from rlx.frontends.onnx.file import Function, Subgraph, function_of, package
from rlx.frontends.refusal import MalformedError
from rlx.ir import Dim
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops import Call

# Their definitions draw random numbers or work on sequences.
_REFUSED = ("Bernoulli", "SequenceMap")


def standard_body(call: Call, *, run: bool) -> Function | None:
    """Return the definition of a standard operator that has no importer of its own.

    Args:
        call: The node.
        run: Whether its operands are there; without them the definition may be unknown, and an
            empty one is returned where there is one.

    Returns:
        The body, or None if the standard has none, or one with control flow.
    """
    schema = call.schema
    if schema is None or schema.name in _REFUSED:
        return None
    if not (schema.has_function or schema.has_context_dependent_function):
        return None
    if not run:
        return Function(call.node.domain, call.node.type, (), (), (), (), {}, {})
    try:
        text = _text(call, schema)
    except Exception as error:
        # The package's own code makes the definition, of attributes that nobody has checked.
        reason = shorten(printable(str(error)), 200)
        raise MalformedError(f"has no definition for these operands: {reason}") from None
    if not text:
        return None
    proto = package().FunctionProto.FromString(text)
    body = function_of(proto, call.scope.limits)
    if any(isinstance(a, Subgraph) for n in body.nodes for a in n.attributes.values()):
        return None
    return body


def _text(call: Call, schema: Any) -> bytes:  # noqa: ANN401 - of onnx.defs
    """Return the definition as protobuf."""
    version = call.scope.versions[call.node.domain]
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= version]
        if versions:
            return bytes(schema.get_function_with_opset_version(max(versions)))
        return bytes(schema.function_body.SerializeToString())
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    if not versions:
        return b""
    return bytes(
        schema.get_context_dependent_function_with_opset_version(
            max(versions), _node(call).SerializeToString(), _types(call)
        )
    )


def _node(call: Call) -> Any:  # noqa: ANN401 - a NodeProto
    """Return the node as protobuf."""
    helper, node = package().helper, call.node
    plain = {k: v for k, v in node.attributes.items() if isinstance(v, int | float | str | tuple)}
    return helper.make_node(
        node.type, list(node.inputs), list(node.outputs), domain=node.domain, **plain
    )


def _types(call: Call) -> list[bytes]:
    """Return the types of the operands as protobuf."""
    helper, protos = package().helper, []
    for index in range(call.count):
        if not call.has(index):
            protos.append(package().TypeProto().SerializeToString())
            continue
        type_ = call.type(index)
        shape = [str(d) if isinstance(d, Dim) else d for d in type_.shape]
        proto = helper.make_tensor_type_proto(NUMBERS[type_.dtype], shape)
        protos.append(proto.SerializeToString())
    return protos
