"""``rlx diff``: what differs between two output folders, or two models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from rlx.cli.bindings import manifest
from rlx.cli.common import json_option, print_json
from rlx.cli.model_command import load_bound, load_model, model_command, model_options
from rlx.cli.table import prose, sentences, show, show_table, wide_option
from rlx.ir.inspect import printable
from rlx.support.errors import UsageError
from rlx.support.files.missing import missing_file
from rlx.support.text.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir.diff import GraphDiff
    from rlx.ir.layer_diff import LayerChange
    from rlx.ir.manifest_diff import ManifestDiff
    from rlx.reports.folder_diff import Change, FolderDiff, LayerDiff

    _Difference: TypeAlias = FolderDiff | GraphDiff | ManifestDiff

_MAX_LISTED_FILES: Final = 3
"""Files of one folder up to which each is listed."""
_SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
_SHARES: Final = (Column("unit", priority=1), Column("change", right=True, priority=1))


@model_command(
    "diff",
    metavar="OLD",
    examples=("rlx diff digits.tflite digits.q.rlx", "rlx diff out.before out --exit-code"),
)
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--bindings",
    is_flag=True,
    help="Of models: compare what a run on this machine binds, not the graphs.",
)
@click.option(
    "--ir",
    is_flag=True,
    help="Of models: print the nodes of the graphs that differ.",
)
@click.option("--exit-code", is_flag=True, help="Exit with status 1 if anything differs.")
@wide_option
@json_option
def command(
    model: Path, new: Path, bindings: bool, ir: bool, exit_code: bool, as_json: bool
) -> int:
    """Show what differs between OLD and NEW: two output folders, or two model files.

    Of folders: what a program that uses the network must follow (names, inputs, outputs), what it
    takes (memory, time), and layers that were added, removed or changed. Of models: a line for
    each layer that differs; --ir and --json have the nodes of their graphs.
    """
    compare: Callable[[Path, Path], tuple[_Difference, Callable[[], None]]]
    if _are_folders(model, new):
        _refuse(["--bindings"] * bindings + ["--ir"] * ir + model_options())
        compare = _folders
    else:
        compare = _manifests if bindings else _nodes if ir else _graphs
    difference, view = compare(model, new)
    if as_json:
        print_json(difference.to_dict())
    else:
        view()
    return 1 if exit_code and difference else 0


def _are_folders(old: Path, new: Path) -> bool:
    """Whether both paths are folders; else they are files.

    Raises:
        UsageError: One is a folder, the other a file, or one is missing.
    """
    for path in (old, new):
        if not path.exists():
            raise missing_file(path, "give two output folders, or two model files")
    folders = [path for path in (old, new) if path.is_dir()]
    if len(folders) == 1:
        raise UsageError(
            f"cannot compare the folder {folders[0]} with a file",
            hint="compare two output folders, or two model files",
        )
    return bool(folders)


def _refuse(options: Sequence[str]) -> None:
    """Refuse options of models where folders are compared.

    Raises:
        UsageError: There is one.
    """
    for option in options:
        raise UsageError(
            f"{option} has no effect on output folders", hint=f"leave out {option}, or name models"
        )


def _folders(old: Path, new: Path) -> tuple[FolderDiff, Callable[[], None]]:
    """Return the differences between two output folders, and a function that prints them."""
    from rlx.reports.folder_diff import folder_diff, read_emitted

    difference = folder_diff(read_emitted(old), read_emitted(new))
    return difference, lambda: _show(difference)


def _graphs(old: Path, new: Path) -> tuple[GraphDiff, Callable[[], None]]:
    """Return the same for the layers of two models."""
    difference, _ = _nodes(old, new)
    return difference, lambda: _show_graphs(difference)


def _nodes(old: Path, new: Path) -> tuple[GraphDiff, Callable[[], None]]:
    """Return the same for the nodes of two models."""
    from rlx.ir.diff import inspect_graph_diff

    difference = inspect_graph_diff(load_model(old).graph, load_model(new, other=True).graph)
    return difference, lambda: print(difference)


def _manifests(old: Path, new: Path) -> tuple[ManifestDiff, Callable[[], None]]:
    """Return the same for what runs of two models on this machine bind."""
    from rlx.ir.manifest_diff import ManifestDiff

    difference = ManifestDiff.of(manifest(load_bound(old)), manifest(load_bound(new, other=True)))
    return difference, lambda: show(difference.tables()) if difference else print(difference)


def _show_graphs(difference: GraphDiff) -> None:
    """Print a line for each layer that differs."""
    prose(f"--- {printable(difference.before)}")
    prose(f"+++ {printable(difference.after)}")
    _show_layers(difference.layers)
    for text in difference.outputs:  # that layers in between differ is in the table
        if not difference.layers or text.startswith("outputs"):
            prose(text)
    prose(f"layers unchanged: {difference.unchanged_layers}")


def _show(difference: FolderDiff) -> None:
    prose(f"--- {difference.before}")
    prose(f"+++ {difference.after}")
    if not difference:
        prose("equal: every file is the same")
        return
    _show_changes("For the caller", difference.caller, ())
    _show_changes("Predicted", difference.figures, _SHARES)
    _show_layers(difference.layers)
    prose(f"layers unchanged: {difference.unchanged}")
    _show_layout(difference)
    _show_files("only in one of them", difference.files)
    _show_files("other contents", difference.contents)


def _show_layout(difference: FolderDiff) -> None:
    """Say whether the code of each folder accepts the weights of the other."""
    from rlx.reports.folder_diff import LAYOUT

    if difference.weights_layout:
        prose(f"layout of the weights unchanged, {difference.weights_layout}: the code of either"
              " accepts the weights of both")  # fmt: skip
    for change in difference.caller:
        if change.name == LAYOUT and change.before and change.after:
            prose("layout of the weights differs: the code of neither accepts the weights of the"
                  " other. Activation ranges are part of it: quantize both networks with the same,"
                  " see --fix-ranges of rlx quantize")  # fmt: skip


def _show_changes(title: str, changes: Sequence[Change], more: tuple[Column, ...]) -> None:
    """Print changes as a table; ``more`` are the columns of unit and share, or none."""
    if not changes:
        return
    print()
    columns = (
        Column("what"),
        Column("old", right=True, shortest=12),
        Column("new", right=True, shortest=12),
    )
    rows = tuple(
        (c.name, *c.values, *(c.unit, _share(c.before, c.after))[: len(more)]) for c in changes
    )
    show_table(Table(title, columns + more, rows))


def _share(before: object, after: object) -> str:
    """Return the change of a number in percent; nothing for anything else."""
    numbers = (int, float)
    if isinstance(before, bool) or not isinstance(before, numbers) or not before:
        return ""
    if isinstance(after, bool) or not isinstance(after, numbers):
        return ""
    return f"{100 * (after - before) / before:+.1f} %"


def _show_layers(layers: Sequence[LayerDiff | LayerChange]) -> None:
    if not layers:
        return
    print()
    columns = (Column(""), Column("layer", shortest=12), Column("op"), sentences("what differs"))
    rows = tuple(
        (_SIGNS[one.kind], one.name, one.op, "; ".join(map(str, one.changes)) or one.kind)
        for one in layers
    )
    show_table(Table("Layers", columns, rows))


def _show_files(title: str, names: Sequence[str]) -> None:
    if not names:
        return
    texts = _by_folder(names)
    more = "; --json lists each" if len(texts) < len(names) else ""
    prose(f"files, {title}: {', '.join(texts)}{more}")


def _by_folder(names: Sequence[str]) -> list[str]:
    """Return names of files, or one count for the files of a folder with many of them."""
    folders = Counter(name.rpartition("/")[0] for name in names)
    texts: dict[str, None] = {}
    for name in names:
        folder = name.rpartition("/")[0]
        many = folder and folders[folder] > _MAX_LISTED_FILES
        texts[f"{folder}/ ({folders[folder]:,} files)" if many else name] = None
    return list(texts)
