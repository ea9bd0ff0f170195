"""Differences between two output folders: for their caller, in figures, layer by layer.

Tests: tests/cli/commands/test_diff.py
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.driver.description import NETWORK
from rlx.metrics.layer_match import matched_runs
from rlx.support.errors import OutputError
from rlx.support.files.outputs import read_manifest
from rlx.support.text.tables import float_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rlx.support.files.outputs import Manifest

_MAX_LISTED_ELEMENTS: Final = 3
"""Elements of a list that a text shows."""
_MAX_LINE_CHARS: Final = 60
"""Characters of a value up to which old and new are in one line."""
_FIGURES: Final = {
    "bram": ("BRAM", ""), "dsp": ("DSP", ""), "ff": ("FF", ""), "lut": ("LUT", ""),
    "spram": ("SPRAM", ""), "clock_mhz": ("clock", "MHz"), "fill": ("frames in flight", ""),
    "fps": ("rate", "frames/s"), "interval": ("interval", "cycles"),
    "latency": ("latency", "cycles"), "memory_bits": ("memory", "bits"),
    "pe": ("PE", ""), "simd": ("SIMD", ""),
}  # fmt: skip
"""Name and unit of figures whose names are not just their keys, as in reports."""
_WEIGHTS: Final = "weights"
_ROW_UNITS: Final = {_WEIGHTS: "output channels", "bias": "values"}
"""Unit of the rows of constant operands by name."""
_SHOWN_OTHERWISE: Final = frozenset({"shape", "zero_point"})
"""Attributes of a layer that its type repeats."""

LAYOUT: Final = "layout of the weights"
"""Name of the change of the layout of weights whose address is set at run time."""


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of both folders with a difference.

    Attributes:
        name: Name of the thing, such as ``input image: shape`` or ``arena``.
        before: Its value in the first folder, a JSON value; None for none.
        after: Its value in the second one.
        unit: Unit of the values; may be empty.
    """

    name: str
    before: Any
    after: Any
    unit: str = ""

    @property
    def values(self) -> tuple[str, str]:
        """Both values as text, without the unit."""
        return _text(self.before), _text(self.after)

    def __str__(self) -> str:
        before, after = self.values
        if before == after or max(len(before), len(after)) > _MAX_LINE_CHARS:
            return f"{self.name} {'differ' if self.name == _WEIGHTS else 'differs'}"
        return f"{self.name} {before} -> {after}" + (f" {self.unit}" if self.unit else "")


@dataclass(frozen=True, slots=True)
class RowsChange(Change):
    """A constant operand that differs; its values are a hash for each row, or None without it."""

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.name} {'removed' if self.after is None else 'added'}"
        if len(self.before) != len(self.after) or len(self.after) == 1:
            return f"{self.name} {'differ' if self.name == _WEIGHTS else 'differs'}"
        pairs = enumerate(zip(self.before, self.after, strict=True))
        rows = [row for row, (old, new) in pairs if old != new]
        return (
            f"{self.name}: {len(rows):,} of {len(self.after):,} {self.unit}, first at [{rows[0]}]"
        )


