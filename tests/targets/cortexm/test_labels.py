"""Names of the classes in emitted C, from a file or from the metadata of a TFLite file."""

import io
import struct
import zipfile

import pytest
from elftools.elf.elffile import ELFFile
from targets.cortexm.graph_builder import emit_graph, write
from targets.cortexm.kernel_graphs import classifier

from rlx.cli import main
from rlx.frontends.tflite.metadata import labels_of
from rlx.ir import Graph, i8
from rlx.ops.q import QClamp
from rlx.support.errors import UsageError
from rlx.support.process import run
from rlx_cortexm.labels import c_string
from rlx_sim.firmware.host_c import WARNINGS
from support import ROOT, require_program

DIGITS = ROOT / "examples" / "digits"
HOSTILE = (
    '"); system("x"); ("', "??/", "back\\slash \\n", "\u00e4\u97f3\U0001f600 1",
    "%s%n */ #define", "\x01\x7f\u202e", "", "0",
)  # fmt: skip
PRINT = """\
#include <stdio.h>
#include "net.h"
int main(void)
{
  for (int k = 0; k < NET_LABELS; k++) {
    for (const char *c = net_labels[k]; *c != 0; c++) {
      printf("%02x", (unsigned)(unsigned char)*c);
    }
    printf("\\n");
  }
  return 0;
}
"""


def network(classes):
    graph = Graph("net")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(1, classes))), names=["y"])
    return graph


@pytest.mark.parametrize("options", [["-std=c99", "-trigraphs"], ["-std=c++11", "-x", "c++"]])
def test_hostile_names_arrive_byte_by_byte(tmp_path, options):
    folder = write(tmp_path, emit_graph(network(len(HOSTILE)), labels=HOSTILE))
    (folder / "main.c").write_text(PRINT)
    command = [require_program("gcc"), *WARNINGS[1:], *options, "-Werror=trigraphs"]
    if "-x" in options:
        (folder / "labels.o").unlink(missing_ok=True)
        run([require_program("gcc"), *WARNINGS, "-I", folder / "include", "-c",
             folder / "src/net_labels.c", "-o", folder / "labels.o"], timeout_s=60)  # fmt: skip
        sources = [folder / "main.c", "-x", "none", folder / "labels.o"]
    else:
        sources = [folder / "main.c", folder / "src/net_labels.c"]
    run([*command, "-I", folder / "include", *sources, "-o", folder / "program"], timeout_s=60)
    printed = run([folder / "program"], timeout_s=10).stdout.splitlines()
    assert printed == [label.encode().hex() for label in HOSTILE]


def test_literals_are_ascii():
    assert c_string('a"\\?\x01\u00e41') == r'"a\"\\\?\001\303\2441"'


@pytest.mark.parametrize(
    ("graph", "labels", "message"),
    [
        (network(3), ("a", "b"), "expected 3 names, one for each class of the output, got 2"),
        (network(1), ("a" * 1001,), "expected at most 1000 bytes in name 1, got 1001"),
    ],
)
def test_wrong_names_are_refused(graph, labels, message):
    with pytest.raises(UsageError, match=rf"^labels: {message}\n"):
        emit_graph(graph, labels=labels)


def test_names_for_several_outputs_are_refused():
    graph = network(2)
    graph.output(*graph.outputs, names=["z"])
    with pytest.raises(UsageError, match=r"^labels: expected a network with one output, got 2"):
        emit_graph(graph, labels=("a", "b"))


def test_nothing_is_emitted_without_names():
    files = emit_graph(network(2)).files
    assert not any("labels" in name or "LABELS" in str(text) for name, text in files.items()
                   if name.startswith(("src/", "include/")))  # fmt: skip


@pytest.mark.qemu
def test_names_that_nothing_uses_take_no_flash(tmp_path):
    labels = ("class-of-cats", "class-of-dogs", "class-of-others")
    sizes = []
    for name, options in (("plain", {}), ("labels", {"labels": labels})):
        folder = write(tmp_path / name, emit_graph(classifier(), **options))
        run([require_program("make"), "-C", "test", "firmware"], cwd=folder, timeout_s=120)
        program = folder / "build/firmware_cortex-m4.elf"
        assert b"class-of" not in program.read_bytes()
        with program.open("rb") as file:
            sections = {s.name: s["sh_size"] for s in ELFFile(file).iter_sections()}
        sizes.append((sections[".text"], sections[".rodata"]))
    assert sizes[0] == sizes[1]


class Flatbuffer:
    """Writes tables back to front, as flatbuffers are written; places count from the end."""

    def __init__(self, tail=b""):
        self.tail = tail
        self.behind = len(tail)

    def _push(self, content, align=4):
        """Put bytes in front; return their distance from the end."""
        self.tail = content + self.tail
        assert len(content) % align == 0
        return len(self.tail)

    def string(self, text):
        content = text.encode() + b"\0"
        content += b"\0" * (-len(content) % 4)
        return self._push(struct.pack("<I", len(text.encode())) + content)

    def vector(self, places):
        count = len(places)
        end = len(self.tail)
        offsets = [end + 4 * (count - k) - place for k, place in enumerate(places)]
        return self._push(struct.pack(f"<I{count}I", count, *offsets))

    def data(self, content):
        content += b"\0" * (-len(content) % 4)
        return self._push(struct.pack("<I", len(content)) + content)

    def table(self, fields):
        """Return a table of references and of numbers, the latter as ('u', n)."""
        last = max(fields, default=-1)
        size = 4 + 4 * len(fields)
        slots = {number: 4 + 4 * k for k, number in enumerate(fields)}
        end = len(self.tail) + size
        body = b"".join(
            struct.pack("<I", value[1] if isinstance(value, tuple)
                        else end - slots[number] - value)
            for number, value in fields.items()
        )  # fmt: skip
        vtable = struct.pack("<HH", 4 + 2 * (last + 1), size)
        vtable += b"".join(struct.pack("<H", slots.get(n, 0)) for n in range(last + 1))
        vtable += b"\0" * (-len(vtable) % 4)
        self._push(struct.pack("<i", len(vtable)) + body)
        table = len(self.tail)
        self._push(vtable)
        return table

    def finish(self, root, identifier):
        # Objects that were there before keep their alignment.
        self.tail = b"\0" * (-(len(self.tail) - self.behind) % 16) + self.tail
        end = len(self.tail) + 8
        return struct.pack("<I", end - root) + identifier + self.tail


