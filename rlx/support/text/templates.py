"""Templates of the emitters, compiled once and cached next to them like Python's modules."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2.bccache import Bucket

_SETTINGS: Final[Mapping[str, Any]] = {
    "undefined": jinja2.StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "autoescape": False,
    # Filters run when a template is rendered, never when it is compiled.
    "optimized": False,
}

_FORM: Final = "1"
"""Number raised when the settings change: templates compiled with others are not used."""


class _Compiled(jinja2.BytecodeCache):
    """Compiled templates in ``__pycache__`` next to each template.

    The rules are those of Python's own modules: nothing is written where ``dont_write_bytecode`` is
    set or the folder is read-only, and one of another source or version is ignored.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return the path of the compiled template."""
        source = Path(filename or name)
        tag = f"{sys.implementation.cache_tag}-{_FORM}"
        return str(source.parent / "__pycache__" / f"{source.name}.{tag}.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a compiled template if there is one of the same source."""
        with contextlib.suppress(OSError), Path(bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template in one step."""
        if sys.dont_write_bytecode:
            return
        path = Path(bucket.key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                bucket.write_bytecode(file)
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)


def environment(
    *folders: Path, filters: tuple[Callable[..., Any], ...] = (), escape: bool = False
) -> jinja2.Environment:
    """Return the environment in which an emitter's templates render.

    Args:
        folders: Folders of the templates, in the order in which they are searched.
        filters: Functions that templates may use as filters, by their own names.
        escape: Values are text of HTML, whose characters with a meaning are escaped.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        bytecode_cache=_Compiled(),
        **{**_SETTINGS, "autoescape": escape},
    )
    made.filters |= {function.__name__: function for function in filters}
    return made
