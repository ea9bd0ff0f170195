"""Interface of importers to one ONNX node and the graph.

Tests: tests/unit/frontends/onnx/test_frontend.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.file import Tensor
from rlx.frontends.onnx.ops.attributes import default_of
from rlx.frontends.onnx.ops.scope import Real, Scope
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.ir import Dim, DType, Origin, QuantParams, TensorType
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.onnx.file import Attribute, Node
    from rlx.ir import Array, Shape

OPEN_SHAPE = "give the shape of the graph's inputs, as --input-shape NAME=1x3x224x224"
"""Hint for dimensions without a size."""

# For training and storage only, or how the standard's own definition rounds between steps.
_WITHOUT_EFFECT = frozenset(
    ("momentum", "seed", "spatial", "storage_order", "stash_type", "consumed_inputs")
)


@dataclass(frozen=True, slots=True)
class Call:
    """One node, its operands and results, and the graph it is added to.

    Attributes:
        scope: The graph.
        node: The node.
        schema: Schema of the operator in this version from the package ``onnx``; None for operators
            that it does not know.
        read: Names of the attributes that were asked for.
    """

    scope: Scope
    node: Node
    schema: Any = None
    read: set[str] = field(default_factory=set)

    @property
    def version(self) -> int:
        """The version of the standard in which the operator got the meaning that is used."""
        return int(self.schema.since_version) if self.schema else 0

    @property
    def origin(self) -> Origin:
        """Origin of the node's ops."""
        return Origin(self.scope.model.source, self.label)

    @property
    def label(self) -> str:
        """Name of the node in messages."""
        place = f"{self.scope.caller}, " if self.scope.caller else ""
        return f"{place}{self.node.label}"

    @property
    def is_open(self) -> bool:
        """Return whether an operand has a dimension without a size, or holds one."""
        known = [p for p in range(self.count) if self.has(p)]
        operands = [self.operand(p) for p in known]
        return not all(self.type(p).is_static for p in known) or any(
            isinstance(o, np.ndarray) and o.dtype == object for o in operands
        )

    @property
    def result_name(self) -> str:
        """Name of the ops: that of the first output."""
        return printable(next(filter(None, self.node.outputs), ""))

    def refuse(self, reason: str, hint: str | None = None) -> UnsupportedError:
        """Return (not raise) the refusal of a node that is sound but not modelled."""
        return UnsupportedError(reason, hint=hint)

    def malformed(self, reason: str, hint: str | None = None) -> MalformedError:
        """Return (not raise) the refusal of a node that contradicts itself."""
        return MalformedError(reason, hint=hint)

    # Attributes.

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute, else the operator's default, else None."""
        self.read.add(name)
        found = self.node.attributes.get(name)
        if found is None and self.schema is not None and name in self.schema.attributes:
            return default_of(self.schema.attributes[name])
        if isinstance(found, UnsupportedError):
            raise UnsupportedError(f"attribute '{name}' {found.message}", hint=found.hint)
        return found

    def require_all_read(self) -> None:
        """Refuse a node with an attribute that nobody asked for, unless it changes nothing.

        A later version of an operator may have one more, and with it another meaning.
        """
        for name, value in self.node.attributes.items():
            known = self.schema is not None and name in self.schema.attributes
            default = default_of(self.schema.attributes[name]) if known else None
            if name not in self.read and name not in _WITHOUT_EFFECT and value != default:
                raise UnsupportedError(
                    f"attribute '{shorten(name)}' is not supported in version {self.version} of "
                    f"{self.node.type}",
                    hint="export the model with an older opset, or without the attribute",
                )

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, int):
            raise self._wrong(name, "an integer", found)
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Return a float (a float32, as files hold them)."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, float):
            raise self._wrong(name, "a number", found)
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        found = self.attribute(name)
        if found is None and default is not None:
            return default
        if not isinstance(found, str):
            raise self._wrong(name, "a text", found)
        return found

    def flag(self, name: str) -> bool:
        """Return an integer as a boolean."""
        return bool(self.integer(name, 0))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers, None if it is not given."""
        found = self.attribute(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, int) for v in found):
            raise self._wrong(name, "a list of integers", found)
        return tuple(int(v) for v in found)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of floats, None if it is not given."""
        found = self.attribute(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, float) for v in found):
            raise self._wrong(name, "a list of numbers", found)
        return tuple(float(v) for v in found)

    def tensor(self, name: str) -> Tensor | None:
        """Return a tensor, None if it is not given."""
        found = self.attribute(name)
        if found is not None and not isinstance(found, Tensor):
            raise self._wrong(name, "a tensor", found)
        return found

    def _wrong(self, name: str, expected: str, value: object) -> MalformedError:
        kind = "missing" if value is None else f"a {type(value).__name__}"
        return MalformedError(f"attribute '{name}' is {kind}, expected {expected}")

    # Operands.

    @property
    def count(self) -> int:
        """Number of inputs, those that are left out counted."""
        return len(self.node.inputs)

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def wants(self, index: int) -> bool:
        """Whether an output has a name, so that somebody may read it."""
        return index < len(self.node.outputs) and self.node.outputs[index] != ""

    def operand(self, index: int) -> Real | npt.NDArray[Any]:
        """Return an input: a value of the graph, or known elements (see ``Symbolic``)."""
        if not self.has(index):
            raise MalformedError(f"input {index} is missing")
        name = self.node.inputs[index]
        scope = self.scope
        if name not in scope.values and name in scope.model.texts:
            raise UnsupportedError(
                f"'{self._name(index)}' holds strings, which rlx does not model",
                hint="use float, integer or boolean tensors",
            )
        if name not in scope.values:
            scope.values[name] = scope.model.tensors[name].array
        return scope.values[name]

    def texts(self, index: int) -> tuple[str, ...] | None:
        """Return the texts that an input holds, None if it holds none."""
        name = self.node.inputs[index] if self.has(index) else ""
        return None if name in self.scope.values else self.scope.model.texts.get(name)

    def value(self, index: int) -> Real:
        """Return an input as a value of the graph; a constant enters it when it is first used."""
        operand = self.operand(index)
        if isinstance(operand, Real):
            return Real(self.scope, operand.value, self)
        if operand.dtype == object:
            raise self._unbound(index)
        name = self.node.inputs[index]
        value = self.scope.constant(operand, self, name=printable(name))
        self.scope.values[name] = Real(self.scope, value, self)
        return Real(self.scope, value, self)

    def maybe(self, index: int) -> Real | None:
        """Return an input, or None if it is left out."""
        return self.value(index) if self.has(index) else None

    def values(self) -> list[Real]:
        """Return all inputs."""
        return [self.value(place) for place in range(self.count)]

    def type(self, index: int) -> TensorType:
        """Return the type of an input."""
        operand = self.operand(index)
        if isinstance(operand, Real):
            return operand.type
        dtype = DType.I64 if operand.dtype == object else DType.of(operand)
        return TensorType(tuple(operand.shape), dtype)

    def known(self, index: int) -> Array | None:
        """Return the elements of an input if all are known, symbols not allowed, else None."""
        operand = self.operand(index)
        if isinstance(operand, Real):
            return operand.array
        return None if operand.dtype == object else operand

    def array(self, index: int) -> Array:
        """Return the elements of an input that must be known."""
        elements = self.known(index)
        if elements is None:
            operand = self.operand(index)
            if not isinstance(operand, Real):
                raise self._unbound(index)
            raise UnsupportedError(
                f"input {index} '{self._name(index)}' is computed at run time; rlx needs a "
                "constant there",
                hint="export the model with fixed shapes and with constants folded",
            )
        return elements

    def bounds(self, index: int) -> tuple[int, int] | None:
        """Return minimum and maximum of an input of integers that are narrower than their type."""
        name = self.node.inputs[index]
        tensor = self.scope.model.tensors.get(name)
        if tensor is not None and tensor.bits:
            return 0, (1 << tensor.bits) - 1
        return self.scope.bounds.get(name)

    def dims(self, index: int) -> tuple[int | Dim, ...]:
        """Return the integers of an input that must be known but for symbols."""
        operand = self.operand(index)
        array = operand if not isinstance(operand, Real) and operand.dtype == object else (
            self.array(index)
        )  # fmt: skip
        if array.dtype != object and array.dtype.kind not in "iu":
            raise MalformedError(f"input {index} holds {array.dtype}, expected integers")
        if array.size > self.scope.limits.operands:
            raise MalformedError(f"input {index} has {array.size} numbers, expected fewer")
        flat = array.reshape(-1).tolist()
        return tuple(v if isinstance(v, Dim) else int(v) for v in flat)

    def ints(self, index: int) -> tuple[int, ...]:
        """Return the integers of an input that must be known, without symbols."""
        dims = self.dims(index)
        numbers = tuple(d for d in dims if isinstance(d, int))
        if len(numbers) != len(dims):
            raise self._unbound(index)
        return numbers

    def _unbound(self, index: int) -> UnsupportedError:
        return UnsupportedError(
            f"input {index} '{self._name(index)}' is computed from a dimension without a size",
            hint=OPEN_SHAPE,
        )

    def _name(self, index: int) -> str:
        return shorten(printable(self.node.inputs[index]))

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < max(rank, 1):
            raise MalformedError(f"the axis is {value}, but there are {rank} dimensions")
        return value % max(rank, 1)

    def shape(self, index: int) -> Shape:
        """Return the shape of an input."""
        return self.type(index).shape

    # Making things.

    def constant(self, array: npt.ArrayLike, dtype: DType | None = None) -> Real:
        """Return a constant that the node brings itself."""
        elements = np.asarray(array, None if dtype is None else dtype.numpy)
        return Real(self.scope, self.scope.constant(elements, self), self)

    def quantized(self, array: Array, quant: QuantParams) -> Real:
        """Return constant quantized values with their quantization."""
        return Real(self.scope, self.scope.constant(array, self, quant), self)