def metadata(name, kind=2):
    """Return model metadata that says which file has the labels of the output."""
    buffer = Flatbuffer()
    file = buffer.table({0: buffer.string(name), 2: ("u", kind)})
    tensor = buffer.table({6: buffer.vector([file])})
    graph = buffer.table({3: buffer.vector([tensor])})
    return buffer.finish(buffer.table({3: buffer.vector([graph])}), b"M001")


def tflite(content, name="labels.txt", kind=2, stored="labels.txt"):
    """Return a file that has metadata and nothing else, with a text behind it."""
    buffer = Flatbuffer()
    data = buffer.table({0: buffer.data(metadata(name, kind))})
    buffers = buffer.vector([buffer.table({}), data])
    entry = buffer.table({0: buffer.string("TFLITE_METADATA"), 1: ("u", 1)})
    model = buffer.finish(buffer.table({4: buffers, 6: buffer.vector([entry])}), b"TFL3")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(stored, content)
    return model + archive.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (tflite("cat\ndog\r\n  bird \n\n"), ("cat", "dog", "bird")),
        (tflite("\ufeffchat\n\u97f3"), ("chat", "\u97f3")),
        (tflite("cat", kind=3), None),
        (tflite("cat", name="others.txt"), None),
        (tflite(b"\xff\xfe\n"), None),
        (tflite("a" * (1 << 20) + "\nb"), None),
        (tflite("cat")[:-30], None),
        (b"", None),
        (b"\0\0\0\0TFL3" + b"\xff" * 64, None),
    ],
)
def test_labels_of_metadata(tmp_path, content, expected):
    (tmp_path / "net.tflite").write_bytes(content)
    assert labels_of(tmp_path / "net.tflite") == expected


def test_damaged_metadata_never_raises(tmp_path):
    content = bytearray(tflite("cat\ndog"))
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "net.tflite").write_bytes(damaged)
        labels_of(tmp_path / "net.tflite")


def test_emit_takes_names_from_a_file(tmp_path, capsys):
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"digit {k}" for k in range(10)))
    command = ["emit", str(DIGITS / "digits.rlx"), "--target", "cortexm", "--prefix", "net"]
    assert main([*command, "--labels", str(names), "-o", str(tmp_path / "c")]) == 0
    assert '"digit 9",' in (tmp_path / "c/src/net_labels.c").read_text()
    assert "#define NET_LABELS 10\n" in (tmp_path / "c/include/net.h").read_text()
    names.write_text("one\ntwo\n")
    assert main([*command, "--labels", str(names), "-o", str(tmp_path / "d")]) == 2
    said = capsys.readouterr().err
    assert "--labels: expected 10 names, one for each class of the output, got 2\n" in said
    assert not (tmp_path / "d").exists()


def with_labels(content, lines):
    """Return a TFLite file with the names of its classes: a new table of the model before it."""

    def word(at):
        return struct.unpack_from("<I", content, at)[0]

    def place(at):
        return len(content) - (at + word(at))

    root = word(0)
    vtable = root - struct.unpack_from("<i", content, root)[0]
    fields = [struct.unpack_from("<H", content, vtable + 4 + 2 * k)[0] for k in range(5)]
    kinds, graphs, buffers = (root + fields[k] for k in (1, 2, 4))
    stored = buffers + word(buffers)
    old = [place(stored + 4 + 4 * k) for k in range(word(stored))]
    buffer = Flatbuffer(content[8:])
    data = buffer.table({0: buffer.data(metadata("labels.txt"))})
    number = len(old)
    entry = buffer.table({0: buffer.string("TFLITE_METADATA"), 1: ("u", number)})
    both = {4: buffer.vector([*old, data]), 6: buffer.vector([entry])}
    model = buffer.table({0: ("u", 3), 1: place(kinds), 2: place(graphs), **both})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("labels.txt", "\n".join(lines))
    return buffer.finish(model, b"TFL3") + archive.getvalue()


def test_emit_takes_names_from_the_metadata(tmp_path, capsys):
    content = (DIGITS / "digits.tflite").read_bytes()
    names = [f"digit {k}" for k in range(10)]
    model = tmp_path / "digits.tflite"
    command = ["emit", str(model), "--target", "cortexm", "--prefix", "net", "-o"]
    model.write_bytes(with_labels(content, names))
    assert main([*command, str(tmp_path / "c")]) == 0
    assert '"digit 9",' in (tmp_path / "c/src/net_labels.c").read_text()
    model.write_bytes(with_labels(content, names[:3]))
    assert main([*command, str(tmp_path / "d")]) == 0
    assert not (tmp_path / "d/src/net_labels.c").exists()
    assert "note: the 3 labels of digits.tflite are not used" in capsys.readouterr().err
    model.write_bytes(content)
    assert main([*command, str(tmp_path / "e")]) == 0
    for name in ("src/net.c", "src/net_weights.c"):
        parts = [(tmp_path / f / name).read_text() for f in ("c", "d", "e")]
        assert parts[0] == parts[1] == parts[2]
