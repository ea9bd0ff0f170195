"""Variables of a TFLite file: values that are kept between runs.

``VAR_HANDLE`` names a variable, ``READ_VARIABLE`` copies it and ``ASSIGN_VARIABLE`` sets it, in the
order of the file; ``CALL_ONCE`` runs another subgraph before the first of them, which assigns
constants. Here a read becomes the tensor that was assigned last, and a variable that is read before
it is assigned becomes a state of the graph. So does a tensor in which a recurrent layer keeps its
own state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from rlx.frontends.refusal import FileRefusedError, MalformedError, UnsupportedError
from rlx.frontends.tflite.file import Variable
from rlx.frontends.tflite.schema import TensorType
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.frontends.tflite.file import Model, Operator

STATE_INPUTS: Final = {"SVDF": (4,), "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19)}
"""Indices of the inputs in which recurrent layers keep their state."""

Key: TypeAlias = tuple[str, str]
"""Container and name of a variable, which its handles share."""

_TYPES = (TensorType.INT8, TensorType.UINT8, TensorType.FLOAT32, TensorType.INT32)
"""Element types of variables."""
_ARITY = {
    "VAR_HANDLE": (0, 1),
    "READ_VARIABLE": (1, 1),
    "ASSIGN_VARIABLE": (2, 0),
    "CALL_ONCE": (0, 0),
}
"""Numbers of inputs and outputs."""


def with_states(model: Model) -> Model:
    """Return a model without operators on variables, whose ``states`` are those variables.

    Raises:
        UnsupportedError: A variable begins with different elements, is never assigned, or is used
            in a way that a state has not.
        MalformedError: Operators contradict each other.
    """
    if any(o.name in _ARITY for o in model.operators):
        variables = _Variables(model)
        operators = tuple(variables.keep(model.operators))
        outputs = tuple(variables.source(i) for i in model.outputs)
        model = replace(model, operators=operators, outputs=outputs, states=variables.states())
    layer_states = _layer_states(model)
    if not layer_states:
        return model
    tensors = list(model.tensors)
    for state in layer_states:
        tensors[state.tensor] = replace(tensors[state.tensor], refusal=None)
    return replace(model, tensors=tuple(tensors), states=(*model.states, *layer_states))


def _layer_states(model: Model) -> tuple[Variable, ...]:
    """Return the variables in which recurrent layers keep their state, each named only once."""
    uses = Counter((*model.inputs, *model.outputs))
    for operator in model.operators:
        uses.update((*operator.inputs, *operator.outputs))
    indices = [
        operator.inputs[place]
        for operator in model.operators
        for place in STATE_INPUTS.get(operator.name, ())
        if place < len(operator.inputs)
    ]
    owned = (model.tensors[i] for i in indices if i != -1 and uses[i] == 1)
    return tuple(
        Variable(name=tensor.name, tensor=tensor.index, following=tensor.index, initial=None)
        for tensor in owned
        if tensor.is_variable and tensor.data is None
    )


@dataclass(slots=True)
class _Use:
    """Use of a variable by the operators so far.

    Attributes:
        state: Tensor of its first read, None if it was assigned before.
        value: Tensor that a read gives now.
        is_assigned: Whether an operator of the main subgraph assigned it.
    """

    state: int | None
    value: int
    is_assigned: bool


class _Variables:
    """The variables of a model, followed through its operators."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._keys: dict[int, Key] = {}
        self._uses: dict[Key, _Use] = {}
        self._initial: dict[Key, int] = {}
        self._sources: dict[int, int] = {}

    def source(self, index: int) -> int:
        """Return the tensor that replaces tensor ``index``: for a read, the one assigned last."""
        return self._sources.get(index, index)

    def keep(self, operators: tuple[Operator, ...]) -> Iterator[Operator]:
        """Yield the operators that are not on variables, reads replaced in their inputs."""
        for operator in operators:
            try:
                if operator.name in _ARITY:
                    self._follow(operator)
                    continue
                if any(i in self._keys for i in operator.inputs):
                    raise UnsupportedError(
                        "reads the handle of a variable, expected READ_VARIABLE or ASSIGN_VARIABLE"
                    )
            except FileRefusedError as error:
                raise error.inside(operator.label) from None
            yield replace(operator, inputs=tuple(self.source(i) for i in operator.inputs))

    def states(self) -> tuple[Variable, ...]:
        """Return the variables that keep something from run to run."""
        return tuple(self._states())

    def _states(self) -> Iterator[Variable]:
        for key, use in self._uses.items():
            if use.state is None:
                continue
            if not use.is_assigned:
                error = UnsupportedError(
                    "the variable is read, but never assigned",
                    hint="take the variable out of the model; its value never changes",
                )
                raise error.inside(f"variable '{shorten(key[1])}'")
            yield Variable(name=printable(key[1]), tensor=use.state, following=use.value,
                           initial=self._initial.get(key))  # fmt: skip

    def _follow(self, operator: Operator) -> None:
        """Take note of an operator on a variable."""
        _check_arity(operator)
        if operator.name == "VAR_HANDLE":
            self._keys[operator.outputs[0]] = _key(operator)
        elif operator.name == "CALL_ONCE":
            if self._uses:
                raise UnsupportedError("comes after a variable was used, expected it before")
            self._initial |= _assigned(self._model.called[operator.options["init_subgraph"]])
        elif operator.name == "READ_VARIABLE":
            self._read(_key_of(self._keys, operator), operator.outputs[0])
        else:
            key, value = _key_of(self._keys, operator), self.source(operator.inputs[1])
            use = self._uses.setdefault(key, _Use(None, value, is_assigned=True))
            self._check_shape(use.value, value)
            use.value, use.is_assigned = value, True

    def _read(self, key: Key, result: int) -> None:
        if self._model.tensors[result].type not in _TYPES:
            raise UnsupportedError(
                f"reads {self._model.tensors[result].described}, expected int8, float32 or int32"
            )
        use = self._uses.setdefault(key, _Use(result, result, is_assigned=False))
        self._check_shape(use.value, result)
        self._sources[result] = use.value

    def _check_shape(self, before: int, after: int) -> None:
        """Check that two tensors of one variable have the same type and shape."""
        a, b = (self._model.tensors[i] for i in (before, after))
        if (a.type, a.shape) != (b.type, b.shape):
            raise MalformedError(
                f"{b.label} is {b.described}, but the variable is {a.described} ({a.label})"
            )


