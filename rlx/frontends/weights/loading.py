"""Weights of a safetensors file put into a graph by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.foreign import foreign
from rlx.frontends.reading import check_size, read_start
from rlx.frontends.refusal import FileRefusedError
from rlx.frontends.weights.safetensors import StoredTensor, stored_tensors
from rlx.frontends.weights.weight import quoted, shown
from rlx.ir import Constant, DType, Graph, Param, TensorType, rebuild
from rlx.ir.module import as_module, with_graph
from rlx.ir.verify import verify
from rlx.support.errors import FormatError, FrontendError
from rlx.support.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rlx.ir import Array, Node, Value
    from rlx.ir.module import Given

    Rename = Mapping[str, str] | Callable[[str], str | None]

_MAX_LISTED_NAMES = 20
"""Names of each kind in one message."""


def load_weights(
    graph: Given,
    *paths: str | Path,
    rename: Rename | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Given:
    """Return a graph with the tensors of safetensors files as its constants, by name.

    Parameters become constants; a constant of that name gets other elements. Every parameter has to
    be in one of the files, and every tensor of the files in the graph. Shapes are equal; element
    types are converted between floats, and between integers, where no element changes. One tensor
    is in memory at a time, besides the graph.

    Args:
        graph: A graph or a network, without a memory plan.
        paths: The files; several for weights that are stored in parts.
        rename: The graph's name for each name of a file, as a mapping (other names stay unchanged)
            or as a function, which returns None for tensors that are left out.
        limits: Limits on the size of a file.

    Raises:
        UsageError: It is not a graph, or a file cannot be read.
        FormatError: A file is of another format.
        FrontendError: A file is malformed or over a limit, or names, shapes or element types do
            not fit; all that do not are in one message.
        VerifyError: The weights violate bounds that the graph's integer ops declare.

    Example:
        >>> graph = rlx.Graph("scale")
        >>> graph.output(graph.input("x", 4) * graph.param("w", 4))
        >>> header = b'{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
        >>> content = len(header).to_bytes(8, "little") + header + bytes(16)
        >>> _ = Path("w.safetensors").write_bytes(content)
        >>> rlx.load_weights(graph.module, "w.safetensors").graph.params
        ()
    """
    files = []
    for path in map(Path, paths):
        try:
            check_size(path, limits)
            _check_format(path)
            files.append(stored_tensors(path, limits))
        except FileRefusedError as error:
            raise error.public(shown(path)) from None
    module = as_module(graph)
    assignment = _Assignment.of(module.graph, files, rename)
    new = module.with_graph(rebuild(module.graph, assignment.visit, by="load_weights"))
    assignment.finish(", ".join(shown(Path(path)) for path in paths))
    verify(new, where="after load_weights")
    return with_graph(graph, new.graph)


def _check_format(path: Path) -> None:
    """Raise FormatError if neither the name nor the first bytes are those of safetensors."""
    if path.suffix.lower() == ".safetensors" or read_start(path, 9)[8:] == b"{":
        return
    kind = foreign.kind_of(path)
    what = kind.what.partition(":")[0] if kind else "of another format"
    raise FormatError(
        f"is {what}; load_weights reads .safetensors files",
        where=shown(path),
        hint="rlx.WeightStore.open reads .npz, .gguf and .onnx files too, for rlx.freeze and"
        " set_params",
    )


@dataclass(slots=True)
class _Assignment:
    """Assignment of tensors to nodes, and everything that does not fit.

    Attributes:
        tensors: The tensor for each name of the graph.
        unused: Names of tensors that no node has read yet, as the graph would name them.
        missing: Parameters without a tensor.
        problems: Everything else that does not fit, a line each.
    """

    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @staticmethod
    def of(graph: Graph, files: Iterable[list[StoredTensor]], rename: Rename | None) -> _Assignment:
        """Return the assignment of the files' tensors to a graph's nodes."""
        self = _Assignment()
        for stored in (stored for tensors in files for stored in tensors):
            name = _new_name(stored.name, rename)
            if name is None:
                continue
            if name in self.tensors:
                self.problems.append(f"two tensors are called {quoted(name)}")
            self.tensors[name] = stored
            self.unused[name] = stored.name
        counts: dict[str, int] = {}
        for node in graph.nodes:
            if isinstance(node.op, Param | Constant):
                counts[node.name] = counts.get(node.name, 0) + 1
        for name in self.tensors:
            if counts.get(name, 0) > 1:
                self.problems.append(
                    f"{quoted(name)} may be any of {counts[name]} constants of the graph"
                )
        return self

    def visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        """Return the constant that replaces a parameter or another constant."""
        del operands
        if not isinstance(node.op, Param | Constant):
            return None
        stored = self.tensors.get(node.name)
        if stored is None:
            if isinstance(node.op, Param):
                self.missing.append(node.name)
            return None
        self.unused.pop(node.name, None)
        array = self._converted(node.name, stored, node.types[0])
        if array is None:
            return None
        return [new.constant(array, name=node.name, quant=node.types[0].quant)]

    def _converted(self, name: str, stored: StoredTensor, type_: TensorType) -> Array | None:
        """Return the elements in the graph's type; None, and a problem, if they do not fit it."""
        if stored.shape != type_.shape:
            stored_type = f"{stored.dtype.value}[{', '.join(map(str, stored.shape))}]"
            self.problems.append(f"{quoted(name)} is {stored_type}, expected {type_}")
            return None
        try:
            array = stored.read()
        except ValueError as error:
            self.problems.append(f"{quoted(name)}: {error}")
            return None
        if stored.dtype.is_float and np.isnan(array).any():
            self.problems.append(f"{quoted(name)} holds NaN, which is not a number")
            return None
        converted = exactly(array, type_.dtype)
        if converted is None:
            self.problems.append(
                f"{quoted(name)} is {stored.dtype.value}, and as {type_.dtype.value} some of its "
                "elements would be others"
            )
        return converted

    def finish(self, where: str) -> None:
        """Raise FrontendError if anything does not fit."""
        lines = [
            *_name_line("the graph has no parameter or constant", self.unused.values()),
            *_name_line("the files have no tensor", self.missing),
            *self.problems[:_MAX_LISTED_NAMES],
        ]
        if len(self.problems) > _MAX_LISTED_NAMES:
            lines.append(f"and {len(self.problems) - _MAX_LISTED_NAMES} more do not fit")
        if lines:
            raise FrontendError(
                "\n  ".join(["the weights do not fit the graph", *lines]),
                where=where,
                hint="give the graph's names with rename=..., and store the weights in shapes and "
                "element types of the graph; rename to None what is left out",
            )


def _new_name(name: str, rename: Rename | None) -> str | None:
    if rename is None:
        return name
    return rename(name) if callable(rename) else rename.get(name, name)


def _name_line(what: str, names: Iterable[str]) -> list[str]:
    """Return one line with names, none without names."""
    found = [quoted(name) for name in sorted(names)]
    if not found:
        return []
    more = f" and {len(found) - _MAX_LISTED_NAMES} more" if len(found) > _MAX_LISTED_NAMES else ""
    return [f"{what} {', '.join(found[:_MAX_LISTED_NAMES])}{more}"]


def exactly(array: Array, dtype: DType) -> Array | None:
    """Return the same values in another element type, None if one of them would change."""
    source = DType.of(array)
    if source is dtype:
        return array
    if not ((source.is_float and dtype.is_float) or (source.is_integer and dtype.is_integer)):
        return None
    with np.errstate(all="ignore"):
        converted = array.astype(dtype.numpy)
        same = np.asarray(converted.astype(array.dtype) == array)
    if source.is_integer:
        # Wrapping twice results in the same value, but with another sign.
        same &= np.less(converted, 0) == np.less(array, 0)
    return converted if bool(same.all()) else None
