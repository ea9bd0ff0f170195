"""Configuration of the documentation."""

from importlib.metadata import version as _version

project = "rlx"
release = version = _version("rlx")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
napoleon_numpy_docstring = False
# Pages mark their examples with directives; those of docstrings need the files that
# tests/docs/test_examples.py writes, and are run there.
doctest_test_doctest_blocks = ""
autodoc_typehints = "description"
autodoc_member_order = "bysource"
html_theme = "furo"
html_show_copyright = False
html_title = "rlx"
# Attributes called ``type`` have several homes; annotations mean Python's own.
suppress_warnings = ["ref.python"]
