"""Survey of devices: which backend uses each, and the reasons that others do not.

Tests: tests/cli/commands/test_devices.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rlx.runtime.backend import GROUP, backends
from rlx.runtime.device import Device
from rlx.support import plugins
from rlx.support.errors import TargetNotFoundError

if TYPE_CHECKING:
    from rlx.runtime.backend import Backend


@runtime_checkable
class _NamesHardware(Protocol):
    """Backend that can name the hardware of a device."""

    def hardware(self, device: Device) -> str:
        """Return the name; raise TargetNotFoundError where the hardware is absent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendStatus:
    """A backend for a device.

    Attributes:
        name: Name of the backend.
        usable: Whether it can use the device on this machine.
        reason: Reason that it cannot, with the command that installs what is missing; else empty.
        hardware: Name of what it runs on, if it can run and names it; else empty.
    """

    name: str
    usable: bool
    reason: str = ""
    hardware: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStatus:
    """A device, and its backends in the order in which sessions try them.

    Attributes:
        device: Name of the device.
        backend: Backend that sessions use; None if none can.
        backends: All backends for it.
    """

    device: str
    backend: str | None
    backends: tuple[BackendStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadedBackend:
    """A backend that cannot be loaded.

    Attributes:
        name: Name of its entry point.
        reason: Reason that it cannot.
        hint: Advice; may be empty.
    """

    name: str
    reason: str
    hint: str


def survey_devices() -> tuple[DeviceStatus, ...]:
    """Return the status of each device, in the order of ``Device``."""
    return tuple(_status(device) for device in Device)


def unloaded_backends() -> tuple[UnloadedBackend, ...]:
    """Return the installed backends that cannot be loaded."""
    return tuple(
        UnloadedBackend(name=one.name, reason=one.problem.reason, hint=one.problem.hint)
        for one in plugins.survey(GROUP)
        if one.problem is not None
    )


def _status(device: Device) -> DeviceStatus:
    found = [_backend_status(b, device) for b in backends() if device in b.devices]
    used = next((one.name for one in found if one.usable), None)
    return DeviceStatus(device=device.value, backend=used, backends=tuple(found))


def _backend_status(backend: Backend, device: Device) -> BackendStatus:
    """Return the status of a backend; one that names its hardware has to find it."""
    reason, hardware = backend.unavailable(device), ""
    if reason is None and isinstance(backend, _NamesHardware):
        try:
            hardware = backend.hardware(device)
        except TargetNotFoundError as error:
            reason = f"{error.message} ({error.hint})"
    return BackendStatus(
        name=backend.name, usable=reason is None, reason=reason or "", hardware=hardware
    )