@dataclass(frozen=True, slots=True)
class LayerDiff:
    """A layer of one folder, or of both with a difference.

    Attributes:
        name: Name of the layer, in the second folder if both have it.
        op: Its operation.
        kind: ``added``, ``removed`` or ``changed``.
        changes: Its differences; empty for a layer of one folder.
    """

    name: str
    op: str
    kind: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderDiff:
    """Differences between two output folders. False if there are none.

    Attributes:
        before: Network and target of the first folder.
        after: Network and target of the second one.
        caller: Changes that a program that uses the network must follow: names, inputs and
            outputs, options.
        figures: Changes in the target's predictions for the whole network.
        layers: Layers that differ.
        unchanged: Number of equal layers.
        files: Names of files that only one folder has.
        contents: Files with other contents.
        weights_layout: Layout that the weights of both have, each of which is a file that the code
            of either accepts; None without such files, or if their layouts differ.
    """

    before: str
    after: str
    caller: tuple[Change, ...]
    figures: tuple[Change, ...]
    layers: tuple[LayerDiff, ...]
    unchanged: int
    files: tuple[str, ...]
    contents: tuple[str, ...]
    weights_layout: str | None = None

    def __bool__(self) -> bool:
        return bool(self.caller or self.figures or self.layers or self.files or self.contents)

    @property
    def equal(self) -> bool:
        """True if nothing differs."""
        return not self

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        return asdict(self) | {"equal": self.equal}

    @property
    def summary(self) -> str:
        """Changes for a caller in one line: ``arena 640 -> 6,760 B, input image: shape ...``.

        Empty if neither interface nor figures nor layers differ.
        """
        parts = [str(change) for change in (*self.caller, *self.figures)]
        if self.layers:
            kinds = [layer.kind for layer in self.layers]
            counts = {kind: kinds.count(kind) for kind in ("added", "removed", "changed")}
            parts.append("layers " + ", ".join(f"{n} {kind}" for kind, n in counts.items() if n))
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Emitted:
    """Description of an output folder.

    Attributes:
        manifest: Versions and sources of its generator.
        network: The description of the network: inputs, outputs, layers, totals.
    """

    manifest: Manifest
    network: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Prefix of the identifiers, and the target."""
        producer = self.manifest.producer
        return f"{producer.facts.get('prefix', '')} on {producer.target}"


def read_emitted(folder: Path, *, check_files: bool = True) -> Emitted:
    """Return the description of an output folder.

    Raises:
        OutputError: It was not made by rlx, was changed, or describes no network.
    """
    manifest = read_manifest(folder, check_files=check_files)
    try:
        network = json.loads((folder / NETWORK).read_bytes())
        _ = network["layers"], network["totals"], network["inputs"], network["outputs"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(
            "describes no network: the folder was made by an older rlx",
            where=str(folder / NETWORK),
            hint="emit the model again",
        ) from None
    return Emitted(manifest, network)


def folder_diff(before: Emitted, after: Emitted) -> FolderDiff:
    """Return the differences between two output folders."""
    files = before.manifest.files, after.manifest.files
    layers = list(_layers(before.network["layers"], after.network["layers"]))
    return FolderDiff(
        before=before.title,
        after=after.title,
        caller=tuple(_caller(before, after)),
        figures=tuple(_figures(before.network["totals"], after.network["totals"])),
        layers=tuple(layer for layer in layers if layer.kind != "changed" or layer.changes),
        unchanged=sum(layer.kind == "changed" and not layer.changes for layer in layers),
        files=tuple(sorted(files[0].keys() ^ files[1].keys())),
        contents=tuple(
            sorted(n for n in files[0].keys() & files[1].keys() if files[0][n] != files[1][n])
        ),
        weights_layout=layout if (layout := _layout(before)) == _layout(after) else None,
    )


def _layout(folder: Emitted) -> str | None:
    """Return the layout of the file of weights; None if weights are part of the code."""
    file = folder.manifest.producer.facts.get("weights_file")
    return str(file["layout"]) if isinstance(file, dict) and "layout" in file else None


def _caller(before: Emitted, after: Emitted) -> Iterator[Change]:
    old, new = before.manifest.producer, after.manifest.producer
    yield from _change("target", old.target, new.target)
    yield from _change("prefix of all names", old.facts.get("prefix"), new.facts.get("prefix"))
    yield from _change(LAYOUT, _layout(before), _layout(after))
    for kind in ("input", "output"):
        yield from _ports(kind, before.network[f"{kind}s"], after.network[f"{kind}s"])
    if "signals" in old.facts and "signals" in new.facts:  # hardware
        yield from _changes("port ", old.facts["signals"], new.facts["signals"])
    yield from _changes("option ", old.options, new.options)
    yield from _change("rlx", old.rlx_version, new.rlx_version)


def _ports(
    kind: str, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[Change]:
    """Yield the differences in inputs, or outputs; a caller knows them by their place."""
    yield from _change(f"number of {kind}s", len(before), len(after))
    for position, (old, new) in enumerate(zip(before, after, strict=False)):
        title = kind if len(after) == 1 else f"{kind} {position}"
        yield from _change(f"{title} name", old["name"], new["name"])
        yield from _change(f"{title} shape", old["shape"], new["shape"])
        yield from _change(f"{title} type", old["dtype"], new["dtype"])
        scales = old["quant"] or [None, None], new["quant"] or [None, None]
        yield from _change(f"{title} scale", scales[0][0], scales[1][0])
        yield from _change(f"{title} zero point", scales[0][1], scales[1][1])


def _figures(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    names = dict.fromkeys([*before, *after])
    for name in names:
        old, new = before.get(name), after.get(name)
        if name.endswith("_bytes"):
            yield from _change(name.removesuffix("_bytes").replace("_", " "), old, new, "B")
        elif not name.endswith("_percent"):  # a share of a figure that is shown too
            title, unit = _FIGURES.get(name, (name.replace("_", " "), ""))
            yield from _change(title, old, new, unit)


def _layers(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[LayerDiff]:
    """Yield every layer of either folder, in order; layers are matched as lines of a text are."""
    runs = matched_runs(before, after, lambda layer: (layer["op"], layer["source"]))
    for first, second in runs:
        old, new = list(first), list(second)
        while old and new and old[0]["op"] == new[0]["op"]:
            old_layer, other = old.pop(0), new.pop(0)
            changes = tuple(_layer_changes(old_layer, other))
            yield LayerDiff(other["name"], other["op"], "changed", changes)
        yield from (LayerDiff(old_layer["name"], old_layer["op"], "removed") for old_layer in old)
        yield from (LayerDiff(old_layer["name"], old_layer["op"], "added") for old_layer in new)


def _layer_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in ("shape", "dtype", "macs"):
        yield from _change(name, before[name], after[name])
    scales = before["quant"] or [None, None], after["quant"] or [None, None]
    yield from _change("scale", scales[0][0], scales[1][0])
    yield from _change("zero point", scales[0][1], scales[1][1])
    attributes = [
        {name: text for name, text in layer["attributes"].items() if name not in _SHOWN_OTHERWISE}
        for layer in (before, after)
    ]
    yield from _changes("", *attributes)
    if "operands" in before and "operands" in after:  # not in folders of an older rlx
        yield from _operands(before["operands"], after["operands"])
    elif _numbers(before) != _numbers(after):
        yield Change(_WEIGHTS, _weights(before), _weights(after))
    yield from _exchanged(before.get("rows"), after.get("rows"))
    yield from _figures(before["figures"], after["figures"])


def _operands(
    before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> Iterator[RowsChange]:
    """Yield the constant operands that differ, weights first."""
    for name in sorted({*before, *after}, key=lambda name: (name != _WEIGHTS, name)):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield RowsChange(name, old, new, _ROW_UNITS.get(name, "rows"))


def _exchanged(before: Sequence[str] | None, after: Sequence[str] | None) -> Iterator[Change]:
    """Yield the outputs that changed their places, if no other differ."""
    if before is None or after is None or before == after or sorted(before) != sorted(after):
        return
    places = [place for place, row in enumerate(after) if row != before[place]]
    if len(set(before)) == len(before):
        sources = [before.index(after[place]) for place in places]
        yield Change("order of outputs", ", ".join(map(str, places)), ", ".join(map(str, sources)))


def _numbers(layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layer's weights in numbers, without the picture, which older folders lack."""
    return {name: value for name, value in (layer["weights"] or {}).items() if name != "picture"}


def _weights(layer: Mapping[str, Any]) -> str | None:
    """Return the range of a layer's weights; two with the same range may still differ."""
    weights = layer["weights"]
    if weights is None:
        return None
    return f"{weights['elements']} from {weights['low']} to {weights['high']}"


def _changes(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        yield from _change(f"{title}{name}", before.get(name), after.get(name))


def _change(name: str, before: object, after: object, unit: str = "") -> Iterator[Change]:
    if before != after:
        yield Change(name, before, after, unit)


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        if all(isinstance(one, int) for one in value):
            return "x".join(map(str, value))
        elements = ", ".join(map(str, value[:_MAX_LISTED_ELEMENTS]))
        return elements if len(value) <= _MAX_LISTED_ELEMENTS else f"{elements}, ..."
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, float):
        return float_text(value, 6)
    return f"{value:,}"
