"""Devices of JAX: which are here, found without importing it, and its settings for a trace.

Tests: tests/targets/xla/test_backend.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx.runtime import Device
from rlx.support.errors import TargetNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

INSTALL: Final = "pip install 'rlx[xla]'"


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform of JAX.

    Attributes:
        name: Name that JAX has for it.
        package: Package that JAX needs for it; empty for none. It begins with this text.
        install: Command that installs it.
        files: Patterns of files below ``/``, one of which is there where the device is.
        options: Options of each compilation.
        prefers_floats: Whether products of float32 are faster than those of integers.
    """

    name: str
    package: str = ""
    install: str = INSTALL
    files: tuple[str, ...] = ()
    options: Mapping[str, bool | str] = field(default_factory=dict)
    prefers_floats: bool = False


# Conversions to narrow floats and back are not left out.
_EXACT: Final[dict[str, bool | str]] = {"xla_allow_excess_precision": False}
# The pass that drops barriers before XLA fuses; what is left of them costs nothing.
_CPU: Final[dict[str, bool | str]] = {**_EXACT, "xla_disable_hlo_passes": "cse_barrier_expander"}
# Products of int8 by Triton are wrong for one shape in five (JAX 0.11.2 on Hopper).
_GPU: Final[dict[str, bool | str]] = {**_EXACT, "xla_gpu_enable_triton_gemm": False}

PLATFORMS: Final = {
    Device.CPU: Platform("cpu", options=_CPU, prefers_floats=True),
    Device.CUDA: Platform(
        "cuda", "jax-cuda", "pip install 'jax[cuda13]'", ("dev/nvidiactl", "dev/dxg"), _GPU
    ),
    Device.ROCM: Platform("rocm", "jax-rocm", "pip install 'jax[rocm]'", ("dev/kfd",), _GPU),
    Device.TPU: Platform(
        "tpu", "libtpu", "pip install 'jax[tpu]'", ("dev/accel*", "dev/vfio/*"), _EXACT
    ),
}
"""Platform of each device."""


def absence(device: Device, root: Path = Path("/")) -> str | None:
    """Return the reason that JAX cannot use a device here, None if it probably can.

    JAX is not imported: that takes half a second, and it would take hold of the device.

    Args:
        device: One of ``PLATFORMS``.
        root: Folder with the folder ``dev``.
    """
    platform = PLATFORMS[device]
    if util.find_spec("jax") is None:
        return f"the package jax is not installed ({INSTALL})"
    if not _is_installed(platform.package):
        return f"JAX has no plug-in for it ({platform.install})"
    if platform.files and not any(any(root.glob(pattern)) for pattern in platform.files):
        return f"no such device is here (/{' or /'.join(platform.files)})"
    return None


def _is_installed(prefix: str) -> bool:
    """Whether a package is installed whose name begins with ``prefix``."""
    names = (str(found.metadata["Name"]).lower() for found in metadata.distributions())
    return not prefix or any(name.replace("_", "-").startswith(prefix) for name in names)


def devices_of(device: Device) -> list[Any]:
    """Return JAX's devices of a kind; this imports JAX.

    Raises:
        TargetNotFoundError: There are none.
    """
    import jax

    platform = PLATFORMS[device]
    try:
        return list(jax.devices(platform.name))
    except RuntimeError as error:
        raise TargetNotFoundError(
            f"JAX {jax.__version__} finds no {device}: {str(error).splitlines()[0]}",
            where="backend xla",
            hint=platform.install,
        ) from error


def wide_types() -> AbstractContextManager[Any]:
    """Return a scope in which this thread's traces and calls have 64-bit types.

    The process's own setting stays as it is.
    """
    import jax

    scope: AbstractContextManager[Any] = jax.enable_x64(True)
    return scope


def compiler_of(device: Device) -> str:
    """Return the versions of compiler and device, for messages."""
    import jax
    import jaxlib

    first = devices_of(device)[0]
    return f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, {first.device_kind}"
