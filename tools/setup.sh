#!/bin/sh
# usage: setup.sh VENV NAME. Make VENV and install requirements/NAME.lock and rlx itself into it.
set -eu
venv=$1
name=$2
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "rlx needs Python 3.11 or newer; '$python' is not. Try: make PYTHON=python3.12 ..." >&2
  exit 1
fi
if ! [ -x "$venv/bin/python" ]; then
  if ! "$python" -m venv "$venv" 2>/dev/null; then
    rm -rf "$venv"
    echo "cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2
    exit 1
  fi
fi
echo "installing Python packages into $venv (once)"
# uv takes seconds where it is installed; pip does the same where it is not.
if ! { uv --version && uv pip install -q --python "$venv/bin/python" --require-hashes \
  -r "requirements/$name.lock"; } >/dev/null 2>&1; then
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip -q
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes \
    -r "requirements/$name.lock"
fi
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
  --no-build-isolation -e .
touch "$venv/.$name"
# What the development environment holds is enough for the others as well.
[ "$name" != dev ] || touch "$venv/.demo" "$venv/.c"
