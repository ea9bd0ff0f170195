"""Explanations of error codes: a page each with cause, cure and example, which the docs include."""

from __future__ import annotations

import re
from importlib.resources import files

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

_CODE = re.compile(r"(?:RLX-)?E?(\d{1,3})", re.IGNORECASE)


def error_codes() -> list[str]:
    """Return all error codes that have a page, as ``E001``, sorted."""
    names = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


def page(code: str) -> str:
    """Return the page of a code in Markdown.

    Args:
        code: Such as ``RLX-E112``, ``E112`` or ``112``.

    Raises:
        UsageError: There is no such code.
    """
    match = _CODE.fullmatch(code.strip())
    name = f"E{int(match[1]):03}" if match else code
    if name not in error_codes():
        raise UsageError(
            f"no error has the code {code!r}",
            hint=did_you_mean(name, error_codes(), what="error codes"),
        )
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def title(code: str) -> str:
    """Return the meaning of a code in a few words."""
    heading = page(code).partition("\n")[0]
    return heading.partition(": ")[2]
