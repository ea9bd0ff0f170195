"""Packages that list their files: PlatformIO, Arduino, CMSIS-Pack and csolution.

Where a tool can be had (PlatformIO's packer, Arduino's builder), it does its work here; where none
can (packchk, csolution), the tests read the lists as it would and build what they name.
"""

import json
import re
import shutil
import sys
import tarfile
import xml.etree.ElementTree as ET

import pytest
import yaml
from targets.cortexm.negation import CALL, PRINTED, PROGRAM, files_of, folder_of

from rlx.support.errors import SimulationError
from rlx.support.process import run
from support import missing, require_program

TIMEOUT_S = 120
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def test_platformio_library():
    """Source: PlatformIO's documentation of library.json."""
    library = json.loads(files_of(package_version="2.3.4")["library.json"])
    assert library == {
        "name": "net",
        "version": "2.3.4",
        "description": "net, an int8 network as plain C",
        "keywords": ["machine learning", "neural network", "int8"],
        "headers": ["net.h"],
        "frameworks": ["*"],
        "platforms": ["*"],
        "build": {"includeDir": "include", "srcDir": "src"},
        "export": {"exclude": ["golden", "report", "test"]},
    }


# What "pio pkg pack" calls, without the account and update checks of that command.
PACK = """
import sys
from platformio.package.pack import PackagePacker
PackagePacker(sys.argv[1]).pack(sys.argv[2])
"""


def packed(place, folder):
    """Let PlatformIO check the manifest and pack the folder; return the paths in the archive."""
    home = {"HOME": str(place), "PLATFORMIO_CORE_DIR": str(place / "core")}
    archive = place / "net.tar.gz"
    run([sys.executable, "-c", PACK, str(folder), str(archive)], timeout_s=TIMEOUT_S, env=home)
    with tarfile.open(archive) as content:
        return set(content.getnames())


@pytest.mark.sim
@pytest.mark.parametrize("manifest", ["library.json", "library.properties"])
def test_platformio_packs_the_library(tmp_path, manifest):
    """PlatformIO reads its own manifest, or Arduino's where there is none."""
    package = {"library.json": "platformio", "library.properties": "arduino"}[manifest]
    folder = folder_of(tmp_path / "net", package=(package,))
    names = packed(tmp_path, folder)
    assert {manifest, "README.md", "include/net.h", "src/net.c"} <= names
    sources = {path.relative_to(folder).as_posix() for path in (folder / "src").iterdir()}
    assert sources <= names
    if manifest == "library.json":
        assert (folder / "report").is_dir()
        assert not [name for name in names if name.startswith(("golden", "report", "test"))]


@pytest.mark.sim
def test_platformio_refuses_a_wrong_manifest(tmp_path):
    folder = folder_of(tmp_path / "net")
    manifest = folder / "library.json"
    manifest.write_text(manifest.read_text().replace('"version": "1.0.0"', '"version": "one"'))
    with pytest.raises(SimulationError, match="Invalid semantic versioning format"):
        packed(tmp_path, folder)


def test_arduino_properties():
    """Source: Arduino's library specification 2.2."""
    lines = files_of(package_version="2.3.4")["library.properties"].splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    assert list(properties) == [
        "name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
        "architectures", "includes",
    ]  # fmt: skip
    assert properties["version"] == "2.3.4"
    assert properties["category"] == "Data Processing"
    assert properties["includes"] == "net.h"


