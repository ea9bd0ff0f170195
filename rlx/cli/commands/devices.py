"""``rlx devices``: devices of this machine, and the backends that run networks on them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json
from rlx.cli.table import print_table, prose, sentences, wide_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.runtime.device_survey import DeviceStatus, UnloadedBackend


@subcommand("devices", examples=("rlx devices", "rlx devices --json"))
@wide_option
@json_option
def command(as_json: bool) -> None:
    """List the devices of this machine and their backends.

    Some backends name the hardware. One that cannot be used is listed with the reason, and the
    command that installs what is missing.
    """
    from rlx.runtime.device_survey import survey_devices, unloaded_backends

    devices, unloaded = survey_devices(), unloaded_backends()
    if as_json:
        print_json(
            {
                "devices": [asdict(one) for one in devices],
                "unloaded": [asdict(one) for one in unloaded],
            }
        )
        return
    _print(devices, unloaded)


def _print(devices: Sequence[DeviceStatus], unloaded: Sequence[UnloadedBackend]) -> None:
    rows = [
        [
            one.device,
            backend.name,
            _state(one, backend.name, usable=backend.usable),
            backend.reason or backend.hardware,
        ]
        for one in devices
        for backend in one.backends
    ]
    print_table("Devices", ["device", "backend", "state", sentences("hardware or reason")], rows)
    for problem in unloaded:
        prose(f"backend {problem.name} cannot be loaded: {problem.reason}; {problem.hint}")
    if without := [one.device for one in devices if not one.backends]:
        prose(f"no installed backend: {', '.join(without)}")


def _state(device: DeviceStatus, backend: str, *, usable: bool) -> str:
    """Return whether a backend is used by default, can be chosen, or cannot be used."""
    if not usable:
        return "missing"
    return "default" if backend == device.backend else "ready"
