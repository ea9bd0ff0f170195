"""The small environment of ``make test-c`` is enough for the tests that it runs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support import ROOT

# A finder that hides what the lock does not name, before all others.
HIDING = """
import sys
from importlib.metadata import packages_distributions

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

locked = set(sys.argv.pop(1).split(","))
plain = lambda name: name.lower().replace("_", "-").replace(".", "-")
HIDDEN = {
    module for module, names in packages_distributions().items()
    if not {plain(name) for name in names} & locked and module not in sys.modules
}
assert "amaranth" in HIDDEN and "numpy" not in HIDDEN
sys.meta_path.insert(0, Hidden())
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def c_tests() -> list[str]:
    """Return the folders and the selection of ``make test-c``."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    folders = re.search(r"^C_TESTS := (.*)$", makefile, re.M)
    marks = re.search(r'\$\(C_TESTS\) -m "([^"]*)"', makefile)
    assert folders is not None
    assert marks is not None
    return [*folders[1].split(), "-m", marks[1]]


@pytest.mark.slow
def test_tests_of_c_are_collected_with_what_is_locked_for_them() -> None:
    lock = (ROOT / "requirements" / "c.lock").read_text(encoding="utf-8")
    locked = [*re.findall(r"^([a-z0-9.-]+)==", lock, re.M), "rlx", "pip", "setuptools"]
    command = [sys.executable, "-c", HIDING, ",".join(locked), "--collect-only", "-q"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *c_tests()],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
