"""Names of parametrized tests: what a case is given, not its place in the table."""

from __future__ import annotations

import linecache
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from types import FunctionType
from typing import Any

import numpy as np

from rlx.ir import Graph, Op
from rlx.ir.dims import Dim
from rlx.ir.types import QuantParams, TensorType

MAX_CHARS = 90
"""Characters of a name at most."""

PLAIN = (type(None), str, bytes, int, float, complex, PurePath, slice)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return a name for ops, types, containers and arrays; None leaves it to pytest."""
    if val is None or isinstance(val, (str, bytes, bool, int, float, complex, type, Enum)):
        return None
    try:
        name = _name(val)
    except TypeError:
        return None
    return name if len(name) <= MAX_CHARS else f"{name[: MAX_CHARS - 3]}..."


def _name(val: object) -> str:
    """Return the text of a value; those that have none are a TypeError."""
    if isinstance(val, (TensorType, Dim, QuantParams)):
        return str(val)
    if isinstance(val, dict):
        return ", ".join(f"{key}={_name(item)}" for key, item in val.items())
    if isinstance(val, (tuple, list)):
        return f"[{', '.join(map(_name, val))}]"
    if isinstance(val, (np.ndarray, np.generic)):
        return f"{val.dtype}{list(val.shape)}"
    if isinstance(val, Graph):
        return " ".join(_name(node.op) for node in val.op_nodes)
    return _record(val) if is_dataclass(val) and not isinstance(val, type) else _plain(val)


def _record(val: Any) -> str:
    """Return the text of a dataclass, without the fields that have their default."""
    given = {f.name: getattr(val, f.name) for f in fields(val) if f.init}
    shown = {f.name: given[f.name] for f in fields(val) if f.init and f.default != given[f.name]}
    return f"{val.name if isinstance(val, Op) else type(val).__name__}({_name(shown)})"


def _plain(val: Any) -> str:
    """Return the text of what holds nothing else."""
    if isinstance(val, PLAIN):
        return repr(val)
    if isinstance(val, FunctionType) and val.__name__ == "<lambda>":
        return _body(val)
    if hasattr(val, "op_type"):  # a node of ONNX
        return f"{val.op_type}({', '.join(a.name for a in val.attribute)})"
    return val.name if isinstance(val, Enum) else _identifier(val)


def _identifier(val: Any) -> str:
    name = getattr(val, "__name__", None)
    if name is None:
        raise TypeError(val)
    return name


def _body(function: FunctionType) -> str:
    """Return the source of what a lambda returns."""
    code = function.__code__
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if d]
    (first, start), (last, end) = min(p[:2] for p in places), max(p[2:] for p in places)
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return " ".join(b"".join(lines).decode().split())
