"""JSON files of an output folder.

Tests: tests/cli/test_schemas.py
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from rlx.cli.schemas.common import Quant, Size
from rlx.reports.model import MemoryBox, Port, Weights

Plain = bool | int | float | str | None
"""A value that is not a list or object."""


class File(TypedDict):
    """A file of the folder."""

    bytes: int
    sha256: str


class Tool(TypedDict):
    """A program with its version."""

    name: str
    version: str


class Manifest(TypedDict):
    """``manifest.json``; further keys are the target's. It never names itself.

    ``files`` are by path, ``options`` those of ``rlx emit``, ``reference`` is what computed
    ``golden/``, and ``input_sha256`` that of the model file, if there was one.
    """

    schema: int
    generator: str
    rlx_version: str
    target: str
    input_sha256: str | None
    options: dict[str, Any]
    files: dict[str, File]
    model_hash: NotRequired[str]
    prefix: NotRequired[str]
    ports: NotRequired[list[str]]
    reference: NotRequired[Tool | None]
    policies: NotRequired[dict[str, str]]


class NetworkLayer(TypedDict):
    """A layer; ``inputs`` are positions of layers, or -1 for the first input, -2 for the second.

    ``source`` is the name of its result in the model, ``figures`` are what the target predicts.
    """

    name: str
    origins: NotRequired[list[str]]
    source: str
    op: str
    shape: list[Size]
    dtype: str
    quant: Quant | None
    macs: int | None
    inputs: list[int]
    attributes: dict[str, str]
    weights: Weights | None
    parameters: int
    operands: NotRequired[dict[str, list[str]]]
    rows: NotRequired[list[str] | None]
    figures: dict[str, Plain]


class Memory(TypedDict):
    """The arena over time."""

    bytes: int
    boxes: list[MemoryBox]


class Network(TypedDict):
    """``report/network.json``; ``totals`` are what the target predicts of the whole network."""

    schema: int
    name: str
    inputs: list[Port]
    outputs: list[Port]
    layers: list[NetworkLayer]
    memory: Memory | None
    totals: dict[str, Plain]
