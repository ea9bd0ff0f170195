"""What every build system needs is in the emitted folder, and is right as far as it can be run."""

import json
import re
import xml.etree.ElementTree as ET

import kconfiglib
import pytest
import yaml
from support import ROOT, require_program
from targets.cortexm.zoo import emit_graph, write

from rlx.errors import UsageError
from rlx.ir import Graph, i8
from rlx.ops.q import QClamp, QTable
from rlx.process import run
from rlx_cortexm import CortexMOptions
from rlx_cortexm.packages import PACKAGES, parse_packages, usage

TIMEOUT_S = 120
HOST_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-c"]


def network(name="net"):
    graph = Graph(name)
    negate = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))
    graph.output(graph.apply(QClamp(low=0), graph.apply(negate, graph.input("x", i8(2, 8)))))
    return graph


def folder_of(place, prefix="net", **options):
    return write(place, emit_graph(network(), prefix, **options))


def files_of(prefix="net", **options):
    return emit_graph(network(), prefix, **options).files


def without_comments(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def test_every_package_has_its_files():
    alone = set(files_of(package=()))
    own = {name: set(files_of(package=(name,))) - alone for name in PACKAGES}
    assert own == {
        "cmake": {"CMakeLists.txt"},
        "zephyr": {"zephyr/module.yml", "zephyr/CMakeLists.txt", "zephyr/Kconfig"},
        "platformio": {"library.json"},
        "arduino": {"library.properties", "src/net.h"},
        "cmsis-pack": {"rlx.net.pdsc", "net.clayer.yml"},
    }
    assert set(files_of()) == alone.union(*own.values())


def test_readme_names_the_packages_that_are_there():
    both = files_of(package=("cmake", "zephyr"))["README.md"]
    assert "- CMake: `add_subdirectory` this folder, link `net::net`.\n- Zephyr: " in both
    assert "Arduino" not in both
    assert "CMake" not in files_of(package=())["README.md"]
    assert [name for name, _ in usage(tuple(PACKAGES), "net")] == [
        "CMake", "Zephyr", "PlatformIO", "Arduino", "csolution",
    ]  # fmt: skip


def test_names_of_packages_are_read_and_checked():
    assert parse_packages("cmake, arduino") == ("cmake", "arduino")
    assert parse_packages("none") == ()
    with pytest.raises(
        UsageError,
        match=r"^no package is called 'conan'\n"
        r"  hint: use some of cmake, zephyr, platformio, arduino, cmsis-pack, or none$",
    ):
        CortexMOptions(package=("cmake", "conan"))


@pytest.mark.parametrize("version", ["1.0", "01.0.0", "1.0.0-beta", "v1.0.0", ""])
def test_version_of_packages_is_checked(version):
    with pytest.raises(
        UsageError,
        match=rf"^package version '{re.escape(version)}' is not three numbers with dots between\n"
        r"  hint: write for example 1\.0\.0$",
    ):
        CortexMOptions(package_version=version)


def test_cmake_target_is_used_by_a_project_twice(tmp_path):
    """Two networks in one project; names that CMake keeps for itself; settings of the user."""
    cmake = require_program("cmake")
    for prefix in ("net", "test"):
        folder_of(tmp_path / prefix, prefix)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\n"
        "project(user LANGUAGES C CXX)\n"
        "set(NET_WERROR ON)\nset(NET_CONFIG settings.h)\ninclude_directories(.)\n"
        "add_subdirectory(net)\nadd_subdirectory(test)\n"
        "add_executable(user main.cpp)\n"
        "target_link_libraries(user PRIVATE net::net rlx_test::rlx_test)\n"
    )
    (tmp_path / "settings.h").write_text("#define NET_LAYER_HOOK(index, name) (void)(index)\n")
    (tmp_path / "main.cpp").write_text(CALLER)
    build = ["-S", str(tmp_path), "-B", str(tmp_path / "build"), "-DCMAKE_BUILD_TYPE=Debug"]
    run([cmake, *build], timeout_s=TIMEOUT_S)
    run([cmake, "--build", str(tmp_path / "build")], timeout_s=TIMEOUT_S)
    assert run([tmp_path / "build" / "user"], timeout_s=10).stdout == "1 2\n"


