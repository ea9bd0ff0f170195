"""Hostile names in every place of a model: nothing but names and comments changes.

Each case emits one small network with one hostile name by the command line, and compares every
file with what a harmless name gives.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

import numpy as np

from campaign.bare_text import bare, renamed_alike, suspicious
from campaign.hostile_names import NAMES
from campaign.part import Outcome, Part
from rlx import cli
from rlx.support.files.outputs import MANIFEST
from support.files.tflite_builder import TfliteBuilder, pack, schema, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Files: TypeAlias = Mapping[str, bytes]

SLOTS = ("input", "output", "middle", "weights", "graph", "description", "signature", "file",
         "prefix")  # fmt: skip
HARMLESS = b"plain"
PREFIX = "qzprefix"

# Options by target, so that every kind of file that may hold a name is made.
VARIANTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "cortexm": (
        (),
        ("--cpu", "cortex-m55", "--self-test", "2"),
        ("--cpu", "cortex-m0", "--static-arena", "--io", "arena"),
        ("--cpu", "cortex-m3", "--optimize", "size"),
    ),
    "fpga": (
        (),
        ("--device", "artix7-35t", "--control", "axi-lite"),
        ("--architecture", "parallel"),
        ("--device", "icebreaker", "--optimize", "size"),
        ("--architecture", "engine", "--weights", "load"),
        ("--device", "ulx3s-25f", "--weights", "mem"),
    ),
}
TARGETS = tuple(VARIANTS)
_WRAPPED = (".c", ".h", ".sv")


def model(slot: str, name: bytes) -> bytes:
    """Return two dense layers with ``name`` in one place."""
    names = {"input": b"in", "output": b"out", "middle": b"mid", "weights": b"w", slot: name}
    made = TfliteBuilder()
    codes = {"scale": 0.5, "zero_point": 3}
    x = made.tensor((1, 3), name=names["input"], **codes)
    w = made.constant(np.ones((2, 3), np.int8), scale=0.25, name=names["weights"])
    y = made.tensor((1, 2), name=names["middle"], **codes)
    v = made.constant(np.ones((2, 2), np.int8), scale=0.25, name="v")
    z = made.tensor((1, 2), name=names["output"], **codes)
    made.operator("FULLY_CONNECTED", [x, w, -1], [y])
    made.operator("FULLY_CONNECTED", [y, v, -1], [z])
    whole = unpack(made.build([x], [z]))
    _name_the_rest(whole, slot, name)
    return pack(whole)


def _name_the_rest(whole: schema.ModelT, slot: str, name: bytes) -> None:
    """Set what no tensor holds: graph, description, metadata, an unused code, signatures."""
    if slot == "graph":
        whole.subgraphs[0].name = name
    if slot == "description":
        whole.description = name
        entry, code = schema.MetadataT(), schema.OperatorCodeT()
        entry.name = code.customCode = name
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        whole.metadata = [entry]
        whole.operatorCodes.append(code)
    if slot == "signature":
        signature, given = schema.SignatureDefT(), schema.TensorMapT()
        signature.signatureKey = given.name = name
        signature.inputs = signature.outputs = [given]
        whole.signatureDefs = [signature]


def run(number: int) -> Outcome:
    """Emit with a hostile name; compare with a harmless one."""
    name, place = NAMES[number // len(SLOTS) % len(NAMES)], number % len(SLOTS)
    slot, target = SLOTS[place], TARGETS[number // (len(SLOTS) * len(NAMES))]
    options = VARIANTS[target][(number // len(SLOTS) + place) % len(VARIANTS[target])]
    status, found, said = emitted(slot, name, target, options)
    if problem := _spoken(said):
        return Outcome("told", problem)
    if status != 0:
        helpful = status in (2, 4, 5) and "\n  try: " in said
        return Outcome("refused", "" if helpful else f"status {status}: {said[:300]!r}")
    prefix = json.loads(found[MANIFEST])["prefix"]
    plain = _as_one_target(renamed(harmless(target, options), prefix), prefix)
    return Outcome("equal", _difference(plain, _as_one_target(found, prefix)))


@cache
def harmless(target: str, options: tuple[str, ...]) -> Files:
    """Return the files of a harmless model with the prefix :data:`PREFIX`."""
    status, files, said = emitted("file", HARMLESS, target, (*options, "--prefix", PREFIX))
    assert status == 0, said
    return files


def renamed(files: Files, prefix: str) -> Files:
    """Return ``files`` with another prefix in their names and texts."""
    words = {
        PREFIX: prefix,
        PREFIX.upper(): prefix.upper(),
        PREFIX.capitalize(): "".join(part.capitalize() for part in prefix.split("_")),
    }

    def renamed_text(text: bytes) -> bytes:
        for old, new in words.items():
            text = text.replace(old.encode(), new.encode())
        return text

    return {renamed_text(path.encode()).decode(): renamed_text(c) for path, c in files.items()}


def _as_one_target(files: Files, prefix: str) -> Files:
    """Return ``files`` as if the prefix were right for every build system.

    CMake keeps names such as ``test``, and a component of a CMSIS-Pack has two letters or more.
    """
    words = f"rlx_{prefix}", f"{prefix}_net"

    def plain(text: bytes) -> bytes:
        for word in words:
            text = text.replace(word.encode(), prefix.encode())
        return text

    return {path: plain(content) for path, content in files.items()}


def emitted(
    slot: str, name: bytes, target: str, options: tuple[str, ...]
) -> tuple[int, Files, str]:
    """Emit into a folder of its own; return the exit status, the files, and what was printed.

    Raises:
        AssertionError: Something was written elsewhere.
    """
    stem = _file_name(name) if slot == "file" else HARMLESS.decode()
    if slot == "prefix":
        options = (*options, "--prefix", os.fsdecode(name))
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        path = Path(f"{stem}.tflite")
        path.write_bytes(model(slot, name))
        here = Path()
        arguments = ["emit", f"./{path}", "--target", target, "-o", "out", *options]
        status, said = _command(arguments)
        said += _command(["inspect", f"./{path}"])[1]
        found = {p.as_posix(): p for p in here.rglob("*") if p.is_file()}
        del found[path.as_posix()]
        outside = [p for p in found if not p.startswith("out/")]
        assert not outside, f"written elsewhere: {outside}"
        return status, {n.removeprefix("out/"): p.read_bytes() for n, p in found.items()}, said


def _command(arguments: list[str]) -> tuple[int, str]:
    """Run ``rlx`` in this process; return its exit status and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(arguments)
    return status, said.getvalue()


