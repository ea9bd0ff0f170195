"""Projects of others emit networks by ``rlx_add_network`` when they are built."""

from __future__ import annotations

import json
import re

import pytest

import rlx
from rlx import frontends
from rlx.ir import Rewriter
from rlx.ir.file import save
from rlx.support.process import run
from support import ROOT, require_program

PACKAGE = ROOT / "rlx" / "cmake"
TIMEOUT_S = 120
GENERATORS = {"Unix Makefiles": "make", "Ninja": "ninja"}
EMITS = "Emitting network kws"


class Tree:
    """A build tree of a project."""

    def __init__(self, source, environment, generator="Unix Makefiles"):
        require_program(GENERATORS[generator])
        self.cmake = require_program("cmake")
        self.source, self.folder, self.environment = source, source / "build tree", environment
        self.arguments = ["-S", source, "-B", self.folder, "-G", generator]

    def configure(self, *variables, check=True):
        """Configure with some variables; return the errors."""
        command = [self.cmake, *self.arguments, *(f"-D{one}" for one in variables)]
        return run(
            command, timeout_s=TIMEOUT_S, env=self.environment, inherit_env=True, check=check
        ).stderr

    def build(self, *, check=True):
        """Build; return what was said."""
        command = [self.cmake, "--build", self.folder]
        done = run(
            command, timeout_s=TIMEOUT_S, env=self.environment, inherit_env=True, check=check
        )
        return done.stdout + done.stderr

    def printed(self, program):
        """Run a program of the tree."""
        return run([self.folder / program], timeout_s=10).stdout


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_network_is_emitted_when_it_changes_and_only_then(project, environment, printed, generator):
    tree = Tree(project("cmake"), environment, generator)
    found = f"rlx_DIR={PACKAGE}"
    assert tree.configure(found, "RAM=32K") == ""
    assert EMITS in tree.build()
    assert tree.printed("product") == printed
    assert EMITS not in tree.build()
    (tree.source / "kws.rlx").touch()
    assert EMITS in tree.build()
    header = tree.folder / "rlx" / "kws" / "include" / "kws.h"
    assert "kws_self_test" not in header.read_text()
    tree.configure("RAM=32K")
    assert EMITS not in tree.build()
    tree.configure("RAM=32K", "OPTIONS=--self-test;1;--static-arena")
    assert EMITS in tree.build()
    assert "kws_self_test" in header.read_text()
    assert tree.printed("product") == printed
    assert EMITS not in tree.build()


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_what_stays_the_same_is_not_compiled_again(project, environment, printed, generator):
    tree = Tree(project("cmake"), environment, generator)
    tree.configure(f"rlx_DIR={PACKAGE}", "RAM=32K")
    said = tree.build()
    report = re.search(r"-- Network kws, predicted: (\d+) bytes of flash, (\d+) bytes of RAM", said)
    readme = (tree.folder / "rlx" / "kws" / "README.md").read_text()
    assert f"| arena | {int(report[2]):,} bytes" in readme
    constants = re.search(r"^\| constants \| ([\d,]+) bytes", readme, re.MULTILINE)
    assert int(constants[1].replace(",", "")) < int(report[1]) < 20_000
    (tree.source / "kws.rlx").touch()
    said = tree.build()
    assert EMITS in said
    assert "Building C object" not in said
    assert EMITS not in tree.build()
    module = frontends.load(tree.source / "kws.rlx")
    save(other_weights(module), tree.source / "kws.rlx")
    assert re.search(r"Building C object .*kws_constants\.c", tree.build())
    changed = tree.printed("product")
    assert changed != printed
    assert EMITS not in tree.build()
    tree.configure("OPTIONS=--self-check")
    assert EMITS in tree.build()
    assert "self_check" in (tree.folder / "rlx" / "kws_constants.c").read_text()
    assert tree.printed("product") == changed


