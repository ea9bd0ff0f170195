"""Write the JSON Schemas of ``rlx/cli/schemas`` from its types: ``python tools/schemas.py``.

A type is a TypedDict, or a dataclass of which a command prints the fields. The docstring of a
dataclass describes the object and, under ``Attributes:``, each key.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from rlx.cli.schemas import SCHEMAS
from rlx.cli.schemas.records import KEYS, Keys

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parents[1] / "rlx" / "cli" / "schemas"

_CONTAINERS = {Mapping: dict, Sequence: list, Union: Union, UnionType: Union}


def schema_text(name: str, type_: Any) -> str:  # noqa: ANN401 - any type
    """Return the text of the JSON Schema file of a type."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"rlx {name}",
        **msgspec.json.schema(json_type(type_)),
    }
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def json_type(type_: Any) -> Any:  # noqa: ANN401 - any type
    """Return a type with a TypedDict for each dataclass in it, and JSON's types for others."""
    if isinstance(type_, type) and is_dataclass(type_):
        return _of_dataclass(type_)
    if is_typeddict(type_):
        return _of_typed_dict(type_)
    if isinstance(type_, type) and issubclass(type_, Enum):
        return str
    origin, arguments = get_origin(type_), get_args(type_)
    if not arguments:
        return type_
    parts = tuple(map(json_type, arguments))
    container = _CONTAINERS.get(origin, origin)
    return container[parts if len(parts) > 1 else parts[0]]


@cache
def _of_typed_dict(type_: Any) -> Any:  # noqa: ANN401 - a TypedDict
    hints = get_type_hints(type_, include_extras=True)
    return _typed_dict(
        type_, {name: json_type(hint) for name, hint in hints.items()}, type_.__doc__
    )


@cache
def _of_dataclass(type_: type) -> Any:  # noqa: ANN401 - a TypedDict
    """Return a TypedDict of the keys of a dataclass; all of them are required."""
    keys, (about, attributes) = KEYS.get(type_, Keys()), described(inspect.getdoc(type_) or "")
    names = _names(sys.modules[type_.__module__])
    hints = get_type_hints(type_, names)
    types = {field.name: hints[field.name] for field in fields(type_)}
    for name in keys.without:
        del types[name]
    for name in keys.properties:
        member = inspect.getattr_static(type_, name)
        function = member.fget if isinstance(member, property) else member
        types[name] = get_type_hints(function, names)["return"]
        attributes[name] = described(inspect.getdoc(function) or "")[0]
    return _typed_dict(
        type_,
        {name: _with_description(json_type(t), attributes.get(name)) for name, t in types.items()},
        about,
    )


def _typed_dict(type_: type, types: dict[str, Any], about: str | None) -> Any:  # noqa: ANN401
    """Return a TypedDict with the name of another type."""
    named: Any = TypedDict(type_.__name__, types)  # type: ignore[operator]
    named.__module__, named.__doc__ = type_.__module__, about
    return named


def _with_description(type_: Any, text: str | None) -> Any:  # noqa: ANN401 - any type
    return Annotated[type_, msgspec.Meta(description=text)] if text else type_


@cache
def _names(module: ModuleType) -> dict[str, Any]:
    """Return the names of a module, with those that it imports only for type checkers."""
    names = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            code = ast.Module(body=node.body, type_ignores=[])
            exec(compile(code, str(module.__file__), "exec"), names)
    return names


def described(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its sections, and that of each attribute by name."""
    about, _, section = docstring.partition("\nAttributes:\n")
    about = re.split(r"\n\w+:\n", about)[0]
    section = re.split(r"\n(?=\S)", section)[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, re.MULTILINE)
    return _joined(about), {name: _joined(text) for name, text in entries}


def _joined(text: str) -> str:
    """Return the paragraphs of a text in a line each."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def main() -> None:
    """Write all schemas."""
    for name, type_ in SCHEMAS.items():
        (FOLDER / f"{name}.json").write_text(schema_text(name, type_), encoding="utf-8")


if __name__ == "__main__":
    main()
