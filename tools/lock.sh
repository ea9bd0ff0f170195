#!/bin/sh
# Write requirements/*.lock anew from pyproject.toml. Needs uv.
set -eu
compile() {
  uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url "$@"
}
# The demo needs neither other model formats nor plots.
compile pyproject.toml --extra fpga --extra sim --extra zig --extra synth --extra boards \
  --group demo --group build -o requirements/demo.lock
# To work on the core and on the emitters of C: neither simulators nor synthesis.
compile pyproject.toml --extra import --extra images --group test-c --group lint --group build \
  -o requirements/c.lock
compile pyproject.toml --all-extras --group demo --group build --group dev \
  -o requirements/dev.lock