ARDUINO = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct Printer {
  void begin(long) {}
  void print(const char *text) { printf("%s", text); }
  void print(long number) { printf("%ld", number); }
  void print(int number) { printf("%d", number); }
  void print(double number) { printf("%.2f", number); }
  void print(unsigned long number) { printf("%lu", number); }
  template <typename T> void println(T value) { print(value); printf("\\n"); }
};
static Printer Serial;
static inline unsigned long micros() { return 0; }
static inline void delay(long) {}
"""
"""Functions of Arduino that the example calls, with the overloads that decide which one it is."""


@pytest.mark.parametrize(
    "options",
    [
        {}, {"io": "arena"}, {"static_arena": True}, {"io": "arena", "static_arena": True},
        {"labels": [f"class {k}" for k in range(8)]},
    ],
    ids=str,
)  # fmt: skip
def test_arduino_example_runs(tmp_path, options):
    gcc, cpp = require_program("gcc"), require_program("g++")
    folder = folder_of(tmp_path / "net", **options)
    sketch = folder / "examples" / "Run" / "Run.ino"
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    program = tmp_path / "sketch.cpp"
    called = "int main() { setup(); loop(); return 0; }\n"
    program.write_text(f"#include <Arduino.h>\n{sketch.read_text()}{called}")
    sources = sorted((folder / "src").glob("*.c"))
    for index, path in enumerate(sources):
        run([gcc, *C_FLAGS, path, "-o", tmp_path / f"{index}.o"], timeout_s=TIMEOUT_S)
    command = [cpp, *CPP_FLAGS[1:], "-I", tmp_path, "-I", folder / "src", program]
    objects = [tmp_path / f"{index}.o" for index in range(len(sources))]
    run([*command, *objects, "-o", tmp_path / "program"], timeout_s=TIMEOUT_S)
    first, *values = run([tmp_path / "program"], timeout_s=10).stdout.splitlines()
    assert first == "status 0, microseconds 0"
    labels = options.get("labels")
    names = [f"{label}: " for label in labels] * 2 if labels else [""] * 16
    assert values == [f"{name}0" for name in names]


def test_arduino_library_keeps_the_rules_of_arduino_lint(tmp_path):
    """Source: arduino-lint's rules for libraries, those that apply to such a folder."""
    folder = folder_of(tmp_path / "net")
    lines = (folder / "library.properties").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines)
    required = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category",
                "url", "architectures")  # fmt: skip
    assert all(values[key].strip() for key in required)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", values["name"])
    assert re.fullmatch(r"https?://[^\s/]+/\S*", values["url"])
    assert not values["paragraph"].startswith(values["sentence"])
    assert (folder / "src" / values["includes"]).is_file()
    assert values["name"] == values["includes"].removesuffix(".h")
    assert (folder / "README.md").is_file()
    sketches = [path for path in (folder / "examples").rglob("*") if path.is_file()]
    assert [(path.parent.name, path.name) for path in sketches] == [("Run", "Run.ino")]
    assert not [path for path in folder.rglob("*") if path.suffix == ".exe" or path.is_symlink()]


SKETCH = f"""
#include <net.h>
static uint32_t arena[NET_ARENA_BYTES / 4 + 1];
void setup() {{ answer(); }}
void loop() {{}}
int answer()
{{{CALL}}}
"""
"""A sketch calls functions before it defines them: Arduino's builder declares them."""

CORE = """
#include <stdint.h>
#include <stdio.h>
void setup();
void loop();
"""
MAIN = "#include <Arduino.h>\nint main() { setup(); loop(); return 0; }\n"

C_FLAGS = ["-c", "-Os", "-std=gnu11", *WARNINGS]
CPP_FLAGS = ["-c", "-Os", "-std=gnu++17", *WARNINGS]


def test_arduino_builds_with_its_source_folder_alone(tmp_path):
    """Arduino compiles everything below src and looks for headers there and nowhere else."""
    gcc, cpp = require_program("gcc"), require_program("g++")
    source = folder_of(tmp_path / "net") / "src"
    (tmp_path / "Arduino.h").write_text(CORE)
    sketch = tmp_path / "sketch.cpp"
    sketch.write_text("#include <Arduino.h>\nint answer();\n" + SKETCH + MAIN)
    commands = [[gcc, *C_FLAGS, path] for path in sorted(source.rglob("*.c"))]
    assert len(commands) > 1
    commands.append([cpp, *CPP_FLAGS, "-I", tmp_path, sketch])
    objects = [tmp_path / f"{index}.o" for index in range(len(commands))]
    for command, item in zip(commands, objects, strict=True):
        run([*command, "-I", source, "-o", item], timeout_s=TIMEOUT_S)
    run([cpp, *objects, "-o", tmp_path / "program"], timeout_s=TIMEOUT_S)
    assert run([tmp_path / "program"], timeout_s=10).stdout == PRINTED