def other_weights(module):
    """Return a network whose constants of weights are reversed."""
    rewriter = Rewriter(module.graph)
    for node in rewriter:
        value = node.result.constant
        if value is not None and value.ndim > 1:
            new = rewriter.new.constant(value[::-1].copy(), quant=node.result.type.quant)
            rewriter.replace(node, new)
    return module.with_graph(rewriter.finish())


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_messages_of_rlx_stop_the_build(project, environment, generator):
    tree = Tree(project("cmake"), environment, generator)
    tree.configure(f"rlx_DIR={PACKAGE}", "RAM=100")
    said = tree.build(check=False)
    assert "error[RLX-E112]: digits: over the memory budget" in said
    assert "the arena needs 456 bytes, RAM is 100 bytes" in said
    assert "  try: use RAM 456\n" in said
    tree.configure("RAM=32K", "OPTIONS=--package-version;x")
    advice = "  try: use for example --package-version 1.0.0; such options follow OPTIONS\n"
    assert advice in tree.build(check=False)
    (tree.source / "kws.rlx").write_bytes(b"no network")
    tree.configure("RAM=32K", "OPTIONS=")
    said = tree.build(check=False)
    assert "error[RLX-" in said
    assert "kws.rlx" in said
    assert not (tree.folder / "product").exists()


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("call", ["LABELS names/classes.txt", "OPTIONS --labels names/classes.txt"])
def test_files_of_options_are_in_the_source_folder(project, environment, call, generator):
    tree = Tree(project("cmake"), environment, generator)
    labels = tree.source / "names" / "classes.txt"
    labels.parent.mkdir()
    labels.write_text("\n".join(f"digit {k}" for k in range(10)))
    lists = tree.source / "CMakeLists.txt"
    network = f"rlx_add_network(kws MODEL kws.rlx PART nucleo-f446re {call})"
    lists.write_text(re.sub(r"(?m)^rlx_add_network.*$", network, lists.read_text()))
    tree.configure(f"rlx_DIR={PACKAGE}")
    assert EMITS in tree.build()
    source = tree.folder / "rlx" / "kws" / "src" / "kws_labels.c"
    assert '"digit 3"' in source.read_text()
    labels.write_text("\n".join(f"class {k}" for k in range(10)))
    tree.build()
    assert ('"class 3"' in source.read_text()) == call.startswith("LABELS")


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_names_of_classes_may_be_written_in_the_call(project, environment, generator):
    tree = Tree(project("cmake"), environment, generator)
    lists = tree.source / "CMakeLists.txt"
    names = ",".join(f"digit {k}" for k in range(10))
    network = f'rlx_add_network(kws MODEL kws.rlx LABELS "{names}")'
    lists.write_text(re.sub(r"(?m)^rlx_add_network.*$", network, lists.read_text()))
    tree.configure(f"rlx_DIR={PACKAGE}")
    tree.build()
    source = tree.folder / "rlx" / "kws" / "src" / "kws_labels.c"
    assert '"digit 9"' in source.read_text()


