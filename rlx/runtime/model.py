"""Functions that are traced and compiled at their first use."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, overload

from rlx.ir import TensorType
from rlx.runtime.device import Device
from rlx.runtime.session import Session
from rlx.tracing import Graph, trace

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rlx.ir import Array
    from rlx.runtime.compiled import CompiledGraph


class Model:
    """A traced function, compiled once for each device. Made by ``model``.

    Attributes:
        name: Name of the graph: that of the function.
    """

    def __init__(self, function: Callable[..., Any], specs: tuple[TensorType, ...]) -> None:
        functools.update_wrapper(self, function)
        self.name = function.__name__
        self._function = function
        self._specs = specs
        self._lock = threading.Lock()
        self._graph: Graph | None = None
        self._compiled: dict[Device, CompiledGraph] = {}

    def __repr__(self) -> str:
        return f"<model {self.name!r}>"

    @property
    def graph(self) -> Graph:
        """The graph that the function traces."""
        with self._lock:
            return self._trace()

    def compiled(self, device: Device | str = Device.CPU) -> CompiledGraph:
        """Return the compiled graph on ``device``, the same one every time."""
        device = Device(device)
        with self._lock:
            if device not in self._compiled:
                self._compiled[device] = Session(device).compile(self._trace())
            return self._compiled[device]

    def __call__(self, *inputs: npt.ArrayLike) -> list[Array]:
        """Return the outputs on the processor for inputs in the order of their declaration."""
        return self.compiled()(*inputs)

    def _trace(self) -> Graph:
        if self._graph is None:
            self._graph = trace(self.name, self._function, *self._specs)
        return self._graph


@overload
def model(function: Callable[..., Any], /) -> Model: ...


@overload
def model(*specs: TensorType) -> Callable[[Callable[..., Any]], Model]: ...


def model(*specs: Any) -> Model | Callable[[Callable[..., Any]], Model]:
    """Turn the decorated function into a model, as ``trace`` would run it.

    Args:
        specs: Types of the inputs; without any the function gets the graph to build, and the
            parentheses may be left out.

    Example:
        >>> @rlx.model(rlx.f32(4))
        ... def double(x):
        ...     return x + x
        >>> double(np.ones(4))[0].tolist()
        [2.0, 2.0, 2.0, 2.0]
    """
    if len(specs) == 1 and not isinstance(specs[0], TensorType) and callable(specs[0]):
        return Model(specs[0], ())
    return lambda function: Model(function, specs)
