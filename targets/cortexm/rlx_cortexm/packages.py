"""Files that make an emitted folder a library for a build system, in addition to its C files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx_cortexm.render import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

VENDOR: Final = "rlx"
"""Vendor of the CMSIS-Pack; first part of the name of its description."""

# Source: CMake manual, policy CMP0037, and the targets that its generators make.
_CMAKE_NAMES = """
all all_build clean depend edit_cache help install list_install_components package package_source
preinstall rebuild_cache run_tests test test_memcheck zero_check
"""
_CMAKE_RESERVED: Final = frozenset(_CMAKE_NAMES.split())

# Source: Meson's list of forbidden target names, and words of its language.
_MESON_NAMES = """
all benchmark clean clean-ctlist coverage cscope ctags dist etags install meson phony reconfigure
scan-build test uninstall
and break continue elif else endforeach endif false foreach if in not or true
"""
_MESON_RESERVED: Final = frozenset(_MESON_NAMES.split())

Parameters = dict[str, Any]


def parse_packages(text: str) -> tuple[str, ...]:
    """Return the packages named in ``text``, separated by commas; empty for ``none``."""
    return () if text == "none" else tuple(part.strip() for part in text.split(","))


def check_packages(names: Sequence[str]) -> None:
    """Check that every name is a known package.

    Raises:
        UsageError: One is not.
    """
    for name in names:
        if name not in PACKAGES:
            raise UsageError(
                f"no package is called {name!r}",
                hint=did_you_mean(name, (*PACKAGES, "none"), what="packages"),
            )


def package_files(
    names: Sequence[str],
    common: Mapping[str, Any],
    sources: Sequence[str],
    package_version: str,
    package_url: str,
) -> dict[str, str]:
    """Return the files of some packages by relative path.

    Args:
        names: Keys of :data:`PACKAGES`.
        common: Context of every template: ``prefix``, ``macro``, ``title``, ``version``, ``id``.
        sources: The C files, by path relative to the folder.
        package_version: Three integers separated by dots.
        package_url: Address of a page on the network.
    """
    parameters = {
        **common,
        "sources": sorted(sources),
        "package_version": package_version,
        "package_url": package_url,
        "packages": frozenset(names),
        "target": _target(common["prefix"]),
        "option": _option(common["prefix"]),
        "vendor": VENDOR,
        # PACK.xsd requires at least two characters.
        "group": common["prefix"] if len(common["prefix"]) > 1 else f"{common['prefix']}_net",
    }
    files: dict[str, str] = {}
    for name in names:
        files |= PACKAGES[name](parameters)
    return files


def usage(names: Sequence[str], prefix: str) -> list[tuple[str, str]]:
    """Return for each package its build system and a line on the use of the folder there."""
    target, option = _target(prefix), _option(prefix)
    texts = {
        "cmake": f"CMake: `add_subdirectory` this folder, link `{target}::{target}`; or"
        f" install it, `find_package({target})`.",
        "zephyr": f"Zephyr: `-DEXTRA_ZEPHYR_MODULES=<this folder>`, `CONFIG_{option}=y`.",
        "platformio": "PlatformIO: put this folder into `lib/`.",
        "arduino": f"Arduino: put this folder into `libraries/`, `#include <{prefix}.h>`.",
        "esp-idf": "ESP-IDF: put this folder into `components/`, with the prefix as its name:"
        f" `REQUIRES {prefix}`.",
        "meson": f"Meson: put this folder into `subprojects/{_meson_target(prefix)}`,"
        f" `dependency('{_meson_target(prefix)}')`.",
        "cmsis-pack": f"csolution: layer `{prefix}.clayer.yml`, or the pack"
        f" `{VENDOR}.{prefix}.pdsc`.",
    }
    return [(name, text) for name, _, text in (texts[n].partition(": ") for n in names)]


def _option(prefix: str) -> str:
    """Return the name of the Kconfig option."""
    return f"RLX_{prefix.upper()}"


def _target(prefix: str) -> str:
    """Return a name for the library that CMake does not reserve."""
    return f"rlx_{prefix}" if prefix.lower() in _CMAKE_RESERVED else prefix


def _meson_target(prefix: str) -> str:
    """Return a name for the library that Meson does not reserve."""
    return f"rlx_{prefix}" if prefix.lower() in _MESON_RESERVED else prefix


def _render(template: str, parameters: Parameters) -> str:
    return render(f"packages/{template}", parameters)


def _cmake(parameters: Parameters) -> dict[str, str]:
    idf = "esp-idf" in parameters["packages"]
    text = _render("idf_register", {**parameters, "alone": False}) if idf else ""
    return {"CMakeLists.txt": _render("CMakeLists.txt", {**parameters, "idf": text})}


def _esp_idf(parameters: Parameters) -> dict[str, str]:
    files = {"idf_component.yml": _render("idf_component.yml", parameters)}
    if "cmake" not in parameters["packages"]:  # else it is a part of that file
        comment = (
            f"# {parameters['title']}. Generated by rlx {parameters['version']}; do not edit.\n"
        )
        register = _render("idf_register", {**parameters, "alone": True})
        files["CMakeLists.txt"] = comment + register
    return files


def _meson(parameters: Parameters) -> dict[str, str]:
    target = _meson_target(parameters["prefix"])
    return {"meson.build": _render("meson.build", {**parameters, "target": target})}


def _zephyr(parameters: Parameters) -> dict[str, str]:
    # Kernel, drivers, net: Zephyr has libraries of many short names.
    parameters = {**parameters, "target": f"rlx_{parameters['prefix']}"}
    return {
        f"zephyr/{name}": _render(f"zephyr_{name}", parameters)
        for name in ("module.yml", "CMakeLists.txt", "Kconfig")
    }


def _platformio(parameters: Parameters) -> dict[str, str]:
    library = {
        "name": parameters["prefix"],
        "version": parameters["package_version"],
        "description": f"{parameters['title']}, an int8 network as plain C",
        "keywords": ["machine learning", "neural network", "int8"],
        "headers": [f"{parameters['prefix']}.h"],
        "frameworks": ["*"],
        "platforms": ["*"],
        "build": {"includeDir": "include", "srcDir": "src"},
        "export": {"exclude": ["golden", "report", "test"]},
    }
    return {"library.json": json.dumps(library, indent=2) + "\n"}


def _arduino(parameters: Parameters) -> dict[str, str]:
    return {
        "library.properties": _render("library.properties", parameters),
        f"src/{parameters['prefix']}.h": _render("arduino.h", parameters),
        "examples/Run/Run.ino": _render("Run.ino", parameters),
    }


def _cmsis_pack(parameters: Parameters) -> dict[str, str]:
    prefix = parameters["prefix"]
    return {
        f"{VENDOR}.{prefix}.pdsc": _render("pdsc", parameters),
        f"{prefix}.clayer.yml": _render("clayer.yml", parameters),
    }


PACKAGES: Final[Mapping[str, Callable[[Parameters], dict[str, str]]]] = {
    "cmake": _cmake,
    "zephyr": _zephyr,
    "platformio": _platformio,
    "arduino": _arduino,
    "cmsis-pack": _cmsis_pack,
    "esp-idf": _esp_idf,
    "meson": _meson,
}
"""Build systems, each with the function that makes its files."""
