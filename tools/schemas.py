"""Write the JSON Schemas of ``rlx/cli/schemas`` from its types: ``python tools/schemas.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from rlx.cli.schemas import SCHEMAS

FOLDER = Path(__file__).parents[1] / "rlx" / "cli" / "schemas"


def schema_text(name: str, type_: Any) -> str:  # noqa: ANN401 - any type
    """Return the JSON Schema of a type as it is stored."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"rlx {name}",
        **msgspec.json.schema(type_),
    }
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def main() -> None:
    """Write all schemas."""
    for name, type_ in SCHEMAS.items():
        (FOLDER / f"{name}.json").write_text(schema_text(name, type_), encoding="utf-8")


if __name__ == "__main__":
    main()
