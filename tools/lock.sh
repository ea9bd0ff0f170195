#!/bin/sh
# Write requirements/*.lock anew from pyproject.toml. Needs uv.
set -eu
compile() {
  uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url --all-extras "$@"
}
compile pyproject.toml --group demo --group build -o requirements/demo.lock
compile pyproject.toml --group demo --group build --group dev -o requirements/dev.lock
