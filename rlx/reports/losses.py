"""Losses of a quantization, from the file that ``rlx quantize`` wrote, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.metrics.quantization_file import path_beside, read_result
from rlx.metrics.spread import Spread
from rlx.reports.model import Losses, LossyLayer
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rlx.reports.model import Layer


def losses_of(
    path: Path, layers: Sequence[Layer], network: str | None
) -> tuple[Losses, tuple[str, ...]]:
    """Return the losses in a file, and warnings.

    Args:
        path: File that ``rlx quantize`` wrote.
        layers: Layers of the report.
        network: SHA-256 of the model's file from which the folder was emitted, if known.

    Raises:
        UsageError: The file cannot be read, or is of a network with other layers.
    """
    values = read_result(path)
    try:
        losses = _losses(values, layers)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(
            "is damaged: something in it is not what 'rlx quantize' writes",
            where=str(path),
            hint="quantize the network again",
        ) from None
    if losses.layers and all(layer.index is None for layer in losses.layers):
        raise UsageError(
            f"is of the network {losses.graph!r}, of which the folder has no layer",
            where=str(path),
            hint="give the file next to the model that was emitted: NET.q.json of NET.q.rlx",
        )
    if network is None or values["sha256"] == network:
        return losses, ()
    return losses, (f"losses are of another file of the network than was emitted: {path.name}",)


def losses_beside(
    model: Path, layers: Sequence[Layer], network: str | None
) -> tuple[Losses | None, tuple[str, ...]]:
    """Return the losses in the file next to a model, and warnings; None without such a file.

    Raises:
        UsageError: As ``losses_of``.
    """
    path = path_beside(model)
    if not path.is_file():
        return None, ()
    if network is not None and read_result(path)["sha256"] != network:
        return None, (f"{path.name} is not shown: it is of another network than was emitted",)
    return losses_of(path, layers, network)


def _losses(values: Mapping[str, Any], layers: Sequence[Layer]) -> Losses:
    comparison, rows = values["comparison"], list(values["layers"])
    positions = {layer.name: layer.index for layer in layers}
    ratios = [_number(output["sqnr_db"]) for output in comparison["outputs"]]
    return Losses(
        graph=str(values["graph"]),
        samples=int(comparison["samples"]),
        measured_on=str(values["measured_on"]),
        observer=str(values["observer"]),
        mean_bits=float(values["mean_bits"]),
        agreement=_number(comparison["agreement"]),
        sqnr_db=min((one for one in ratios if one is not None), default=None),
        layers=tuple(_layer(row, positions.get(row["name"])) for row in rows),
    )


def _layer(row: Mapping[str, Any], index: int | None) -> LossyLayer:
    weights, bits = row["weight_values"], row["bits"]
    return LossyLayer(
        index=index,
        name=str(row["name"] or row["op"]),
        bits=None if bits is None else int(bits),
        sqnr_db=_number(row.get("sqnr_db")),
        cosine=_number(row.get("cosine")),
        loss=float(row["loss"]),
        results=_spread(row["results"]),
        weight_values=None if weights is None else _spread(weights),
    )


def _spread(values: Mapping[str, Any]) -> Spread:
    percentiles = tuple(map(float, values["percentiles"]))
    steps = tuple(map(float, values["steps"]))
    if (len(percentiles), len(steps)) != (5, 7) or values["lowest"] >= values["highest"]:
        raise ValueError("no spread")
    return Spread(
        minimum=float(values["minimum"]),
        maximum=float(values["maximum"]),
        percentiles=percentiles,
        low=float(values["low"]),
        high=float(values["high"]),
        outside=float(values["outside"]),
        steps=steps,
        lowest=int(values["lowest"]),
        highest=int(values["highest"]),
    )


def _number(value: Any) -> float | None:  # noqa: ANN401 - JSON
    return None if value is None else float(value)