# Clamps at 0, after a change of sign.
CALLER = """
#include <net.h>
#include <test.h>
#include <cstdio>
#ifndef NET_CONFIG
#error "the settings do not reach the user of the library"
#endif
alignas(4) static uint8_t arena[NET_ARENA_BYTES > TEST_ARENA_BYTES ? NET_ARENA_BYTES
                                                                   : TEST_ARENA_BYTES];
int main()
{
  int8_t x[16] = {-1, -2}, y[16], z[16];
  if (net_run(x, y, arena) != NET_OK || test_run(x, z, arena) != TEST_OK) { return 1; }
  std::printf("%d %d\\n", y[0], z[1]);
  return 0;
}
"""

ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(zephyr LANGUAGES C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_include_directories)
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PUBLIC ${ARGV})
endfunction()
set(CONFIG_RLX_NET ${WANTED})
add_subdirectory(net/zephyr net)
if(WANTED)
  add_executable(user main.c)
  target_link_libraries(user PRIVATE rlx_net)
elseif(TARGET rlx_net)
  message(FATAL_ERROR "built without being wanted")
endif()
"""
"""Zephyr's functions, as its documentation describes them."""


@pytest.mark.parametrize("wanted", ["y", ""])
def test_zephyr_module_builds_if_it_is_wanted(tmp_path, wanted):
    cmake = require_program("cmake")
    folder_of(tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR)
    (tmp_path / "main.c").write_text(
        "#include <net.h>\nint main(void) { return net_run(NULL, NULL, NULL) != NET_ERROR_NULL; }\n"
    )
    build = ["-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DWANTED={wanted}"]
    run([cmake, *build], timeout_s=TIMEOUT_S)
    run([cmake, "--build", str(tmp_path / "build")], timeout_s=TIMEOUT_S)
    if wanted:
        run([tmp_path / "build" / "user"], timeout_s=10)


def test_zephyr_module_and_kconfig(tmp_path):
    folder = folder_of(tmp_path / "net")
    assert yaml.safe_load((folder / "zephyr/module.yml").read_text()) == {
        "name": "rlx_net",
        "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"},
    }
    kconfig = kconfiglib.Kconfig(str(folder / "zephyr/Kconfig"), warn_to_stderr=False)
    assert kconfig.warnings == []
    (option,) = kconfig.unique_defined_syms
    (place,) = option.nodes
    assert (option.name, option.type) == ("RLX_NET", kconfiglib.BOOL)
    assert place.prompt[0] == "Network net, compiled by rlx"
    assert place.help.startswith("Adds net_run() of net.h. A run needs ")


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


def test_arduino_builds_with_its_source_folder_alone(tmp_path):
    """Arduino compiles everything below src and looks for headers there and nowhere else."""
    compiler = require_program("gcc", "cc")
    folder = folder_of(tmp_path / "net")
    sketch = tmp_path / "sketch.c"
    sketch.write_text("#include <net.h>\nint32_t loop(void);\nint32_t loop(void)\n{\n"
                      "  return net_run(NULL, NULL, NULL);\n}\n")  # fmt: skip
    sources = [*sorted((folder / "src").rglob("*.c")), sketch]
    assert len(sources) > 1
    for source in sources:
        command = [compiler, *HOST_FLAGS, "-I", str(folder / "src"), str(source)]
        run([*command, "-o", str(tmp_path / "object.o")], timeout_s=TIMEOUT_S)


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


def test_hostile_names_stay_in_their_place():
    """A model's name reaches these files as text between others, and ends nothing."""
    name = "x\"\n--> ${ENV} $(shell) ]] <b>&amp;' : # -- %s \\ -"
    files = emit_graph(network(name), "net").files
    ET.fromstring(files["rlx.net.pdsc"])
    assert set(yaml.safe_load(files["net.clayer.yml"])["layer"]) == {"description", "groups"}
    assert set(yaml.safe_load(files["zephyr/module.yml"])) == {"name", "build"}
    json.loads(files["library.json"])
    assert len(files["library.properties"].splitlines()) == 10
    benign = files_of()
    for file in ("CMakeLists.txt", "zephyr/CMakeLists.txt"):
        assert without_comments(files[file]) == without_comments(benign[file])
    assert len(files["zephyr/Kconfig"].splitlines()) == len(benign["zephyr/Kconfig"].splitlines())


@pytest.mark.qemu
def test_example_firmware_tells_the_digit(tmp_path):
    """The commands of examples/firmware_qemu/README.md."""
    from rlx import emit, frontends, target

    cmake = require_program("cmake")
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    example = ROOT / "examples" / "firmware_qemu"
    for path in example.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    emit.emit(module, target.load("cortexm"), tmp_path / "model")
    toolchain = "-DCMAKE_TOOLCHAIN_FILE=arm-none-eabi.cmake"
    run([cmake, "-B", "build", toolchain], cwd=tmp_path, timeout_s=TIMEOUT_S)
    run([cmake, "--build", "build"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    done = run([cmake, "--build", "build", "--target", "run"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    assert re.search(r"^digit: 7, \d\d % sure, after 7 layers$", done.stdout + done.stderr, re.M)
