"""Text of native programs: the same for the same graph, equal layers share a function."""

from __future__ import annotations

import re
import subprocess

import pytest
from targets.host.networks import dense_stack

from rlx.runtime import CompileOptions
from rlx.runtime.lowering import lower
from rlx_host import BACKEND
from rlx_host.instruction_set import available
from rlx_host.program import compile_module
from support import require_program

STRICT = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
    "-O2",
    "-std=gnu11",
    "-c",
    "-o",
    "/dev/null",
]


def program(graph, name=None):
    options = CompileOptions(backend="native", instruction_set=name)
    return compile_module(lower(graph, BACKEND, options).module, options)


def test_equal_layers_share_a_function():
    text = program(dense_stack(layers=3)).source.text
    assert text.count("noinline)) void dense_") == 1
    assert text.count("dense_0(p[") == 3


def test_identity_says_which_text_it_is():
    sources = [program(dense_stack(layers=n)).source for n in (3, 3, 2)]
    assert sources[0] == sources[1] != sources[2]
    assert sources[0].identity == sources[1].identity != sources[2].identity
    assert len({program(dense_stack(), i.name).source.identity for i in available()}) == len(
        available()
    )


def test_the_functions_of_steps_are_not_inlined():
    source = program(dense_stack()).source
    defined = re.findall(r"^static __attribute__\(\(noinline\)\) \w+ (\w+)\(", source.text, re.M)
    assert defined == [name for _, name in source.functions]


def test_text_is_reproducible():
    assert program(dense_stack()).source.text == program(dense_stack()).source.text


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
def test_text_compiles_without_warnings(compiler, instructions, tmp_path):
    require_program(compiler)
    source = tmp_path / "program.c"
    source.write_text(program(dense_stack(), instructions.name).source.text)
    done = subprocess.run(
        [compiler, *STRICT, *instructions.flags, source], capture_output=True, text=True
    )
    assert done.stderr == ""