PLATFORM = f"""
name=Host
version=1.0.0
recipe.preproc.macros=g++ -E -x c++ -std=gnu++17 -w {{includes}} {{source_file}} -o {{preprocessed_file_path}}
recipe.c.o.pattern=gcc {" ".join(C_FLAGS)} {{includes}} {{source_file}} -o {{object_file}}
recipe.cpp.o.pattern=g++ {" ".join(CPP_FLAGS)} {{includes}} {{source_file}} -o {{object_file}}
recipe.ar.pattern=ar rcs {{archive_file_path}} {{object_file}}
recipe.c.combine.pattern=g++ {{object_files}} {{archive_file_path}} -o {{build.path}}/program
tools.ctags.path={{ctags_folder}}
tools.ctags.cmd.path={{path}}/arduino-ctags
tools.ctags.pattern={{cmd.path}} -u --language-force=c++ -f - --c++-kinds=svpf --fields=KSTtzns --line-directives {{source_file}}
"""  # noqa: E501
"""Platform of a board that is this computer. Source: Arduino's platform specification."""


@pytest.mark.sim
def test_arduino_builder_builds_a_sketch(tmp_path):
    """Arduino's own builder finds the library by its header, compiles it and links the sketch."""
    builder, ctags = shutil.which("arduino-builder"), shutil.which("arduino-ctags")
    if builder is None or ctags is None:
        missing("arduino-builder is not installed")
    folder_of(tmp_path / "libraries" / "net", package_version="2.3.4")
    files = {
        "hardware/rlx/host/boards.txt": "host.name=Host\nhost.build.core=plain\n",
        "hardware/rlx/host/platform.txt": PLATFORM.replace(
            "{ctags_folder}", ctags.rpartition("/")[0]
        ),
        "hardware/rlx/host/cores/plain/Arduino.h": CORE,
        "hardware/rlx/host/cores/plain/main.cpp": MAIN,
        "sketch/sketch.ino": SKETCH,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    build = tmp_path / "build"
    build.mkdir()
    folders = [f"-{name}={tmp_path / name}" for name in ("hardware", "libraries")]
    command = [builder, "-compile", *folders, f"-tools={tmp_path}", "-fqbn=rlx:host:host"]
    command += [f"-build-path={build}", "-verbose", str(tmp_path / "sketch" / "sketch.ino")]
    done = run(command, timeout_s=TIMEOUT_S)
    assert "Using library net at version 2.3.4" in done.stdout
    assert run([build / "program"], timeout_s=10).stdout == PRINTED


def test_cmsis_pack_description(tmp_path):
    """Source: PACK.xsd 1.7 of the Open-CMSIS-Pack specification."""
    folder = folder_of(tmp_path / "net", package_version="2.3.4")
    package = ET.parse(folder / "rlx.net.pdsc").getroot()
    assert (package.tag, package.attrib) == ("package", {"schemaVersion": "1.7.7"})
    assert [child.tag for child in package] == [
        "vendor", "name", "description", "url", "releases", "requirements", "components",
    ]  # fmt: skip
    # Tools look for <vendor>.<name>.pdsc.
    assert (package.findtext("vendor"), package.findtext("name")) == ("rlx", "net")
    assert [r.get("version") for r in package.iter("release")] == ["2.3.4"]
    (component,) = package.iter("component")
    assert component.attrib == {
        "Cvendor": "rlx", "Cclass": "Machine Learning", "Cgroup": "net", "Cversion": "2.3.4",
    }  # fmt: skip
    files = [(file.get("category"), file.get("name")) for file in package.iter("file")]
    assert all((folder / name).exists() for _, name in files)
    listed = {name for category, name in files if category == "sourceC"}
    assert listed == {f"src/{path.name}" for path in (folder / "src").glob("*.c")}
    assert ("header", "include/net.h") in files


# Source: PACK.xsd 1.7.7.
RESTRICTED = r"[\-_A-Za-z0-9]+"
CATEGORIES = {"doc", "header", "include", "sourceC"}


@pytest.mark.parametrize("prefix", ["n", "net", "n" * 32], ids=len)
def test_cmsis_pack_keeps_the_limits_of_the_schema(tmp_path, prefix):
    folder = folder_of(tmp_path / "net", prefix)
    package = ET.parse(folder / f"rlx.{prefix}.pdsc").getroot()
    for name in ("vendor", "name"):
        assert re.fullmatch(RESTRICTED, package.findtext(name))
    component = next(package.iter("component"))
    assert all(2 <= len(component.get(name)) <= 32 for name in ("Cclass", "Cgroup"))
    assert [child.tag for child in component] == ["description", "files"]
    files = [(file.get("category"), file.get("name")) for file in package.iter("file")]
    assert {category for category, _ in files} == CATEGORIES
    assert len(set(files)) == len(files)
    # A folder to search ends with a slash, anything else is a file.
    for category, name in files:
        assert name.endswith("/") == (category == "include") == (folder / name).is_dir(), name
    conditions = {condition.get("id") for condition in package.iter("condition")}
    used = {element.get("condition") for element in package.iter() if element.get("condition")}
    assert used <= conditions


def test_cmsis_pack_of_a_short_name():
    package = ET.fromstring(files_of("n")["rlx.n.pdsc"])
    assert next(package.iter("component")).get("Cgroup") == "n_net"


def test_csolution_layer(tmp_path):
    """Source: the CMSIS-Toolbox manual, YML input format."""
    folder = folder_of(tmp_path / "net")
    layer = yaml.safe_load((folder / "net.clayer.yml").read_text())
    sources = sorted(f"src/{path.name}" for path in (folder / "src").glob("*.c"))
    assert layer == {
        "layer": {
            "description": "int8 network net",
            "groups": [
                {
                    "group": "net",
                    "add-path": ["include"],
                    "files": [{"file": name} for name in ["include/net.h", *sources]],
                }
            ],
        }
    }


def pack_files(folder):
    """Return the folders to search and the sources that the pack's description names."""
    files = list(ET.parse(folder / "rlx.net.pdsc").getroot().iter("file"))
    named = {kind: [f.get("name") for f in files if f.get("category") == kind]
             for kind in ("include", "sourceC")}  # fmt: skip
    return named["include"], named["sourceC"]


def layer_files(folder):
    """Return the folders to search and the sources that the layer names."""
    (group,) = yaml.safe_load((folder / "net.clayer.yml").read_text())["layer"]["groups"]
    return group["add-path"], [f["file"] for f in group["files"] if f["file"].endswith(".c")]


@pytest.mark.parametrize("listed", [pack_files, layer_files])
def test_component_builds_from_the_files_it_names(tmp_path, listed):
    """A project adds the component's folders and sources to its own, and nothing else."""
    compiler = require_program("gcc", "cc")
    folder = folder_of(tmp_path / "net")
    searched, sources = listed(folder)
    (tmp_path / "main.c").write_text(PROGRAM)
    includes = [part for name in searched for part in ("-I", folder / name)]
    inputs = [tmp_path / "main.c", *(folder / name for name in sources)]
    flags = ["-std=c99", "-O2", *WARNINGS]
    command = [compiler, *flags, *includes, *inputs, "-o", tmp_path / "program"]
    run(command, timeout_s=TIMEOUT_S)
    assert run([tmp_path / "program"], timeout_s=10).stdout == PRINTED