def test_package_is_found_by_prefix_and_version(project, environment):
    tree = Tree(project("cmake"), environment)
    lists = tree.source / "CMakeLists.txt"
    text = lists.read_text()
    wanted = f"find_package(rlx {rlx.__version__} REQUIRED)\nmessage(NOTICE is-${{rlx_VERSION}})"
    lists.write_text(text.replace("find_package(rlx REQUIRED)", wanted))
    assert tree.configure(f"CMAKE_PREFIX_PATH={PACKAGE}", "RAM=32K") == f"is-{rlx.__version__}\n"
    lists.write_text(text.replace("find_package(rlx REQUIRED)", "find_package(rlx 99 REQUIRED)"))
    assert "99" in tree.configure("RAM=32K", check=False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("kws MODEL none.tflite", r"rlx_add_network\(kws\): no file .*none\.tflite"),
        ("kws", r"rlx_add_network\(kws\): MODEL <file> is missing"),
        ("kws MODEL kws.rlx CORE m4", r"\(kws\): unknown argument CORE; other options: OPTIONS"),
        ("kws MODEL kws.rlx RMA 32K", r"\(kws\): unknown argument RMA; did you mean RAM\?"),
        ("kws model kws.rlx", r"\(kws\): unknown argument model; did you mean MODEL\?"),
        ("kws MODLE kws.rlx", r"\(kws\): unknown argument MODLE; did you mean MODEL\?"),
        ("kws MODEL kw.rlx", r"\(kws\): no file .*/kw\.rlx; did you mean kws\.rlx\?"),
        ("kws MODEL kws.rlx LABELS names.txt", r"\(kws\): no file .*/names\.txt"),
        (
            "kws MODEL kws.rlx LABELS a b",
            r'argument b; .* names of classes: LABELS "one,two,three"',
        ),
        ("k-w MODEL kws.rlx", r"\(k-w\): the name begins C names: letters, digits and _ only"),
        ("kws MODEL kws.rlx OPTIONS --prefix x", r"\(kws\): OPTIONS cannot have --prefix"),
    ],
)
def test_wrong_calls_are_refused_at_once(project, environment, call, said):
    tree = Tree(project("cmake"), environment)
    lists = tree.source / "CMakeLists.txt"
    text = re.sub(r"(?m)^rlx_add_network.*$", f"rlx_add_network({call})", lists.read_text())
    lists.write_text(text)
    errors = re.sub(r"\s+", " ", tree.configure(f"rlx_DIR={PACKAGE}", check=False))
    assert re.search(said, errors), errors


def test_without_the_program_the_package_says_what_to_do(project, environment):
    tree = Tree(project("cmake"), environment)
    lists = tree.source / "CMakeLists.txt"
    nowhere = ("CMAKE_SYSTEM_PATH", "SYSTEM_ENVIRONMENT_PATH")
    text = "".join(f"set(CMAKE_FIND_USE_{place} OFF)\n" for place in nowhere)
    lists.write_text(lists.read_text().replace("find_package", f"{text}find_package"))
    errors = tree.configure(f"rlx_DIR={PACKAGE}", "RAM=32K", check=False)
    assert "activate its environment, or set RLX_EXECUTABLE" in re.sub(r"\s+", " ", errors)


@pytest.mark.slow
def test_library_optimizes_as_an_emitted_folder_does(project, environment):
    tree = Tree(project("cmake"), environment)
    tree.configure(f"rlx_DIR={PACKAGE}", "RAM=32K", "CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    assert "warning" not in tree.build()
    commands = json.loads((tree.folder / "compile_commands.json").read_text())
    levels = {re.sub(r".*/", "", c["file"]): re.findall(r" -O\w", c["command"]) for c in commands}
    assert levels == {"kws.c": [" -O2"], "kws_constants.c": [" -O2"], "main.c": []}
    tree.configure("KWS_OPTIMIZE=OFF")
    assert "compiled without optimization: use -O2, or define KWS_ALLOW_O0" in tree.build()


@pytest.mark.slow
def test_network_in_an_application_of_zephyr(project, environment, printed):
    """Zephyr itself is not there: its libraries stand in, as an application sees them."""
    tree = Tree(project("zephyr"), environment)
    base = ROOT / "tests" / "projects" / "zephyr_base"
    tree.environment = {**environment, "ZEPHYR_BASE": str(base)}
    tree.configure(f"rlx_DIR={PACKAGE}", "CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    assert EMITS in tree.build()
    assert tree.printed("zephyr_final") == printed
    commands = json.loads((tree.folder / "compile_commands.json").read_text())
    (network,) = [one["command"] for one in commands if one["file"].endswith("/kws.c")]
    # With the flags of the image, not with its own.
    assert re.findall(r" -(?:O\w|DAS\w+)", network) == [" -Os", " -DAS_ZEPHYR_COMPILES"]
