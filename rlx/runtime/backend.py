"""The interface of backends, and the installed ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Protocol

from rlx.passes import fit
from rlx.runtime.device import Device
from rlx.support import plugins
from rlx.support.config import variable_of
from rlx.support.errors import BackendWarning, TargetNotFoundError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from rlx.ir import Array, Graph, GraphModule, Node, Op, Refusal
    from rlx.passes import Fitted, Policies
    from rlx.runtime.options import CompileOptions

GROUP = "rlx.backends"


class Program(Protocol):
    """A graph of static shapes, ready to run. It runs one call at a time.

    Attributes:
        module: The graph at stage LIR.
    """

    module: GraphModule

    @property
    def workspace_bytes(self) -> int:
        """Bytes that single steps need while they run; 0 before parameters are set."""
        ...

    def set_params(self, values: Mapping[str, Array]) -> None:
        """Set all parameters of the module; the arrays are not modified afterwards."""
        ...

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs in order, read-only and overwritten by the next run.

        Args:
            inputs: An array for each input that is not a state, in order, of its exact type.
        """
        ...

    def read_state(self, name: str) -> Array:
        """Return a copy of the value of a state."""
        ...

    def write_state(self, name: str, value: Array) -> None:
        """Set the value of a state, of its exact type; zeros if it was never set."""
        ...

    def profile(self, inputs: Sequence[Array]) -> Sequence[tuple[Node, int, int]]:
        """Run once; return each node that computes, and when it began and ended.

        Times are nanoseconds of ``time.perf_counter_ns``.
        """
        ...


class Backend(Protocol):
    """Interface of a package under the entry-point group ``rlx.backends``.

    It may have an attribute ``api``, the version of this interface that it is written for
    (:data:`rlx.support.plugins.API`). A backend for several devices may have a method
    ``on(device)``, which returns the backend for one of them alone; ``find_backend`` calls it. A
    method ``hardware(device)`` returns the name of the hardware that a device is, for ``rlx
    devices``. A backend with a method ``compiler()``, which returns name and version of the
    compiler that it uses, has its programs compared with NumPy (:mod:`rlx.runtime.checking`).

    Attributes:
        name: Name in options and reports.
        devices: Devices it can run on, given their drivers.
        rank: Of several backends for a device, the one of highest rank is used.
    """

    name: str
    devices: tuple[Device, ...]
    rank: int

    def unavailable(self, device: Device) -> str | None:
        """Return the reason that ``device`` cannot be used on this machine, or None if it can."""
        ...

    def refusal(self, node: Node) -> Refusal | None:
        """Return the reason that ``node`` cannot be run unchanged, or None if it can.

        A model-level node that is refused is decomposed; any other one makes the graph fail.
        """
        ...

    def claims(self, op: type[Op]) -> bool:
        """Whether a fused op of this class has a kernel; without one its ops are not fused."""
        ...

    def plan(self, module: GraphModule, options: CompileOptions) -> GraphModule:
        """Return ``module`` at stage LIR, as ``compile`` requires it.

        Args:
            module: A graph of static shapes without refused nodes.
            options: Options of compilation.
        """
        ...

    def compile(self, module: GraphModule, options: CompileOptions) -> Program:
        """Return a program for ``module``, as ``plan`` returned it."""
        ...


def fit_to_backend(graph: Graph, backend: Backend, policies: Policies | None = None) -> Fitted:
    """Return ``graph`` in the ops that ``backend`` runs, where possible, and the report."""
    fitted = fit(graph, f"backend {backend.name}", backend.refusal, policies)
    hint = "change the model, or run it by another backend"
    return replace(fitted, report=replace(fitted.report, hint=hint))


@cache
def backends() -> tuple[Backend, ...]:
    """Return the installed backends that can be loaded, best first."""
    found: list[Backend] = plugins.load_all(GROUP)
    return tuple(sorted(found, key=lambda b: (-b.rank, b.name)))


def devices() -> tuple[Device, ...]:
    """Return the devices that a session can be opened on, on this machine.

    Example:
        >>> rlx.Device.CPU in rlx.devices()
        True
    """
    return tuple(d for d in Device if any(_can_use(b, d) for b in backends()))


def find_backend(device: Device, name: str | None = None) -> Backend:
    """Return the best backend for ``device``, or the one called ``name``.

    Raises:
        TargetNotFoundError: There is none, or it cannot be loaded, or not used on this machine.
    """
    able = [b for b in backends() if device in b.devices and name in (None, b.name)]
    for backend in able:
        reason = backend.unavailable(device)
        if reason is None:
            return _bound(backend, device)
        if len(able) > 1:
            _warn_passed_over(backend.name, str(device), reason)
    if able:
        raise TargetNotFoundError(
            f"backend {able[0].name} cannot use {device}: {able[0].unavailable(device)}",
            hint=f"devices here: {_list_items(devices())}",
        )
    raise _not_found(device, name)


def _not_found(device: Device, name: str | None) -> TargetNotFoundError:
    """Return the error about a device without a backend, or an unknown or unfit one."""
    where = None if name is None else variable_of("backend", name)
    named = next((b for b in backends() if b.name == name), None)
    if named is not None:
        usable = [d for d in named.devices if _can_use(named, d)]
        able = [b.name for b in backends() if _can_use(b, device)]
        other = f", or another backend: {_list_items(able)}" if able else ""
        return TargetNotFoundError(
            f"backend {name} runs on {_list_items(named.devices)}, not on {device}",
            where=where,
            hint=f"give --device {(*usable, *named.devices)[0]}{other}",
        )
    if name is not None and (problem := plugins.problem_of(GROUP, name)):
        return TargetNotFoundError(str(problem), where=where, hint=problem.hint)
    broken = [str(one.problem) for one in plugins.survey(GROUP) if one.problem]
    absent = f"; not loaded: {_list_items(broken)}" if broken else ""
    names = [b.name for b in backends()]
    if name is not None:
        known = did_you_mean(name, names, what="backends")
        return TargetNotFoundError(
            f"no backend is called {name!r}", where=where, hint=f"{known}{absent}"
        )
    return TargetNotFoundError(
        f"no installed backend runs on {device}",
        hint=f"backends: {_list_items(names)}{absent}; devices: {_list_items(devices())}",
    )


@cache
def _warn_passed_over(name: str, device: str, reason: str) -> None:
    """Warn once that a better backend cannot be used."""
    warnings.warn(
        f"backend {name} cannot use {device}: {reason}; a slower one is used",
        BackendWarning,
        stacklevel=4,
    )


def next_backend(device: Device, excluded: Collection[str]) -> Backend | None:
    """Return the best backend for ``device`` whose name is not excluded, None without one."""
    for backend in backends():
        if backend.name not in excluded and _can_use(backend, device):
            return _bound(backend, device)
    return None


def _bound(backend: Backend, device: Device) -> Backend:
    """Return the backend for one device alone."""
    bind: Callable[[Device], Backend] | None = getattr(backend, "on", None)
    return backend if bind is None else bind(device)


def _can_use(backend: Backend, device: Device) -> bool:
    return device in backend.devices and backend.unavailable(device) is None


def _list_items(items: Sequence[object]) -> str:
    return ", ".join(map(str, items)) or "none"
