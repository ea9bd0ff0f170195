"""GPUs: whether one is probably here, found without importing wgpu, and the open ones."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx.runtime import Device
from rlx.support.errors import DeviceError, TargetNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL: Final = "pip install 'rlx[wgpu]'"
LOADER: Final = "libvulkan.so.1"
INSTALL_LOADER: Final = "apt-get install libvulkan1"
INSTALL_DRIVER: Final = "that of the GPU's maker, or apt-get install mesa-vulkan-drivers"

WIDE_INTEGERS: Final = "shader-int64"
"""Feature of adapters whose shaders have integers of 64 bits."""

_DRIVERS: Final = ("etc/vulkan/icd.d", "usr/share/vulkan/icd.d", "usr/local/share/vulkan/icd.d")
"""Folders in which drivers for Vulkan are registered."""

_VARIABLES: Final = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Variables that name drivers for Vulkan."""

_KINDS: Final = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")
"""Kinds of adapters, the best first."""

_LIMITS: Final = ("max-buffer-size", "max-storage-buffer-binding-size")
"""Limits of a device that are those of its adapter, not the small ones of the standard."""


def absence(device: Device, root: Path = Path("/")) -> str | None:
    """Return the reason that no adapter can be used, None if there probably is one.

    wgpu is not imported: that takes time, and finding adapters loads their drivers.

    Args:
        device: ``gpu`` or ``vulkan``.
        root: Folder below which drivers are registered.
    """
    if util.find_spec("wgpu") is None:
        return f"the package wgpu is not installed ({INSTALL})"
    if not sys.platform.startswith("linux"):
        has_vulkan = device is not Device.VULKAN or sys.platform == "win32"
        return None if has_vulkan else "Vulkan is not used here (device gpu uses Metal)"
    if not _has_loader():
        return f"the loader of Vulkan is not installed ({INSTALL_LOADER})"
    named = any(map(os.environ.get, _VARIABLES))
    if not named and not any(any((root / folder).glob("*.json")) for folder in _DRIVERS):
        return f"no driver for Vulkan is installed ({INSTALL_DRIVER})"
    return None


def _has_loader() -> bool:
    """Whether the library is here through which all drivers for Vulkan are usable."""
    try:
        ctypes.CDLL(LOADER)
    except OSError:
        return False
    return True


@dataclass(slots=True)
class Gpu:
    """An open adapter. Its users take turns.

    Attributes:
        device: Device of wgpu.
        name: Name of adapter, programming interface and driver.
        wide: Whether shaders have integers of 64 bits.
        max_bytes: Largest buffer that a kernel can use.
    """

    device: Any
    name: str
    wide: bool
    max_bytes: int
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def turn(self) -> Iterator[Any]:
        """Return the device of wgpu for a ``with`` statement.

        Raises:
            DeviceError: The device failed, or was lost.
        """
        import wgpu

        with self._lock:
            try:
                yield self.device
            except wgpu.GPUError as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                if isinstance(error, wgpu.GPUValidationError) and "lost" not in lines[-1]:
                    raise  # a fault of a kernel or of its use
                _forget(self)
                raise DeviceError(
                    f"{self.name} failed: {lines[-1].strip()}",
                    where="backend wgpu",
                    hint="compile the network again, or run it by another backend;"
                    " 'rlx devices' lists them",
                ) from error


_OPEN: Final[dict[Device, Gpu]] = {}
_OPENING: Final = threading.Lock()


def open_gpu(device: Device) -> Gpu:
    """Return the best adapter for ``device``, which all programs of the process share.

    Raises:
        TargetNotFoundError: There is none.
    """
    with _OPENING:
        if device not in _OPEN:
            _OPEN[device] = _opened(device)
        return _OPEN[device]


def _forget(gpu: Gpu) -> None:
    """Let the next program open an adapter again: the device of one that failed may be lost."""
    with _OPENING:
        for device in [d for d, known in _OPEN.items() if known is gpu]:
            del _OPEN[device]


def _opened(device: Device) -> Gpu:
    adapter = _adapter(device)
    wide = WIDE_INTEGERS in adapter.features
    limits = {name: adapter.limits[name] for name in _LIMITS}
    opened = adapter.request_device_sync(
        required_features=[WIDE_INTEGERS] if wide else [], required_limits=limits
    )
    return Gpu(opened, name_of(adapter), wide, min(limits.values()))


def _adapter(device: Device) -> Any:  # noqa: ANN401 - a class of wgpu
    """Return the best adapter for ``device``: a GPU before a processor that stands in for one."""
    import wgpu

    adapters = wgpu.gpu.enumerate_adapters_sync()
    usable = [a for a in adapters if device is not Device.VULKAN or _uses(a, "Vulkan")]
    if not usable:
        raise TargetNotFoundError(
            f"wgpu {wgpu.__version__} finds no adapter for {device}",
            where="backend wgpu",
            hint=f"install a driver: {INSTALL_DRIVER}",
        )
    return min(usable, key=lambda a: (_rank(a), _uses(a, "OpenGL")))


def _uses(adapter: Any, interface: str) -> bool:  # noqa: ANN401 - a class of wgpu
    return bool(adapter.info["backend_type"] == interface)


def _rank(adapter: Any) -> int:  # noqa: ANN401 - a class of wgpu
    kind = adapter.info["adapter_type"]
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def name_of(adapter: Any) -> str:  # noqa: ANN401 - a class of wgpu
    """Return the name of an adapter with its programming interface and driver."""
    info = adapter.info
    parts = [info["device"], info["backend_type"], info["description"]]
    return ", ".join(dict.fromkeys(filter(None, parts)))


def hardware_of(device: Device) -> str:
    """Return the name of the best adapter for ``device``; this imports wgpu.

    Raises:
        TargetNotFoundError: There is none.
    """
    return name_of(_adapter(device))
