"""Emitted host libraries in a foreign project of CMake: as a folder, installed, by pkg-config."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from builds.conftest import MODEL

import rlx
from rlx.support.files.golden import read_golden
from rlx.support.process import run
from support import require_program

pytestmark = pytest.mark.slow

TIMEOUT_S = 300.0

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include "kws.h"
#include "other.h"

int main(int, char **argv)
{
  static int8_t input[KWS_INPUT_BYTES], output[KWS_OUTPUT_BYTES], again[OTHER_OUTPUT_BYTES];
  void *arena = std::aligned_alloc(KWS_ARENA_ALIGN, KWS_ARENA_BYTES);
  void *second = std::aligned_alloc(OTHER_ARENA_ALIGN, OTHER_ARENA_BYTES);
  std::FILE *file = std::fopen(argv[1], "rb");
  if (std::fread(input, 1, sizeof input, file) != sizeof input) return 3;
  if (kws_run(input, output, arena) != KWS_OK) return 4;
  if (other_run(input, again, second) != OTHER_OK) return 5;
  for (int8_t value : output) std::printf("%d ", value);
  for (int8_t value : again) std::printf("%d ", value);
}
"""

SUBDIRECTORY = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C CXX)
add_subdirectory("kws folder" kws)
add_subdirectory(other)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE kws::kws other::other)
"""

PACKAGE = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C CXX)
find_package(kws 1.0 REQUIRED)
find_package(other REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE kws::kws other::other)
"""


@pytest.fixture
def project(tmp_path):
    """Return a folder with a program, and two networks with the same code and other constants."""
    folder = tmp_path / "a project"
    for prefix, name in (("kws", "kws folder"), ("other", "other")):
        rlx.emit(MODEL, "host", folder / name, prefix=prefix, frames=1)
    (folder / "user.cpp").write_text(SOURCE)
    return folder


def run_program(program, project):
    """Run the program on the first golden vector of the project; compare what it prints."""
    golden = read_golden(project / "other")
    path = project / "input.bin"
    path.write_bytes(golden.inputs[0].tobytes())
    printed = run([program, path], timeout_s=TIMEOUT_S).stdout.split()
    expected = golden.outputs[0].ravel()
    assert list(map(int, printed)) == np.concatenate([expected, expected]).tolist()


@pytest.mark.parametrize("shared", ["OFF", "ON"])
def test_the_folders_are_part_of_a_project(project, shared):
    cmake = require_program("cmake")
    (project / "CMakeLists.txt").write_text(SUBDIRECTORY)
    options = [f"-DBUILD_SHARED_LIBS={shared}", "-DKWS_WERROR=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    run([cmake, "-S", project, "-B", project / "build", *options], timeout_s=TIMEOUT_S)
    run([cmake, "--build", project / "build"], timeout_s=TIMEOUT_S)
    assert not list((project / "build").rglob("kws_main"))
    run_program(project / "build" / "user", project)


def install(cmake, folder, build, prefix):
    """Build a folder and install it, as its README says."""
    for arguments in (
        ["-S", folder, "-B", build],
        ["--build", build],
        ["--install", build, "--prefix", prefix],
    ):
        run([cmake, *arguments], timeout_s=TIMEOUT_S)


def test_packages_are_found(project):
    cmake, prefix = require_program("cmake"), project / "usr"
    install(cmake, project / "kws folder", project / "b1", prefix)
    install(cmake, project / "other", project / "b2", prefix)
    assert (prefix / "bin" / "kws_main").is_file()
    (project / "CMakeLists.txt").write_text(PACKAGE)
    setting = f"-DCMAKE_PREFIX_PATH={prefix}"
    run([cmake, "-S", project, "-B", project / "build", setting], timeout_s=TIMEOUT_S)
    run([cmake, "--build", project / "build"], timeout_s=TIMEOUT_S)
    run_program(project / "build" / "user", project)


def test_pkg_config_has_the_flags(project, tmp_path):
    cmake, pkg_config = require_program("cmake"), require_program("pkg-config")
    compiler = require_program("g++", "clang++")
    prefix = tmp_path / "usr"  # pkg-config separates flags by blanks
    install(cmake, project / "kws folder", project / "b1", prefix)
    install(cmake, project / "other", project / "b2", prefix)
    places = os.pathsep.join(map(str, prefix.rglob("pkgconfig")))
    command = [pkg_config, "--cflags", "--libs", "kws", "other"]
    flags = run(command, env={"PKG_CONFIG_PATH": places}, timeout_s=TIMEOUT_S).stdout.split()
    program = tmp_path / "user"
    subprocess.run([compiler, project / "user.cpp", *flags, "-o", program], check=True)
    run_program(program, project)