def _assigned(model: Model) -> dict[Key, int]:
    """Return the element with which each variable is filled by a subgraph that is called once."""
    keys: dict[int, Key] = {}
    elements: dict[Key, int] = {}
    for operator in model.operators:
        if operator.name == "VAR_HANDLE":
            _check_arity(operator)
            keys[operator.outputs[0]] = _key(operator)
        elif operator.name == "ASSIGN_VARIABLE":
            _check_arity(operator)
            elements[_key_of(keys, operator)] = _fill(model, operator)
        else:
            raise UnsupportedError(
                f"{operator.label} of the subgraph computes, expected ASSIGN_VARIABLE of constants",
                hint="set variables to constants before the first run",
            )
    return elements


def _fill(model: Model, operator: Operator) -> int:
    """Return the element that a variable is filled with."""
    tensor = model.tensors[operator.inputs[1]]
    if tensor.data is None or tensor.type not in _TYPES or not tensor.data.size:
        raise UnsupportedError(
            f"{operator.label} of the subgraph assigns {tensor.described}, expected a constant of "
            "int8, float32 or int32"
        )
    values = np.unique(tensor.array())
    if len(values) > 1 or values[0] != np.floor(values[0]) or not np.isfinite(values[0]):
        raise UnsupportedError(
            f"{operator.label} of the subgraph assigns different elements or a fraction, expected "
            "one integer for the whole variable",
            hint="let the variable begin with zeros",
        )
    return int(values[0])


def _check_arity(operator: Operator) -> None:
    counts = len(operator.inputs), len(operator.outputs)
    if counts != _ARITY[operator.name] or -1 in operator.inputs:
        inputs, outputs = _ARITY[operator.name]
        raise MalformedError(
            f"has {counts[0]} inputs and {counts[1]} outputs, expected {inputs} and {outputs}"
        )


def _key(operator: Operator) -> Key:
    return operator.options["container"], operator.options["shared_name"]


def _key_of(keys: dict[int, Key], operator: Operator) -> Key:
    """Return the variable whose handle an operator reads."""
    if operator.inputs[0] not in keys:
        raise MalformedError("expected the output of a VAR_HANDLE as input 0")
    return keys[operator.inputs[0]]
