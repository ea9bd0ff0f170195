"""Files for every build system: they are in the emitted folder, and right as far as can be run."""

import json
import re
import shutil
import xml.etree.ElementTree as ET

import kconfiglib
import pytest
import yaml
from targets.cortexm.graph_builder import emit_graph
from targets.cortexm.negation import PRINTED, PROGRAM, files_of, folder_of, network

from rlx.support.errors import UsageError
from rlx.support.process import run
from rlx_cortexm import CortexMOptions
from rlx_cortexm.packages import PACKAGES, parse_packages, usage
from support import ROOT, require_program
from support.messages import raises

TIMEOUT_S = 120


def without_comments(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def test_every_package_has_its_files():
    alone = set(files_of(package=()))
    own = {name: set(files_of(package=(name,))) - alone for name in PACKAGES}
    assert own == {
        "cmake": {"CMakeLists.txt"},
        "zephyr": {"zephyr/module.yml", "zephyr/CMakeLists.txt", "zephyr/Kconfig"},
        "platformio": {"library.json"},
        "arduino": {"library.properties", "src/net.h", "examples/Run/Run.ino"},
        "cmsis-pack": {"rlx.net.pdsc", "net.clayer.yml"},
        "esp-idf": {"CMakeLists.txt", "idf_component.yml"},
        "meson": {"meson.build"},
    }
    assert set(files_of()) == alone.union(*own.values())


def test_readme_names_the_packages_that_are_there():
    both = files_of(package=("cmake", "zephyr"))["README.md"]
    assert (
        "- CMake: `add_subdirectory` this folder, link `net::net`; or install it, `find_package"
        in both
    )
    assert "(net)`.\n- Zephyr: " in both
    assert "Arduino" not in both
    assert "CMake" not in files_of(package=())["README.md"]
    assert [name for name, _ in usage(tuple(PACKAGES), "net")] == [
        "CMake", "Zephyr", "PlatformIO", "Arduino", "csolution", "ESP-IDF", "Meson",
    ]  # fmt: skip


def test_names_of_packages_are_read_and_checked():
    assert parse_packages("cmake, arduino") == ("cmake", "arduino")
    assert parse_packages("none") == ()
    with raises(UsageError):
        CortexMOptions(package=("cmake", "conan"))


@pytest.mark.parametrize("url", ["", "net", "ftp://a.b/c", 'https://a.b/"', "https://a.b/c d\n"])
def test_url_of_packages_is_checked(url):
    with pytest.raises(UsageError, match=r"^expected the URL of a page, got .*\n  hint: use"):
        CortexMOptions(package_url=url)
    files = files_of(package_url="https://example.com/kws?a=1")
    assert "\nurl=https://example.com/kws?a=1\n" in files["library.properties"]
    assert yaml.safe_load(files["idf_component.yml"])["url"] == "https://example.com/kws?a=1"


@pytest.mark.parametrize("version", ["1.0", "01.0.0", "1.0.0-beta", "v1.0.0", ""])
def test_version_of_packages_is_checked(version):
    with raises(UsageError):
        CortexMOptions(package_version=version)


def test_cmake_target_is_used_by_a_project_twice(tmp_path):
    """Two networks in one project; names that CMake keeps for itself; settings of the user."""
    cmake = require_program("cmake")
    for prefix in ("net", "test"):
        folder_of(tmp_path / prefix, prefix)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\n"
        "project(user LANGUAGES C CXX)\n"
        "set(NET_WERROR ON)\nset(NET_ALLOW_O0 ON)\n"
        "set(NET_CONFIG settings.h)\ninclude_directories(.)\n"
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


SHARED = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
{before}
add_subdirectory(net)
add_library(user SHARED main.c)
target_link_libraries(user PRIVATE net::net)
"""
SHARED_PROGRAM = """
#include "net.h"
int32_t use(const int8_t *x, int8_t *y, void *arena);
int32_t use(const int8_t *x, int8_t *y, void *arena) { return net_run(x, y, arena); }
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        "set(CMAKE_C_COMPILE_FEATURES)",  # as for Arm Compiler 5, Green Hills, tcc
        "set(CMAKE_POSITION_INDEPENDENT_CODE ON)",
    ],
)
def test_cmake_target_goes_into_a_shared_library(tmp_path, before):
    cmake = require_program("cmake")
    folder_of(tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(SHARED.format(before=before))
    (tmp_path / "main.c").write_text(SHARED_PROGRAM)
    build = tmp_path / "build"
    run([cmake, "-S", tmp_path, "-B", build, "-DNET_ALLOW_O0=ON"], timeout_s=TIMEOUT_S)
    run([cmake, "--build", build], timeout_s=TIMEOUT_S)
    assert (build / "libuser.so").is_file()


LEVELS = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
add_subdirectory(net)
add_executable(user main.c)
target_link_libraries(user PRIVATE net::net)
"""
WARNING = "compiled without optimization: use -O2, or define NET_ALLOW_O0"


@pytest.mark.parametrize(
    ("variables", "level", "warns"),
    [
        ([], "-O2", False),
        (["-DNET_OPTIMIZE=OFF"], "", True),
        (["-DNET_OPTIMIZE=OFF", "-DNET_ALLOW_O0=ON"], "", False),
        (["-DCMAKE_C_FLAGS=-g -Os"], "-Os", False),
        (["-DCMAKE_BUILD_TYPE=Release"], "-O3", False),
        (["-DCMAKE_BUILD_TYPE=Debug"], "", True),
        (["-DCMAKE_BUILD_TYPE=Debug", "-DNET_WERROR=ON", "-DNET_ALLOW_O0=ON"], "", False),
    ],
)
def test_cmake_target_optimizes_if_nothing_else_is_asked(tmp_path, variables, level, warns):
    cmake = require_program("cmake")
    folder_of(tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(LEVELS)
    (tmp_path / "main.c").write_text(PROGRAM)
    build = tmp_path / "build"
    commands = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    run([cmake, "-S", tmp_path, "-B", build, commands, *variables], timeout_s=TIMEOUT_S)
    done = run([cmake, "--build", build], timeout_s=TIMEOUT_S)
    said = done.stdout + done.stderr
    assert (WARNING in said, said.count("warning:")) == (warns, int(warns))
    library, program = (
        next(one["command"] for one in json.loads((build / "compile_commands.json").read_text())
             if one["file"].endswith(name)) for name in ("net.c", "main.c")
    )  # fmt: skip
    assert re.findall(r" (-O\w)", library) == ([level] if level else [])
    # The setting is the library's own: it does not reach the program that links it.
    assert "-O2" not in program


def test_cmake_target_leaves_configurations_of_one_build_tree_alone(tmp_path):
    cmake, _ = require_program("cmake"), require_program("ninja")
    folder_of(tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(LEVELS)
    (tmp_path / "main.c").write_text(PROGRAM)
    build = tmp_path / "build"
    generator = ["-G", "Ninja Multi-Config", "-DNET_ALLOW_O0=ON"]
    run([cmake, "-S", tmp_path, "-B", build, *generator], timeout_s=TIMEOUT_S)
    for configuration, level in (("Release", ["-O3"]), ("Debug", [])):
        command = [cmake, "--build", build, "--config", configuration, "--", "-v"]
        done = run(command, timeout_s=TIMEOUT_S)
        (line,) = re.findall(r"^.*-c \S*/net\.c$", done.stdout, re.MULTILINE)
        assert re.findall(r" (-O\w)", line) == level


INSTALLED = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
find_package(net 2.1 REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE net::net)
"""


def test_cmake_installs_a_package_that_others_find(tmp_path):
    cmake = require_program("cmake")
    folder = folder_of(tmp_path / "net", package_version="2.3.4")
    prefix = tmp_path / "a prefix"
    build = tmp_path / "build"
    command = [cmake, "-S", folder, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}"]
    for arguments in (command, [cmake, "--build", build], [cmake, "--install", build]):
        run(arguments, timeout_s=TIMEOUT_S)
    installed = {p.relative_to(prefix).as_posix() for p in prefix.rglob("*") if p.is_file()}
    assert {"include/net.h", "lib/libnet.a", "lib/cmake/net/netConfig.cmake"} <= installed
    for path in (folder, build):
        shutil.rmtree(path)
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(INSTALLED)
    (user / "main.c").write_text(PROGRAM)
    run([cmake, "-S", user, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], timeout_s=TIMEOUT_S)
    run([cmake, "--build", build], timeout_s=TIMEOUT_S)
    assert run([build / "user"], timeout_s=10).stdout == PRINTED
    (user / "CMakeLists.txt").write_text(INSTALLED.replace("2.1", "3.0"))
    ended = run([cmake, "-S", user, "-B", tmp_path / "other", f"-DCMAKE_PREFIX_PATH={prefix}"],
               timeout_s=TIMEOUT_S, check=False)  # fmt: skip
    assert ended.returncode != 0
    assert "2.3.4" in ended.stderr


def test_a_project_that_adds_the_folder_installs_nothing_of_it(tmp_path):
    cmake = require_program("cmake")
    folder_of(tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(LEVELS + "install(TARGETS user DESTINATION bin)\n")
    (tmp_path / "main.c").write_text(PROGRAM)
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    variables = ["-DNET_ALLOW_O0=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}"]
    run([cmake, "-S", tmp_path, "-B", build, *variables], timeout_s=TIMEOUT_S)
    run([cmake, "--build", build, "--target", "install"], timeout_s=TIMEOUT_S)
    assert [p.name for p in prefix.rglob("*") if p.is_file()] == ["user"]


ESP_IDF = """
cmake_minimum_required(VERSION 3.16)
project(idf LANGUAGES C)
set(ESP_PLATFORM 1)
set(CMAKE_C_FLAGS "-Og -Wall -Wextra -Werror")
macro(idf_component_register)
  cmake_parse_arguments(_ "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
  set(COMPONENT_LIB __idf_net)
  add_library(${COMPONENT_LIB} STATIC ${__SRCS})
  target_include_directories(${COMPONENT_LIB} PUBLIC ${__INCLUDE_DIRS})
endmacro()
add_subdirectory(components/net)
add_executable(user main.c)
target_link_libraries(user PRIVATE __idf_net)
"""
"""Functions of ESP-IDF, as its documentation of the build system describes them."""

EARLY = """
set(ESP_PLATFORM 1)
set(CMAKE_BUILD_EARLY_EXPANSION 1)
macro(idf_component_register)
  set(registered ON)
endmacro()
function(run)
  include(components/net/CMakeLists.txt)
  message(STATUS "registered ${registered}")
endfunction()
run()
"""
"""ESP-IDF reads the files of all components as a script first."""


@pytest.mark.parametrize("package", [("esp-idf",), ("cmake", "esp-idf")], ids="+".join)
def test_component_of_esp_idf(tmp_path, package):
    cmake = require_program("cmake")
    folder = folder_of(tmp_path / "components" / "net", package=package, package_version="2.3.4")
    (tmp_path / "CMakeLists.txt").write_text(ESP_IDF)
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "early.cmake").write_text(EARLY)
    ended = run([cmake, "-P", "early.cmake"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    assert "registered ON" in ended.stdout
    build = tmp_path / "build"
    commands = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    run([cmake, "-S", tmp_path, "-B", build, commands], timeout_s=TIMEOUT_S)
    run([cmake, "--build", build], timeout_s=TIMEOUT_S)
    assert run([build / "user"], timeout_s=10).stdout == PRINTED
    compiled = json.loads((build / "compile_commands.json").read_text())
    (network_,) = [one["command"] for one in compiled if one["file"].endswith("/net.c")]
    assert re.findall(r" (-O\w)", network_) == ["-Og", "-O2"]
    component = yaml.safe_load((folder / "idf_component.yml").read_text())
    assert component["version"] == "2.3.4"
    assert component["dependencies"] == {"idf": ">=4.4"}


MESON = """
project('user', 'c')
executable('user', 'main.c', dependencies: [dependency('net'), dependency('rlx_test')])
"""


@pytest.mark.parametrize(("options", "level"), [([], "-O2"), (["-Doptimization=s"], "-Os")])
def test_meson_subproject(tmp_path, monkeypatch, options, level):
    """Two networks, one of a name that Meson keeps for itself."""
    meson = require_program("meson")
    monkeypatch.setenv("NINJA", require_program("ninja"))
    folder_of(tmp_path / "subprojects" / "net", package=("meson",))
    folder_of(tmp_path / "subprojects" / "rlx_test", "test", package=("meson",))
    for name in ("net", "rlx_test"):
        (tmp_path / "subprojects" / f"{name}.wrap").write_text(
            f"[wrap-file]\ndirectory = {name}\n[provide]\ndependency_names = {name}\n"
        )
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "main.c").write_text(PROGRAM)
    run([meson, "setup", "build", *options], cwd=tmp_path, timeout_s=TIMEOUT_S)
    run([meson, "compile", "-C", "build"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    assert run([tmp_path / "build" / "user"], timeout_s=10).stdout == PRINTED
    compiled = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    (network_,) = [one["command"] for one in compiled if one["file"].endswith("/src/net.c")]
    assert re.findall(r" (-O\w)", network_)[-1] == level


FETCH = """
cmake_minimum_required(VERSION 3.14)
project(user LANGUAGES C)
include(FetchContent)
FetchContent_Declare(network URL "${CMAKE_SOURCE_DIR}/net.tar.gz")
FetchContent_MakeAvailable(network)
add_executable(user main.c)
target_link_libraries(user PRIVATE net::net)
"""


def test_cmake_fetches_the_folder_as_an_archive(tmp_path):
    cmake = require_program("cmake")
    folder = folder_of(tmp_path / "net")
    shutil.make_archive(str(tmp_path / "net"), "gztar", folder)
    shutil.rmtree(folder)
    (tmp_path / "CMakeLists.txt").write_text(FETCH)
    (tmp_path / "main.c").write_text(PROGRAM)
    build = tmp_path / "build"
    policy = "-DCMAKE_POLICY_DEFAULT_CMP0135=NEW"
    run([cmake, "-S", tmp_path, "-B", build, policy], timeout_s=TIMEOUT_S)
    run([cmake, "--build", build], timeout_s=TIMEOUT_S)
    assert run([build / "user"], timeout_s=10).stdout == PRINTED


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
add_subdirectory(net/${FOLDER} net)
if(CONFIG_RLX_NET)
  add_executable(user main.c)
  target_link_libraries(user PRIVATE rlx_net)
elseif(TARGET rlx_net)
  message(FATAL_ERROR "built without being wanted")
endif()
"""
"""Zephyr's functions, as its documentation describes them."""


MENU = """
mainmenu "Zephyr Kernel Configuration"
menu "rlx_net"
osource "{kconfig}"
endmenu
"""
"""Menu by which Zephyr takes in a module's options."""


def configured(module, project, settings):
    """Return CMake's variables after Zephyr has read a module's file and a project's settings."""
    build = yaml.safe_load((module / "zephyr/module.yml").read_text())["build"]
    (project / "Kconfig").write_text(MENU.format(kconfig=module / build["kconfig"]))
    (project / "prj.conf").write_text(settings)
    kconfig = kconfiglib.Kconfig(str(project / "Kconfig"), warn_to_stderr=False)
    kconfig.load_config(str(project / "prj.conf"))
    assert kconfig.warnings == []
    values = {f"CONFIG_{s.name}": s.str_value for s in kconfig.unique_defined_syms}
    # A symbol that is "n" is not in .config, and so no variable.
    return {"FOLDER": build["cmake"], **{k: v for k, v in values.items() if v != "n"}}


@pytest.mark.parametrize("settings", ["CONFIG_RLX_NET=y\n", ""])
def test_zephyr_module_builds_if_it_is_wanted(tmp_path, settings):
    cmake = require_program("cmake")
    folder = folder_of(tmp_path / "net")
    variables = configured(folder, tmp_path, settings)
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR)
    (tmp_path / "main.c").write_text(PROGRAM)
    build = ["-S", str(tmp_path), "-B", str(tmp_path / "build")]
    run([cmake, *build, *(f"-D{k}={v}" for k, v in variables.items())], timeout_s=TIMEOUT_S)
    run([cmake, "--build", str(tmp_path / "build")], timeout_s=TIMEOUT_S)
    assert (tmp_path / "build" / "user").exists() == bool(settings)
    if settings:
        assert run([tmp_path / "build" / "user"], timeout_s=10).stdout == PRINTED


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
    assert place.help.startswith("Adds net_run() of net.h. The caller provides ")


def test_hostile_names_stay_in_their_place():
    """A model's name reaches these files as text between others, and ends nothing."""
    name = "x\"\n--> ${ENV} $(shell) ]] <b>&amp;' : # -- %s \\ -"
    files = emit_graph(network(name), "net").files
    ET.fromstring(files["rlx.net.pdsc"])
    assert set(yaml.safe_load(files["net.clayer.yml"])["layer"]) == {"description", "groups"}
    assert set(yaml.safe_load(files["zephyr/module.yml"])) == {"name", "build"}
    component = yaml.safe_load(files["idf_component.yml"])
    assert set(component) == {"version", "description", "url", "dependencies", "files"}
    json.loads(files["library.json"])
    assert len(files["library.properties"].splitlines()) == 10
    benign = files_of()
    for file in ("CMakeLists.txt", "zephyr/CMakeLists.txt", "meson.build"):
        assert without_comments(files[file]) == without_comments(benign[file])
    assert len(files["zephyr/Kconfig"].splitlines()) == len(benign["zephyr/Kconfig"].splitlines())


@pytest.mark.qemu
def test_example_firmware_prints_the_digit(tmp_path):
    """The commands of examples/firmware_qemu/README.md."""
    from rlx import frontends
    from rlx.driver import driver
    from rlx.targets import target

    cmake = require_program("cmake")
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    example = ROOT / "examples" / "firmware_qemu"
    for path in example.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    driver.emit(module, target.load("cortexm"), tmp_path / "model")
    toolchain = "-DCMAKE_TOOLCHAIN_FILE=arm-none-eabi.cmake"
    run([cmake, "-B", "build", toolchain], cwd=tmp_path, timeout_s=TIMEOUT_S)
    run([cmake, "--build", "build"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    done = run([cmake, "--build", "build", "--target", "run"], cwd=tmp_path, timeout_s=TIMEOUT_S)
    assert re.search(r"^digit: 7, \d\d % sure, after 7 layers$", done.stdout + done.stderr, re.M)
