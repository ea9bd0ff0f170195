"""Values of ONNX attributes: defaults of the standard, and references inside of functions.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.frontends.onnx.file import Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.frontends.onnx.file import Attribute, Function
    from rlx.frontends.onnx.ops.call import Call


def default_of(attribute: Any) -> Attribute | None:  # noqa: ANN401 - of onnx.defs
    """Return an attribute's default by the schema, None if it has none."""
    default = attribute.default_value
    match default.type:
        case 1:
            return float(default.f)
        case 2:
            return int(default.i)
        case 3:
            return str(default.s.decode())
        case 6:
            return tuple(float(v) for v in default.floats)
        case 7:
            return tuple(int(v) for v in default.ints)
    return None


def bind_attributes(function: Function, call: Call) -> dict[str, Attribute]:
    """Return the values of a function's attributes where a node calls it."""
    given = dict(function.defaults)
    for name in (*function.attributes, *function.defaults):
        found = call.attribute(name)
        if found is not None:
            given[name] = found
    return given


def resolved(attributes: Mapping[str, Attribute], values: Mapping[str, Attribute]) -> dict[
    str, Attribute
]:  # fmt: skip
    """Return a node's attributes with references replaced; those without a value are left out."""
    resolved_attributes: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if not isinstance(value, Reference):
            resolved_attributes[name] = value
        elif value.name in values:
            resolved_attributes[name] = values[value.name]
    return resolved_attributes