def _file_name(name: bytes) -> str:
    """Return the part of ``name`` that a disk takes as a file's name."""
    return os.fsdecode(name.replace(b"/", b"").replace(b"\0", b"")[:200])


def _spoken(said: str) -> str:
    """Return the part of the output that a terminal would act on, or nothing."""
    line = next((s for s in said.split("\n") if not s.isprintable()), "")
    return f"prints {line[:200]!r}" if line else ""


def _difference(plain: Files, hostile: Files) -> str:
    """Return the first difference that is more than a name, or nothing."""
    if plain.keys() != hostile.keys():
        return f"other files: {sorted(plain.keys() ^ hostile.keys())}"
    for path, content in hostile.items():
        if PureWindowsPath(path).is_reserved():
            return f"{path}: no file can have that name under Windows"
        if content != plain[path] and (problem := _problem(path, plain[path], content)):
            return f"{path}: {problem}"
    return ""


def _problem(path: str, plain: bytes, hostile: bytes) -> str:
    texts = plain.decode("ascii"), hostile.decode("ascii")
    if path.endswith(_WRAPPED):
        texts = _joined(texts[0]), _joined(texts[1])
    if path.endswith((*_WRAPPED, ".gtkw", ".sucl", ".ys", ".tcl")):
        # Tables, instances and modules are called after layers.
        same = renamed_alike(*(bare(path, text) for text in texts))
    else:
        same = bare(path, texts[0]) == bare(path, texts[1])
    if not same:
        return "differs in more than names and comments"
    # Names in JSON are whole and quoted; elsewhere only harmless characters of them are left.
    return "" if path.endswith(".json") else suspicious(*texts)


def _joined(text: str) -> str:
    """Return code without the line breaks between arguments, which move with the prefix's length.

    Lines that are comments go too: what follows would become part of them.
    """
    code = re.sub(r"^[ \t]*//.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\n[ \t]+", " ", re.sub(r"\(\n[ \t]+", "(", code))


def _prepare() -> None:
    for target, variants in VARIANTS.items():
        for options in variants:
            harmless(target, options)


HOSTILE_NAMES = Part(
    name="names",
    title="hostile names in C, Verilog, build files, XML, JSON, YAML, reports",
    goal="no byte outside names and comments changes; nothing run or written elsewhere",
    run=run,
    cases=len(TARGETS) * len(SLOTS) * len(NAMES),
    short=40,
    cpu_s=10.0,
    prepare=_prepare,
)
