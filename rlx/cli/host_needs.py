"""Needs of a model on the host, as ``rlx inspect --memory`` and ``--roofline`` show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rlx.cli.common import missing_file, print_json
from rlx.cli.table import prose, show_figures, show_table
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import GraphModule
    from rlx.runtime.observation.machine import Machine


def show_needs(module: GraphModule, machine: Path | None, *, memory: bool, as_json: bool) -> None:
    """Print the memory that a model needs, or the minimum time that it takes.

    Args:
        module: The model.
        machine: File with the limits of a machine; None to measure this one.
        memory: Whether to print memory, else time.
        as_json: Whether to print a JSON object.
    """
    from rlx.api import memory_estimate, roofline

    if memory:
        needed = memory_estimate(module)
        if as_json:
            print_json(needed.as_json())
        else:
            show_figures(needed.figures())
        return
    limit = roofline(module, None if machine is None else read_machine(machine))
    if as_json:
        print_json(limit.as_json())
        return
    show_table(limit.table())
    prose(
        f"at least {1e6 * limit.seconds:,.4g} us: the most that arithmetic, memory and calls allow"
    )


def read_machine(path: Path) -> Machine:
    """Return the machine that a JSON file describes: alone, or what ``--roofline --json`` printed.

    Raises:
        UsageError: There is no such file, or it describes no machine.
    """
    from rlx.runtime.observation.machine import Machine

    if not path.exists():
        raise missing_file(path, "give a file with what rlx inspect --roofline --json prints")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise UsageError(
            f"is no JSON: {e}", where=str(path), hint="write it with rlx inspect --roofline --json"
        ) from None
    try:
        return Machine.from_json(data.get("machine", data) if isinstance(data, dict) else {})
    except UsageError as e:
        raise UsageError(
            e.message, where=str(path), hint="write it with rlx inspect --roofline --json"
        ) from None
